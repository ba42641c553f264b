package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/understudyd/understudy/daemon"
)

// querier has the pool on which to run a query.
type querier interface {
	poolFor(ctx context.Context) *pgxpool.Pool
}

// one reads the single row of a query. If the query has no row, the error is [daemon.ErrNotFound]. Errors begin with
// what, the name of the row.
func one[T any](ctx context.Context, db querier, what, sql string, args ...any) (T, error) {
	rows, err := db.poolFor(ctx).Query(ctx, sql, args...)
	if err == nil {
		var row T
		if row, err = pgx.CollectExactlyOneRow(rows, scan[T]); err == nil {
			return row, nil
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = daemon.ErrNotFound
	}
	var zero T
	return zero, fmt.Errorf("%s: %w", what, unavailable(err))
}

// list reads the rows of a query. Without an error the list is never nil.
func list[T any](ctx context.Context, db querier, what, sql string, args ...any) ([]T, error) {
	return collect(ctx, db, what, scan[T], sql, args)
}

// scan reads a row into its struct, also one that an older daemon has written.
func scan[T any](r pgx.CollectableRow) (T, error) {
	row, err := pgx.RowToStructByName[T](r)
	if old, is := any(&row).(interface{ ReadOld() }); is {
		old.ReadOld()
	}
	return row, err
}

// scanAddr is scan for a caller that changes the row.
func scanAddr[T any](r pgx.CollectableRow) (*T, error) {
	row, err := scan[T](r)
	return &row, err
}

// listIDs reads a list of ids.
func listIDs(ctx context.Context, db querier, what, sql string, args ...any) ([]int64, error) {
	return collect(ctx, db, what, pgx.RowTo[int64], sql, args)
}

func collect[T any](ctx context.Context, db querier, what string, scan pgx.RowToFunc[T], sql string, args []any) ([]T, error) {
	rows, err := db.poolFor(ctx).Query(ctx, sql, args...)
	if err == nil {
		var all []T
		if all, err = pgx.CollectRows(rows, scan); err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", what, unavailable(err))
}

// limitOr returns limit, or def if limit is not set.
func limitOr(limit, def int) int {
	if limit <= 0 {
		return def
	}
	return limit
}

// violates reports whether err says that one of the named constraints was violated.
func violates(err error, constraints ...string) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(constraints, refused.ConstraintName)
}

// idsIn reads a list of ids in a transaction.
func idsIn(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]int64, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// sendAll executes statements that take the same arguments.
func sendAll(ctx context.Context, tx pgx.Tx, args []any, statements ...string) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// nextID takes the name of a table and returns the next value of its id column's sequence.
const nextID = `SELECT nextval(pg_get_serial_sequence($1, 'id'))`

// NextID returns a fresh id for a row of the given kind, before the row is inserted.
func (db *rowStore) NextID(ctx context.Context, kind daemon.IDKind) (int64, error) {
	switch kind {
	case daemon.AgentIDs, daemon.HandoffIDs, daemon.DeliveryIDs,
		daemon.PipelineIDs, daemon.StepIDs, daemon.OutputIDs, daemon.WorktreeIDs:
	default:
		return 0, fmt.Errorf("next id: unknown kind %q", kind)
	}
	var id int64
	if err := db.pool.QueryRow(ctx, nextID, string(kind)).Scan(&id); err != nil {
		return 0, fmt.Errorf("next id of %s: %w", kind, unavailable(err))
	}
	return id, nil
}

// placeholders returns "$1, $2, …", one placeholder per column.
func placeholders(columns string) string {
	all := make([]string, count(columns))
	for i := range all {
		all[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(all, ", ")
}

// count returns the number of columns in a list.
func count(columns string) int { return strings.Count(columns, ",") + 1 }
