package api

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/tmux"
)

func TestListenUnix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "a.sock")
	first := value(ListenUnix(path))(t)
	equal(t, "mode", value(os.Stat(path))(t).Mode().Perm(), 0o600)
	failed(ListenUnix(path))(t, "second listener", ErrServed)
	if conn, err := net.Dial("unix", path); err != nil {
		t.Errorf("after a second attempt: %v", err)
	} else {
		must(t, conn.Close())
	}

	// A killed daemon leaves a socket that nobody serves.
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	must(t, first.Close())
	again := value(ListenUnix(path))(t)
	must(t, again.Close())
	failed(os.Stat(path))(t, "after Close the socket is still there", os.ErrNotExist)
}

func TestListenUnixLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("precious"), 0o600))
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(file, link))
	for _, path := range []string{file, link, dir} {
		failed(ListenUnix(path))(t, path, "move it away")
	}
	equal(t, "the file now holds", string(value(os.ReadFile(file))(t)), "precious")
}

func TestListenUnixLongPath(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	fits := filepath.Join(dir, strings.Repeat("x", tmux.MaxSocketPath()-len(dir)-1))
	must(t, value(ListenUnix(fits))(t).Close())
	failed(ListenUnix(fits+"x"))(t, "one byte too long", "shorter data directory")
}

func TestListenTCP(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := ListenTCP(t.Context(), addr, false)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("%s listens on %s", addr, ip)
		}
		must(t, l.Close())
	}
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"} {
		failed(ListenTCP(t.Context(), addr, false))(t, addr, PublicFlag)
	}
	for _, addr := range []string{"", "7433", "127.0.0.1", "::1"} {
		failed(ListenTCP(t.Context(), addr, true))(t, addr, "host:port")
	}
	l := value(ListenTCP(t.Context(), "0.0.0.0:0", true))(t)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	failed(ListenTCP(t.Context(), "127.0.0.1:"+port, false))(t, "taken port", "in use")
}

// TestListenUnixMasksNothing: a folder that is made at the same time as a socket has its full mode, and only the owner can
// reach the socket.
func TestListenUnixMasksNothing(t *testing.T) {
	dir := shortDir(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 300 {
			path := filepath.Join(dir, fmt.Sprint("s", i))
			l, err := ListenUnix(path)
			if err != nil {
				t.Error(err)
				return
			}
			equal(t, "mode of the socket", value(os.Stat(path))(t).Mode().Perm(), 0o600)
			_ = l.Close()
		}
	})
	for i := range 3000 {
		path := filepath.Join(dir, fmt.Sprint("d", i))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Error(err)
			break
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("folder %d: %v, %v", i, info, err)
			break
		}
	}
	wg.Wait()
}
