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

// FindHookProgram looks for the hook program beside the binary own. Its error says why agents must run own instead.
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

// buildOf returns the same values for two programs that were built from the same tree with the same version of Go. If a
// tree has uncommitted changes, Go records only that fact. So two trees with different uncommitted changes may have the
// same values.
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

// Executable fails if a file may not be run, because of the file's mode or because of how its file system is mounted.
func Executable(path string) error {
	const mode = 1 // X_OK
	return syscall.Access(path, mode)
}

// HookProgramOf returns the program that installed hooks run. If the hook program beside own can be used, it is that
// one; otherwise it is own.
func HookProgramOf(own string) string {
	if path, err := FindHookProgram(own); err == nil {
		return path
	}
	return own
}

// KeepHookProgram copies the hook program into the data directory and returns the path of the copy. Agents run the copy
// as long as they live, so they lose no hook when the installed program is replaced or removed. KeepHookProgram renames
// the finished copy into place, so the copy is complete at any moment. It does not sync the copy, because the next
// daemon compares the copy with the installed program, and agents do not outlive a power failure.
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

// sameFile reports whether a copy has the same bytes as the original, which must exist. It compares one piece after the
// other. If it read both programs into memory, that would take longer than most of the daemon's start.
func sameFile(original, copied string) (bool, error) {
	a, err := os.Open(original)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(copied)
	if err != nil {
		return false, nil // the caller then makes a new copy
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
		case endA != nil: // a ends here, and both pieces have the same length
			return ended(endB), nil
		}
	}
}

// WriteProgram writes a program that can be run at once. While it writes, it keeps this process from starting another
// process. A child would hold the file open for writing until its exec, and the kernel does not run a program that is
// open for writing.
func WriteProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	temp := path + ".new" // only the daemon that holds the directory's lock writes it
	if err := os.WriteFile(temp, text, 0o700); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
