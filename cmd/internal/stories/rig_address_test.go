//go:build e2e

package stories

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// nextPort is where freeAddress looks on: below what the system gives to connections, which would take the
// port of a daemon that is being restarted, and at a place of this process's own.
var nextPort atomic.Int64

func init() { nextPort.Store(16_000 + int64(os.Getpid())%800*16) }

// freeAddress is one of loopback that a daemon can have again after its restart.
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
