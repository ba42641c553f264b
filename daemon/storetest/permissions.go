package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// NewPermission commits an open permission of an agent.
func NewPermission(t testing.TB, st daemon.Store, agentID, id int64) *daemon.Permission {
	t.Helper()
	p := &daemon.Permission{ID: id, AgentID: agentID, Host: "h1", Tool: "Bash", State: daemon.PermissionOpen, AskedAt: now()}
	Commit(t, st, &daemon.Change{NewPermissions: []*daemon.Permission{p}})
	return p
}

func permissionIsKeptWhole(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	whole := func() *daemon.Permission {
		var p daemon.Permission
		fill(reflect.ValueOf(&p).Elem())
		p.ID, p.AgentID, p.State, p.Verdict = 7, a.ID, daemon.PermissionGiven, daemon.AllowAgent
		return &p
	}
	p := whole()
	Commit(t, st, &daemon.Change{NewPermissions: []*daemon.Permission{p}})
	equal(t, "inserted", result(st.Permission(t.Context(), 7))(t), *p)
	next := whole()
	next.Rev, next.Note, next.State = p.Rev, "other", daemon.PermissionLost
	Commit(t, st, &daemon.Change{Permissions: []*daemon.Permission{next}})
	equal(t, "updated", result(st.Permission(t.Context(), 7))(t), *next)
	if err := st.Commit(t.Context(), &daemon.Change{Permissions: []*daemon.Permission{p}}); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("an old row was written: %v", err)
	}
	if _, err := st.Permission(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown permission: %v", err)
	}
	for constraint, change := range map[string]func(*daemon.Permission){
		"permissions_state_known":   func(p *daemon.Permission) { p.State, p.Verdict = "asked", "" },
		"permissions_verdict_known": func(p *daemon.Permission) { p.State, p.Verdict = daemon.PermissionGiven, "maybe" },
		"permissions_answered":      func(p *daemon.Permission) { p.State, p.Verdict = daemon.PermissionGiven, "" },
		"permissions_agent_id_fkey": func(p *daemon.Permission) { p.AgentID = 99999 },
	} {
		bad := whole()
		bad.ID = 8
		change(bad)
		if err := st.Commit(t.Context(), &daemon.Change{NewPermissions: []*daemon.Permission{bad}}); !violates(err, constraint) {
			t.Errorf("%s: %v", constraint, err)
		}
	}
}

func listsOfPermissions(t *testing.T, st daemon.Store) {
	a, b := NewAgent(t, st, nil), NewAgent(t, st, nil)
	one, two := NewPermission(t, st, a.ID, 11), NewPermission(t, st, b.ID, 12)
	NewPermission(t, st, a.ID, 13)
	one.State, one.EndedAt = daemon.PermissionPane, ptr(now())
	two.State, two.Verdict = daemon.PermissionAnswered, daemon.Allow
	Commit(t, st, &daemon.Change{Permissions: []*daemon.Permission{one, two}})
	list := func(f daemon.PermissionFilter) []int64 { return idsOf(result(st.Permissions(t.Context(), f))(t)) }
	equal(t, "all", list(daemon.PermissionFilter{}), []int64{13, 12, 11})
	equal(t, "open", list(daemon.PermissionFilter{Open: true, Host: "h1"}), []int64{13, 12})
	equal(t, "of an agent", list(daemon.PermissionFilter{AgentID: a.ID, Before: 13}), []int64{11})
	equal(t, "limit", list(daemon.PermissionFilter{Limit: 1}), []int64{13})
	equal(t, "of another host", list(daemon.PermissionFilter{Host: "h2"}), []int64{})
	for _, agent := range []*daemon.Agent{a, b} {
		agent.State, agent.EndedAt = daemon.Ended, ptr(now().Add(-time.Hour))
	}
	Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{a, b}})
	result(st.PruneHistory(t.Context(), now(), 0))(t)
	equal(t, "after their agents", list(daemon.PermissionFilter{}), []int64{})
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
	p := &daemon.Permission{
		ID: id, AgentID: d.agentID(), Host: one(d, hosts...), Tool: d.word(), Subject: d.word(), Shown: d.word(), Whole: d.half(), Digest: d.word(),
		Rule: d.word(), State: daemon.PermissionOpen, From: d.word(), Sentence: d.word(), Note: d.word(), AskedAt: d.at(), HeldUntil: maybe(d, d.at()),
		AnsweredAt: maybe(d, d.at()), EndedAt: maybe(d, d.at()),
	}
	if d.half() {
		p.State = one(d, daemon.PermissionAnswered, daemon.PermissionGiven, daemon.PermissionLost)
		p.Verdict, p.AnsweredBy = one(d, daemon.Allow, daemon.AllowAgent, daemon.Deny), daemon.PermissionByOperator
	}
	if !d.mostly() {
		p.Verdict = one(d, "", "maybe", daemon.Deny)
	}
	return p
}
