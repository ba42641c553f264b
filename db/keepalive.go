package db

import (
	"net"
	"syscall"
	"time"
)

// serverKeepalives make the server end the session of a client that vanished without closing the connection, such as
// after its machine lost power or its address. The server ends the session 10 to 12 seconds after the client's last
// packet. With the defaults of Linux it would keep the session and its locks for two hours. Keepalives do not run
// while the server is sending an answer, and TCP alone retries for a quarter of an hour: tcp_user_timeout is for that case.
var serverKeepalives = map[string]string{
	"tcp_keepalives_idle":     "5",
	"tcp_keepalives_interval": "2",
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "10000", // milliseconds
}

// userTimeout is how long our side waits for the server to acknowledge sent data.
const userTimeout = 10 * time.Second

// newDialer returns a dialer whose connections fail when the server vanishes without closing them.
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
