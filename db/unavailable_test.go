package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon"
)

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err         error
		unavailable bool
	}{
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "53300"}, true},
		{&pgconn.PgError{Code: "53100"}, true},
		{&pgconn.PgError{Code: "25006"}, true},
		{fmt.Errorf("query: %w", io.ErrUnexpectedEOF), true},
		{&pgconn.PgError{Code: "23505"}, false},
		{daemon.ErrMoved, false},
		{context.Canceled, false},
	} {
		var e *daemon.Error
		equal(t, fmt.Sprintf("%v: unavailable", row.err), errors.As(unavailable(row.err), &e) && e.Kind == daemon.KindUnavailable, row.unavailable)
		wantErr(t, "unavailable", unavailable(row.err), row.err)
	}
	if unavailable(nil) != nil {
		t.Error("no error is reported as unavailable")
	}
}
