// Package wardentest makes sure that tests leave nothing behind, however they end, and has the checks that the tests of all packages share.
//
// Any goroutine may call its functions.
package wardentest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/tmux/warden"
)

// ours is the warden of this test process. Its first use starts it.
var ours struct {
	mu     sync.Mutex
	warden *warden.Warden
}

// Run runs the tests of a package with a temporary folder, which is in memory where that can be. The folder, and every process
// that still uses it, is gone at the end, even after SIGKILL of the test process or of the go command that runs it. It is for
// TestMain: os.Exit(wardentest.Run(m.Run)). Benchmarks get a folder on the disk, as what they measure has.
func Run(tests func() int) int {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench=") }) {
		return RunIn("", tests)
	}
	return RunIn(Memory(), tests)
}

// RunIn is Run with a temporary folder in parent ("": the folder for temporary files).
func RunIn(parent string, tests func() int) int {
	endWithParent()
	dir, err := Folder(parent)
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

// useFolder makes dir the folder for temporary files, for t.TempDir and for every program that a test starts: the
// folder's name in their environment is how the warden finds them.
func useFolder(dir string) error {
	dir = filepath.Join(dir, "t")
	return errors.Join(os.Mkdir(dir, 0o711), os.Setenv("TMPDIR", dir))
}

// Folder makes a folder in parent ("": the folder for temporary files) that is removed when this process ends. Every
// account may pass through it. Its path is short, because paths of unix sockets must be short.
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
