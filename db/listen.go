package db

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Listener is told what other transactions have committed. One goroutine calls its functions, which
// must not block.
type Listener struct {
	// Wake says that a row of an agent of the host has changed, or of the pipeline whose id is -id.
	// 0 stands for any of them.
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

// Pauses between attempts to connect again. They are short at first, because a server that restarts is
// soon back.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Listen tells l of the changes that concern the host until ctx ends, and then returns nil. It has
// a connection of its own, and connects again when that fails. Notifications sent meanwhile are lost,
// so after each LISTEN it tells l that everything may have changed: Wake(0), Events().
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

// listenOnce listens until its connection fails. It calls up once it has subscribed.
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

// parseWake returns the id that a wake-up names (a pipeline's id has a minus sign), if it is for this
// host. The payload is the host, a space, and the id; a host may contain spaces.
func parseWake(payload, host string) (id int64, ok bool) {
	i := strings.LastIndexByte(payload, ' ')
	if i < 0 || payload[:i] != host {
		return 0, false
	}
	id, err := strconv.ParseInt(payload[i+1:], 10, 64)
	return id, err == nil
}

// watch passes notifications to pass, if that is not nil, until the connection fails or ctx ends. It
// returns the connection's error, or nil if ctx ended. It probes a connection that was silent, so it
// also notices one that died without an error. Only a connection that answers the probe was merely silent.
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
