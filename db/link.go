package db

import (
	"net"
	"syscall"
	"time"
)

// serverKeepalives have the server end a session whose client is gone without a word: its machine lost
// power, or its address. Measured from the last sign of life it takes 10 to 12 seconds. Without them the
// session, and what it has locked, stays for two hours on Linux. The user timeout is for sessions to which
// an answer was on its way: keepalives do not run then, and TCP alone tries for a quarter of an hour.
var serverKeepalives = map[string]string{
	"tcp_keepalives_idle":     "5",
	"tcp_keepalives_interval": "2",
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "10000", // milliseconds
}

// userTimeout is how long our own side waits for the server to confirm what was sent.
const userTimeout = 10 * time.Second

// newDialer makes connections that fail when the server is gone without a word.
func newDialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
		Control: func(network, _ string, conn syscall.RawConn) error {
			if network == "unix" {
				return nil
			}
			return setUserTimeout(conn, userTimeout)
		},
	}
}
