package childtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Programs are built once, when a test first needs one of them, into a folder that goes with the tests.
// They are built without the race detector, with which each process would take a tenth of a second
// to begin and to end. Nor do they hold anything for debuggers, which is a third of the linker's work.
// The zero value is not ready: see [NewPrograms].
type Programs struct {
	build func() (dir string, err error)
}

// NewPrograms are those of packages, each of which becomes the program of its folder's name.
func NewPrograms(packages ...string) *Programs {
	return &Programs{build: sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "us-bin")
		if err != nil {
			return "", err
		}
		if err := os.Chmod(dir, 0o711); err != nil { // a test's agent may have another account
			return "", err
		}
		args := append([]string{"build", "-race=false", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + "/"}, packages...)
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w: %s", err, out)
		}
		return dir, nil
	})}
}

// Path is where a program is.
func (p *Programs) Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := p.build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}
