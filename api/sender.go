package api

import (
	"context"
	"fmt"
	"net"

	"github.com/labstack/echo/v4"
	"github.com/understudyd/understudy/tmux"
)

// senderKey is the key in a connection's context of the process that made the connection.
type senderKey struct{}

// noProcess is the pid for a sender that has ended.
const noProcess = -1

// withSender stores in a connection's context the process that made the connection, if it is over a unix socket. It looks
// up the process when the connection begins, because later another process might have the same pid.
func withSender(ctx context.Context, conn net.Conn) context.Context {
	if conn.LocalAddr().Network() != "unix" {
		return ctx
	}
	peer, err := tmux.PeerOf(conn)
	if err != nil {
		peer.PID = noProcess
	}
	return context.WithValue(ctx, senderKey{}, &peer)
}

// sender returns the process that sent a request over a unix socket. For a request over TCP it returns nil.
func sender(ctx context.Context) *tmux.Peer {
	peer, _ := ctx.Value(senderKey{}).(*tmux.Peer)
	return peer
}

// originKey is the key in a request's context of where the request came from.
type originKey struct{}

// withOrigin stores in a request's context where the request came from.
func withOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, from := c.Request(), "browser, from "+c.RealIP()
		if peer := sender(r.Context()); peer != nil {
			from = fmt.Sprintf("process %d of this machine", peer.PID)
		} else if r.Header.Get("Authorization") != "" {
			from = "token, from " + c.RealIP()
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), originKey{}, from)))
		return next(c)
	}
}

// origin says for the log where a request came from.
func origin(ctx context.Context) string {
	from, _ := ctx.Value(originKey{}).(string)
	return from
}
