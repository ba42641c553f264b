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

func TestAway(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		away bool
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
		if got := errors.As(away(row.err), &e) && e.Kind == daemon.KindUnavailable; got != row.away {
			t.Errorf("%v: away %t, want %t", row.err, got, row.away)
		}
		if !errors.Is(away(row.err), row.err) {
			t.Errorf("%v is no longer in the error", row.err)
		}
	}
	if away(nil) != nil {
		t.Error("no error is away")
	}
}
