package childtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Programs builds programs when a test first needs one of them, into a temporary folder that is deleted after the tests.
// It builds them without the race detector, because with the race detector each process takes a tenth of a second longer
// to start and to end. It leaves out debug information, which takes a third of the linker's work. Make a Programs with
// [NewPrograms].
type Programs struct {
	build func() (dir string, err error)
}

// NewPrograms returns the Programs of the named packages. Each package becomes a program with the name of its folder.
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

// Path returns the path of a program.
func (p *Programs) Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := p.build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}
