package storetest

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func constraintsKeepNonsenseOutOfPermissions(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	for constraint, change := range map[string]func(*daemon.Permission){
		"permissions_state_known":   func(p *daemon.Permission) { p.State, p.Verdict = "asked", "" },
		"permissions_verdict_known": func(p *daemon.Permission) { p.Verdict = "maybe" },
		"permissions_answered":      func(p *daemon.Permission) { p.Verdict = "" },
		"permissions_agent_id_fkey": func(p *daemon.Permission) { p.AgentID = 99999 },
	} {
		bad := whole[daemon.Permission]()
		bad.AgentID, bad.State, bad.Verdict = a.ID, daemon.PermissionGiven, daemon.Allow
		change(&bad)
		if err := st.Commit(t.Context(), &daemon.Change{NewPermissions: []*daemon.Permission{&bad}}); !violates(err, constraint) {
			t.Errorf("%s: %v", constraint, err)
		}
	}
}

// addPermission draws a new permission.
func (d *drawer) addPermission(c *daemon.Change) string {
	c.NewPermissions = append(c.NewPermissions, d.permission(int64(1e9+d.unique())))
	return "new permission"
}

// changePermission draws a change of a permission that may not be there.
func (d *drawer) changePermission(c *daemon.Change) string {
	p := d.permission(int64(1e9 + d.rand.IntN(d.unique()+1)))
	p.Rev = int64(d.rand.IntN(2))
	c.Permissions = append(c.Permissions, p)
	return fmt.Sprint("permission ", p.ID)
}

func (d *drawer) permission(id int64) *daemon.Permission {
	p := &daemon.Permission{}
	d.fill(p)
	p.ID, p.AgentID, p.Host, p.State, p.Verdict, p.Rev = id, d.agentID(), one(d, hosts...), daemon.PermissionOpen, "", 0
	if d.half() {
		p.State = one(d, daemon.PermissionAnswered, daemon.PermissionGiven, daemon.PermissionLost)
		p.Verdict = one(d, daemon.Allow, daemon.AllowAgent, daemon.Deny)
	}
	if !d.mostly() {
		p.Verdict = one(d, "", "maybe", daemon.Deny)
	}
	return p
}
