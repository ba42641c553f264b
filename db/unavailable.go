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

// unavailable looks for the error of a database that does not answer or refuses all writes. In place of such an error
// it returns a [daemon.Error], whose message is for people and whose kind tells senders to try again. It returns all
// other errors unchanged.
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || !isUnavailable(err) {
		return err
	}
	told := &daemon.Error{
		Kind: daemon.KindUnavailable, Code: daemon.CodeDatabaseUnavailable, Cause: err,
		Message: "The database does not answer; everything goes on when it is back: try again",
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case readOnlyState:
			told.Code = daemon.CodeDatabaseReadOnly
			told.Message = "The database is read-only, as a standby is; everything goes on when it accepts writes: promote it, or point the address to the primary"
		case diskFullState:
			told.Code = daemon.CodeDatabaseFull
			told.Message = "The database's disk is full; everything goes on when there is room: free some space on the database's machine"
		}
	}
	return told
}

func isUnavailable(err error) bool {
	var refused *pgconn.ConnectError
	var network net.Error
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		// Class 08 is a connection exception. Class 53 means that connections, disk or memory have run out. 57P01 to 57P03
		// mean that the server shuts down, has crashed, or starts up.
		return server.Code == readOnlyState || strings.HasPrefix(server.Code, "08") || strings.HasPrefix(server.Code, "53") || strings.HasPrefix(server.Code, "57P0")
	case errors.As(err, &refused), errors.As(err, &network):
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}
