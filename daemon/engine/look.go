package engine

import (
	"context"
	"os"
	"strings"
	"time"
)

const (
	// lookTimeout is how long a hook waits for the file system. During that time the agent waits for its hook.
	lookTimeout = 2 * time.Second
	// fileLooks is how many looks run at once. A look that hangs keeps its place until the file system answers.
	fileLooks = 8
)

// lookAt returns the result of look, which looks at path; or false, if the file system does not answer in time. If a
// document is missed in this way, a later wake finds it.
func (d *Sight) lookAt(ctx context.Context, path string, look func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
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

// hasContent is fileHasContent for a hook. It also returns false if the file system does not answer in time.
func (d *Sight) hasContent(ctx context.Context, path string) bool {
	return d.lookAt(ctx, path, func() bool { return fileHasContent(path) })
}

// fileHasContent reports whether a regular file that is not empty is at path. The phase verifying decides whether it is
// an acceptable document.
func fileHasContent(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Size() > 0
}

// deadPane begins the line that tmux adds below the output of an ended program.
const deadPane = "Pane is dead"

// lastLine returns the last line of a screen that holds text of the program; "": there is no such line.
func lastLine(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Trim(lines[i], "─│╭╮╰╯ "))
		if line != "" && !strings.HasPrefix(line, deadPane) {
			return line
		}
	}
	return ""
}

// leadsElsewhere reports whether the session has moved: to is a directory, and not from by another name.
func leadsElsewhere(m move) bool {
	to, err := os.Stat(m.to)
	if err != nil || !to.IsDir() {
		return false
	}
	from, err := os.Stat(m.from)
	return err != nil || !os.SameFile(from, to)
}
