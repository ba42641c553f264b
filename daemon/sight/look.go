package sight

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/engine"
)

const (
	// LookTimeout is how long a hook waits for the file system. During that time the agent waits for its hook.
	LookTimeout = 2 * time.Second
	// FileLooks is how many looks run at once. A look that hangs keeps its place until the file system answers.
	FileLooks = 8
)

// LookAt returns the result of look, which looks at path; or false, if the file system does not answer in time. If a
// document is missed in this way, a later wake finds it.
func (d *Sight) LookAt(ctx context.Context, path string, look func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, LookTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return false // nobody waits for the answer
	}
	found := make(chan bool, 1)
	select {
	case d.fileLooks <- struct{}{}:
		go func() {
			defer func() { <-d.fileLooks }()
			found <- look()
		}()
	case <-ctx.Done():
	}
	select {
	case there := <-found:
		return there
	case <-ctx.Done():
		d.Log.Warn("file not looked at for a hook: the file system does not answer", "path", path)
		return false
	}
}

// HasContent is FileHasContent for a hook. It also returns false if the file system does not answer in time.
func (d *Sight) HasContent(ctx context.Context, path string) bool {
	return d.LookAt(ctx, path, func() bool { return FileHasContent(path) })
}

// FileHasContent reports whether a regular file that is not empty is at path. The phase verifying decides whether it is
// an acceptable document.
func FileHasContent(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Size() > 0
}

// RealPath returns where a path leads once all links on it are followed, whether there is a file or not; "": it leads nowhere, or the file
// system does not answer in time.
func (d *Sight) RealPath(ctx context.Context, path string) string {
	found := make(chan string, 1) // a look that comes too late leaves it there
	if !d.LookAt(ctx, path, func() bool { found <- realPath(path); return true }) {
		return ""
	}
	return <-found
}

func realPath(path string) string {
	for missing := ""; ; {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, missing)
		}
		if _, dangles := os.Lstat(path); dangles == nil || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return "" // a link to what is not there, which a write would make
		}
		missing, path = filepath.Join(filepath.Base(path), missing), filepath.Dir(path)
	}
}

// deadPane begins the line that tmux adds below the output of an ended program.
const deadPane = "Pane is dead"

// LastLine returns the last line of a screen that holds text of the program; "": there is no such line.
func LastLine(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Trim(lines[i], "─│╭╮╰╯ "))
		if line != "" && !strings.HasPrefix(line, deadPane) {
			return line
		}
	}
	return ""
}

// LeadsElsewhere reports whether the session has moved: to is a directory, and not from by another name.
func LeadsElsewhere(m engine.Move) bool {
	to, err := os.Stat(m.To)
	if err != nil || !to.IsDir() {
		return false
	}
	from, err := os.Stat(m.From)
	return err != nil || !os.SameFile(from, to)
}
