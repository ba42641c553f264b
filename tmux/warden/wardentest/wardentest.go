// Package wardentest keeps tests from leaving anything behind, however they end.
package wardentest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/understudyd/understudy/tmux/warden"
)

// ours is the warden of this test process, started at the first use.
var ours struct {
	mu     sync.Mutex
	warden *warden.Warden
}

// Run runs the tests of a package, with a temporary folder that goes at the end with all that still works in it,
// also after SIGKILL of the test process or of the go command that runs it. It is for TestMain:
// os.Exit(wardentest.Run(m.Run)).
func Run(tests func() int) int {
	endWithParent()
	dir, err := Folder("")
	if err == nil {
		err = useFolder(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := tests()
	ours.mu.Lock()
	defer ours.mu.Unlock()
	ours.warden.End()
	ours.warden = nil
	return code
}

// useFolder makes it the one for temporary files, of t.TempDir and of every program that a test starts: its name in
// their environment is what the warden knows them by.
func useFolder(dir string) error {
	dir = filepath.Join(dir, "t")
	return errors.Join(os.Mkdir(dir, 0o711), os.Setenv("TMPDIR", dir))
}

// Folder makes a folder in the parent ("": the one for temporary files) that goes with this process. Every account
// may pass through it. Its path is short, because those of unix sockets must be.
func Folder(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "us")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", err
	}
	ours.mu.Lock()
	defer ours.mu.Unlock()
	if ours.warden == nil {
		if ours.warden, err = warden.Start(); err != nil {
			return "", err
		}
	}
	return dir, ours.warden.Watch(dir)
}

// InMemory is a folder for temporary files whose syncing takes no time, where there is one; else "". It goes with this
// process, however that ends.
var InMemory = sync.OnceValue(func() string {
	dir, err := Folder("/dev/shm")
	if err != nil {
		return ""
	}
	return dir
})
