package storetest

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

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
