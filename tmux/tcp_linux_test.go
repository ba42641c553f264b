package tmux_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux"
)

// TestHoldersOfTCP: a listener and the end that has called it are held by this process, and an end that is closed by nobody.
func TestHoldersOfTCP(t *testing.T) {
	own := value(tmux.FindProcess(os.Getpid()))(t)
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l := value(net.Listen("tcp", address))(t)
		defer l.Close()
		conn := value(net.Dial("tcp", l.Addr().String()))(t)
		defer conn.Close()
		near, far := netip.MustParseAddrPort(conn.LocalAddr().String()), netip.MustParseAddrPort(l.Addr().String())
		for _, ends := range [][2]netip.AddrPort{{near, far}, {far, netip.AddrPortFrom(netip.IPv6Unspecified(), 0)}} {
			if far.Addr().Is4() && ends[1].Port() == 0 {
				ends[1] = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
			}
			if got, _, err := tmux.HoldersOfTCP(ends[0], ends[1]); err != nil || len(got) != 1 || got[0] != own {
				t.Errorf("%v is held by %v (%v), want %v", ends, got, err, own)
			}
		}
		must(t, conn.Close())
		if got, _, err := tmux.HoldersOfTCP(near, far); !errors.Is(err, tmux.ErrNoProcess) {
			t.Errorf("a closed end is held by %v (%v)", got, err)
		}
	}
}
