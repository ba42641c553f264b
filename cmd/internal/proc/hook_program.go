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

// HookName is the name of the program that agents run in place of `understudy hook`, `understudy statusline` and `understudy
// launch`. It starts several times as fast.
const HookName = "understudy-hook"

// FindHookProgram looks for the program of agents' hooks beside the binary own. The error says why agents must run own
// instead.
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

// buildOf is equal for two programs that were built from the same tree with the same Go. Of a tree with uncommitted changes
// it knows only that there are some, so it may be equal for two such trees.
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

// Executable fails if a file may not be run, by its mode or by how its file system is mounted.
func Executable(path string) error {
	const mode = 1 // X_OK
	return syscall.Access(path, mode)
}

// HookProgramOf is the program that installed hooks run: the fast one if it can be used, else own.
func HookProgramOf(own string) string {
	if path, err := FindHookProgram(own); err == nil {
		return path
	}
	return own
}

// KeepHookProgram copies the program of agents' hooks into the data directory and returns the path of the copy. Agents run the
// copy as long as they live, so that they lose no hook when the installed program is replaced or removed. A rename puts the
// copy into place, so that it is whole at any moment. It is not synced: the next daemon compares it with the installed one,
// and agents do not outlive a power failure.
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

// sameFile reports whether a copy has the bytes of the original, which must exist. It compares piece by piece: to read both
// programs into memory would take a daemon longer than most of its start.
func sameFile(original, copied string) (bool, error) {
	a, err := os.Open(original)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(copied)
	if err != nil {
		return false, nil // the caller makes the copy anew
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
		case endA != nil: // both pieces have the same length
			return ended(endB), nil
		}
	}
}

// WriteProgram writes a program that can be run at once. Meanwhile it keeps this process from starting another one: the child
// would hold the file open for writing until it execs, and the kernel runs no program that is open for writing.
func WriteProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	temp := path + ".new" // only the daemon that holds the directory's lock writes it
	if err := os.WriteFile(temp, text, 0o700); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
