package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
)

var (
	permissionStates = []daemon.PermissionState{
		daemon.PermissionOpen, daemon.PermissionAnswered, daemon.PermissionGiven, daemon.PermissionPane, daemon.PermissionUnanswered,
		daemon.PermissionLost,
	}
	permissionVerdicts = []daemon.PermissionVerdict{"", daemon.Allow, daemon.AllowAgent, daemon.Deny}
	withVerdict        = []daemon.PermissionState{daemon.PermissionAnswered, daemon.PermissionGiven, daemon.PermissionLost}
)

// permissionRows changes the permissions, and then adds the new ones.
func (t *tx) permissionRows() error {
	for _, p := range sortedBy(t.c.Permissions, func(p *daemon.Permission) int64 { return p.ID }) {
		row := t.tables.permissions.get(p.ID)
		if row == nil || row.Rev != p.Rev {
			t.refuse(fmt.Errorf("permission %d: %w", p.ID, daemon.ErrMoved))
			continue
		}
		next := *p
		next.Rev++
		if err := t.putPermission(&next); err != nil {
			return err
		}
		t.done = append(t.done, func() { p.Rev = next.Rev })
	}
	for _, p := range t.c.NewPermissions {
		if t.tables.permissions.get(p.ID) != nil {
			return violation("permissions_pkey")
		}
		if err := t.putPermission(p); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putPermission(p *daemon.Permission) error {
	row := kept(*p)
	if err := check(
		"permissions_answered", slices.Contains(withVerdict, row.State) == (row.Verdict != ""),
		"permissions_state_known", slices.Contains(permissionStates, row.State),
		"permissions_verdict_known", slices.Contains(permissionVerdicts, row.Verdict),
	); err != nil {
		return err
	}
	write(t, &t.tables.permissions, row.ID, &row)
	return check("permissions_agent_id_fkey", t.agents.get(row.AgentID) != nil)
}

// Permission returns a permission; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) Permission(ctx context.Context, id int64) (daemon.Permission, error) {
	return one(ctx, &s.view, &s.permissions, id, "permission %d", nil)
}

// Permissions lists permissions, the newest first; 100 if f.Limit is 0.
func (s *rowStore) Permissions(ctx context.Context, f daemon.PermissionFilter) ([]daemon.Permission, error) {
	leave, err := s.enter(ctx, "permissions")
	if err != nil {
		return nil, err
	}
	defer leave()
	return collect(&s.view, s.permissions.newest(), limitOr(f.Limit, 100), func(p *daemon.Permission) bool {
		return (f.AgentID == 0 || p.AgentID == f.AgentID) && (f.Host == "" || p.Host == f.Host) && (!f.Open || p.Open()) &&
			(f.Before == 0 || p.ID < f.Before)
	}), nil
}
