package api

import (
	"context"
	"net"
	"net/http"

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
func sender(r *http.Request) *tmux.Peer {
	peer, _ := r.Context().Value(senderKey{}).(*tmux.Peer)
	return peer
}
