//go:build e2e

package stories

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// nextPort is where freeAddress looks next. It lies below the ports that the system gives to outgoing connections:
// such a connection could take a daemon's port while the daemon restarts. Each process starts at another place.
var nextPort atomic.Int64

func init() { nextPort.Store(16_000 + int64(os.Getpid())%800*16) }

// freeAddress returns a loopback address that a daemon can take again after a restart.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", nextPort.Add(1)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("of 100 ports none is free")
	return ""
}
