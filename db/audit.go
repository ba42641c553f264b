package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// auditTimeout is how long a search may take: one for a text that is rare reads the whole log.
const auditTimeout = 8 * time.Second

const limitStatement = `SELECT set_config('statement_timeout', $1, true)`

// listAudit has an index for each of its conditions but host and text. Which one helps most depends on
// the values, so it is planned with them, see Audit.
const listAudit = selectEvents + `
	WHERE ($1::bigint = 0 OR id < $1)
	  AND ($2::text[] IS NULL OR type = ANY($2))
	  AND ($3::text = '' OR starts_with(type, $3))
	  AND ($4::bigint = 0 OR agent_id = $4)
	  AND ($5::bigint = 0 OR handoff_id = $5)
	  AND ($6::bigint = 0 OR pipeline_id = $6)
	  AND ($7::text = '' OR host = $7)
	  AND ($8::text = '' OR agent_id = ANY(ARRAY(SELECT a.id FROM agents a WHERE a.persona = $8)))
	  AND ($9::timestamptz IS NULL OR at >= $9)
	  AND ($10::timestamptz IS NULL OR at < $10)
	  AND ($11::text = '' OR type ILIKE $11 OR payload::text ILIKE $11)
	ORDER BY id DESC LIMIT $12`

var errAuditSlow = &daemon.Error{
	Kind: daemon.KindUnprocessable, Code: "audit_too_slow",
	Message: "The search took over 8 seconds: narrow it down by agent, handoff, pipeline or time",
}

// Audit returns events, the newest first, 100 where there is no limit. One that takes over 8 seconds, and one
// for which there is no room within 8 seconds, is an [daemon.Error].
func (db *DB) Audit(ctx context.Context, f daemon.AuditFilter) (events []daemon.Event, err error) {
	var types, since, until any // nil is NULL
	if len(f.Types) > 0 {
		types = storableTexts(f.Types)
	}
	if !f.Since.IsZero() {
		since = f.Since
	}
	if !f.Until.IsZero() {
		until = f.Until
	}
	leave, err := db.enterSearch(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	err = pgx.BeginTxFunc(ctx, db.from(ctx), pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limitStatement, strconv.FormatInt(db.auditTimeout.Milliseconds(), 10)); err != nil {
			return err
		}
		// Without a name, so that the plan is made for these values.
		rows, err := tx.Query(ctx, listAudit, pgx.QueryExecModeCacheDescribe, f.Before, types, storetext.Text(f.TypePrefix),
			f.AgentID, f.HandoffID, f.PipelineID, storetext.Text(f.Host), storetext.Text(f.Persona), since, until,
			containing(f.Text), limitOr(f.Limit, 100))
		if err != nil {
			return err
		}
		events, err = pgx.CollectRows(rows, pgx.RowToStructByName[daemon.Event])
		return err
	})
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return events, nil
	case errors.As(err, &refused) && refused.Code == "57014": // query_canceled
		slow := *errAuditSlow
		slow.Cause = err
		err = &slow
	}
	return nil, fmt.Errorf("audit: %w", away(err))
}

var errAuditBusy = &daemon.Error{
	Kind: daemon.KindUnavailable, Code: "audit_busy",
	Message: "Other searches of the log are under way: try again when they are over",
}

// enterSearch waits until a search may begin, as long as one may take.
func (db *DB) enterSearch(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, db.auditTimeout, errAuditBusy)
	defer cancel()
	select {
	case db.search <- struct{}{}:
		return func() { <-db.search }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("audit: %w", context.Cause(ctx))
	}
}

// containing is the pattern of what contains a text; "" for any.
func containing(text string) string {
	if text == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(storetext.Text(text)) + "%"
}
