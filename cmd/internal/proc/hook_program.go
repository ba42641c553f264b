package proc

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/understudyd/understudy/data"
)

// HookName is the program that does for agents what `understudy hook`, `understudy statusline` and
// `understudy launch` do, and starts several times as fast.
const HookName = "understudy-hook"

// GetHookProgram is how one comes by it.
const GetHookProgram = "install both programs, in a clone: go install ./cmd/..."

// FindHookProgram looks for the program of agents' hooks beside ours. The error says why agents have
// to run ours instead.
func FindHookProgram(own string) (string, error) {
	path := filepath.Join(filepath.Dir(own), HookName)
	theirs, err := buildinfo.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not there", path)
	}
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", path, err)
	}
	ours, ok := debug.ReadBuildInfo()
	if !ok || !slices.Equal(buildOf(ours), buildOf(theirs)) {
		return "", fmt.Errorf("%s is of another build than this program", path)
	}
	if err := Executable(path); err != nil {
		return "", fmt.Errorf("%s can't be run: %w", path, err)
	}
	return path, nil
}

// buildOf is what two programs have in common that were built from the same tree with the same Go. Of
// a tree with changes that are not committed it says no more than that there are some.
func buildOf(b *debug.BuildInfo) []string {
	build := []string{b.Main.Path, b.Main.Version, b.GoVersion}
	for _, key := range []string{"vcs.revision", "vcs.modified", "GOOS", "GOARCH"} {
		i := slices.IndexFunc(b.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
		if i < 0 {
			build = append(build, "")
			continue
		}
		build = append(build, b.Settings[i].Value)
	}
	return build
}

// Executable fails for what may not be run, also where that is the file system's.
func Executable(path string) error {
	const mode = 1 // X_OK
	return syscall.Access(path, mode)
}

// HookProgramOf is the program that hooks name: the fast one if it may be used, else ours.
func HookProgramOf(own string) string {
	if path, err := FindHookProgram(own); err == nil {
		return path
	}
	return own
}

// KeepHookProgram copies the program of agents' hooks into the data directory and returns the path
// of the copy, which agents name as long as they live: an agent loses no hook when the installed one
// is replaced or removed. The copy is made by rename, so that it is whole at any moment. It is not
// synced: the next start of a daemon compares it, and agents do not outlive a power failure.
func KeepHookProgram(dir data.Dir, installed string) (string, error) {
	path := dir.HookProgram()
	same, err := sameFile(installed, path)
	if err != nil {
		return "", err
	}
	if !same {
		text, err := os.ReadFile(installed)
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := WriteProgram(path, text); err != nil {
			return "", err
		}
	}
	return path, Executable(path)
}

// sameFile reports whether a copy has the bytes of the original, which must be there. It compares piece by piece: a
// daemon that had both programs in memory would take longer for that than for most of its start.
func sameFile(original, copied string) (bool, error) {
	a, err := os.Open(original)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(copied)
	if err != nil {
		return false, nil // it is made anew
	}
	defer b.Close()
	ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
	const piece = 64 << 10
	buffers := make([]byte, 2*piece)
	for {
		n, endA := io.ReadFull(a, buffers[:piece])
		m, endB := io.ReadFull(b, buffers[piece:])
		switch {
		case endA != nil && !ended(endA):
			return false, endA
		case !bytes.Equal(buffers[:n], buffers[piece:piece+m]):
			return false, nil
		case endA != nil: // as many bytes of both
			return ended(endB), nil
		}
	}
}

// WriteProgram starts no process meanwhile: a child would hold the file open for writing until it
// executes its own, and the kernel runs no program that is being written.
func WriteProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	temp := path + ".new" // the daemon's alone, which holds the directory's lock
	if err := os.WriteFile(temp, text, 0o700); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
