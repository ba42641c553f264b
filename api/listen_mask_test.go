package api

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestListenUnixMasksNothing: a folder that is made at the same time as a socket has its full mode, and only the owner can
// reach the socket.
func TestListenUnixMasksNothing(t *testing.T) {
	dir, err := os.MkdirTemp("", "us")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 300 {
			path := filepath.Join(dir, fmt.Sprint("s", i))
			l, err := ListenUnix(path)
			if err != nil {
				t.Error(err)
				return
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("socket: %v, %v", info, err)
			}
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
