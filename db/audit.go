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
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetext"
)

// auditTimeout is how long a search may take: a search for a rare text reads the whole event log.
const auditTimeout = 8 * time.Second

const limitStatement = `SELECT set_config('statement_timeout', $1, true)`

// The table has an index for each condition of listAudit except host and text. Which index helps most depends on the
// values, so [DB.Audit] makes the server plan the statement with its values.
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
	Kind: daemon.KindUnprocessable, Code: daemon.CodeAuditTooSlow,
	Message: "The search took over 8 seconds: narrow it down by agent, handoff, pipeline or time",
}

// Audit returns the events that f selects, the newest first; at most f.Limit (0: 100). If the search takes longer
// than auditTimeout, or if other searches keep it from beginning within auditTimeout, it returns a [daemon.Error].
func (db *logStore) Audit(ctx context.Context, f daemon.AuditFilter) (events []event.Event, err error) {
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
	err = pgx.BeginTxFunc(ctx, db.poolFor(ctx), pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limitStatement, strconv.FormatInt(db.auditTimeout.Milliseconds(), 10)); err != nil {
			return err
		}
		// QueryExecModeCacheDescribe sends an unnamed statement, which the server plans for these values.
		rows, err := tx.Query(ctx, listAudit, pgx.QueryExecModeCacheDescribe, f.Before, types, storetext.Text(f.TypePrefix),
			f.AgentID, f.HandoffID, f.PipelineID, storetext.Text(f.Host), storetext.Text(f.Persona), since, until,
			containing(f.Text), limitOr(f.Limit, 100))
		if err != nil {
			return err
		}
		events, err = pgx.CollectRows(rows, pgx.RowToStructByName[event.Event])
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
	return nil, fmt.Errorf("audit: %w", unavailable(err))
}

var errAuditBusy = &daemon.Error{
	Kind: daemon.KindUnavailable, Code: daemon.CodeAuditBusy,
	Message: "Other searches of the event log are running: try again when they have ended",
}

// enterSearch waits until a search may begin, at most auditTimeout. The caller calls leave after its search.
func (db *logStore) enterSearch(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, db.auditTimeout, errAuditBusy)
	defer cancel()
	select {
	case db.search <- struct{}{}:
		return func() { <-db.search }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("audit: %w", context.Cause(ctx))
	}
}

// containing returns the ILIKE pattern for texts that contain text, or "" if text is empty.
func containing(text string) string {
	if text == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(storetext.Text(text)) + "%"
}
