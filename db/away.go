package db

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon"
)

// away marks an error that comes from a database that does not answer, for people to read and for
// senders to try again. All other errors pass unchanged.
func away(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || !isAway(err) {
		return err
	}
	return &daemon.Error{
		Kind: daemon.KindUnavailable, Code: "database_unavailable", Cause: err,
		Message: "The database does not answer; everything goes on when it is back: try again",
	}
}

func isAway(err error) bool {
	var refused *pgconn.ConnectError
	var network net.Error
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		// Class 08: connection exception; 53: out of connections, disk or memory. 57P01 to 57P03:
		// shutting down, crashed, starting up.
		return strings.HasPrefix(server.Code, "08") || strings.HasPrefix(server.Code, "53") || strings.HasPrefix(server.Code, "57P0")
	case errors.As(err, &refused), errors.As(err, &network):
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}
