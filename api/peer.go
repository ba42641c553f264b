package api

import (
	"context"
	"net"
	"net/http"

	"github.com/understudyd/understudy/tmux"
)

// peerKey is where a connection's context has the process that made it.
type peerKey struct{}

// noProcess is the id of a sender that has ended.
const noProcess = -1

// withPeer notes who has made a connection over a unix socket, at once: later another process might have
// the id.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	if conn.LocalAddr().Network() != "unix" {
		return ctx
	}
	peer, err := tmux.PeerOf(conn)
	if err != nil {
		peer.PID = noProcess
	}
	return context.WithValue(ctx, peerKey{}, &peer)
}

// sender returns the process that sent a request over a unix socket; nil: it came over TCP.
func sender(r *http.Request) *tmux.Peer {
	peer, _ := r.Context().Value(peerKey{}).(*tmux.Peer)
	return peer
}
