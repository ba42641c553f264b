package db

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

// permissionColumns lists the columns in the order of [permissionValues].
const permissionColumns = `id, agent_id, host, tool, subject, description, shown, whole, digest, rule, state, verdict,
	answered_by, answered_from, sentence, note, asked_at, held_until, answered_at, ended_at, rev`

func permissionValues(p *daemon.Permission) []any {
	return storable(p.ID, p.AgentID, p.Host, p.Tool, p.Subject, p.Description, p.Shown, p.Whole, p.Digest, p.Rule, p.State, p.Verdict,
		p.AnsweredBy, p.From, p.Sentence, p.Note, p.AskedAt, p.HeldUntil, p.AnsweredAt, p.EndedAt, p.Rev)
}

const selectPermissions = `SELECT ` + permissionColumns + ` FROM permissions `

var insertPermission = `INSERT INTO permissions (` + permissionColumns + `) VALUES (` + placeholders(permissionColumns) + `)`

// updatePermission takes, after the columns, the rev with which the row was read.
var updatePermission = fmt.Sprintf(`UPDATE permissions SET (%s) = ROW(%s) WHERE id = $1 AND rev = $%d`,
	permissionColumns, placeholders(permissionColumns), count(permissionColumns)+1)

// permissions queues the writes of permissions.
func (w *write) permissions() {
	for _, p := range sortedBy(w.Permissions, func(p *daemon.Permission) int64 { return p.ID }) {
		next := *p
		next.Rev++
		w.guarded(fmt.Sprintf("permission %d", p.ID), updatePermission, append(permissionValues(&next), p.Rev)...)
		w.done = append(w.done, func() { p.Rev = next.Rev })
	}
	for _, p := range w.NewPermissions {
		w.batch.Queue(insertPermission, permissionValues(p)...)
	}
}

const selectPermission = selectPermissions + `WHERE id = $1`

// Permission returns the permission with this id. If there is none, the error is [daemon.ErrNotFound].
func (db *rowStore) Permission(ctx context.Context, id int64) (daemon.Permission, error) {
	return one[daemon.Permission](ctx, db, fmt.Sprintf("permission %d", id), selectPermission, id)
}

const (
	listPermissions = selectPermissions + `
		WHERE ($1::bigint = 0 OR agent_id = $1) AND ($2 = '' OR host = $2) AND ($3::bigint = 0 OR id < $3) ORDER BY id DESC LIMIT $4`
	listOpenPermissions = selectPermissions + `
		WHERE state IN ('open', 'answered')
		  AND ($1::bigint = 0 OR agent_id = $1) AND ($2 = '' OR host = $2) AND ($3::bigint = 0 OR id < $3) ORDER BY id DESC LIMIT $4`
)

// Permissions lists the permissions that f selects, the newest first.
func (db *rowStore) Permissions(ctx context.Context, f daemon.PermissionFilter) ([]daemon.Permission, error) {
	sql := listPermissions
	if f.Open {
		sql = listOpenPermissions
	}
	return list[daemon.Permission](ctx, db, "permissions", sql, f.AgentID, f.Host, f.Before, limitOr(f.Limit, 100))
}
