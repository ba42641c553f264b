package db

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Listener has the functions that [DB.Listen] calls when other transactions have committed. One goroutine calls both
// functions. They must not block.
type Listener struct {
	// Wake says that rows of the host's agent id have changed. A negative id stands for the pipeline -id, and 0 for
	// any agent or pipeline.
	Wake func(id int64)
	// Events says that there are new events.
	Events func()
}

const (
	listenWake   = `LISTEN understudy_wake`
	listenEvents = `LISTEN understudy_events`
)

// listenPace makes a listener notice a dead connection within ten seconds.
var listenPace = pace{quiet: 5 * time.Second, answer: 5 * time.Second}

// listenBegin limits how long a listener may take to connect and subscribe.
const listenBegin = 15 * time.Second

// The pause between attempts to connect again grows from minBackoff to maxBackoff. It is short at first, because a
// server that restarts soon answers again.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Listen calls l for each change that concerns the host, until ctx ends; it then returns nil. It has a connection of
// its own. If that connection fails, Listen connects again. Notifications sent between two connections are lost, so
// after each LISTEN it calls Wake(0) and Events(): everything may have changed.
func (db *DB) Listen(ctx context.Context, host string, l Listener) error {
	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
		err := db.listenOnce(ctx, host, l, func() { backoff = minBackoff })
		if ctx.Err() != nil {
			return nil
		}
		db.log.Warn("listener lost its connection", "error", err, "retry_in", backoff)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return nil
		}
	}
}

// listenOnce listens until its connection fails or ctx ends. It calls up as soon as it has subscribed.
func (db *DB) listenOnce(ctx context.Context, host string, l Listener, up func()) error {
	begin, cancel := context.WithTimeout(ctx, listenBegin)
	defer cancel()
	conn, err := db.dial(begin, "understudy listen")
	if err != nil {
		return err
	}
	defer closeConn(conn)
	defer db.track(conn)()
	for _, sql := range []string{listenWake, listenEvents} {
		if _, err := conn.Exec(begin, sql); err != nil {
			return err
		}
	}
	up()
	l.Wake(0)
	l.Events()
	return watch(ctx, conn, db.listenPace, func(n *pgconn.Notification) {
		if n.Channel == "understudy_events" {
			l.Events()
		} else if id, ok := parseWake(n.Payload, host); ok {
			l.Wake(id)
		}
	})
}

// parseWake returns the id in a wake-up's payload; a pipeline's id has a minus sign. ok is false if the wake-up is for
// another host. The payload is the host, a space, and the id; a host may contain spaces.
func parseWake(payload, host string) (id int64, ok bool) {
	i := strings.LastIndexByte(payload, ' ')
	if i < 0 || payload[:i] != host {
		return 0, false
	}
	id, err := strconv.ParseInt(payload[i+1:], 10, 64)
	return id, err == nil
}

// watch calls pass (may be nil) with each notification until the connection fails or ctx ends. It returns the
// connection's error, or nil if ctx ended. When the connection is silent, watch probes it, so it also notices a
// connection that died without an error.
func watch(ctx context.Context, conn *pgx.Conn, p pace, pass func(*pgconn.Notification)) error {
	for {
		wait, cancel := context.WithTimeout(ctx, p.quiet)
		n, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			if pass != nil {
				pass(n)
			}
		case ctx.Err() != nil:
			return nil
		case conn.IsClosed():
			return err
		default:
			probe, cancel := context.WithTimeout(ctx, p.answer)
			err := conn.Ping(probe)
			cancel()
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}
