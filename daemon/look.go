package daemon

import (
	"context"
	"os"
	"strings"
	"time"
)

const (
	// lookTimeout is how long a hook waits for the file system. The agent waits for its hook meanwhile.
	lookTimeout = 2 * time.Second
	// fileLooks bounds the looks that run at once. One that hangs keeps its place until the system lets go of it.
	fileLooks = 8
)

// lookAt returns what look finds at path, or false when the file system does not answer in time: a document that
// nobody could see is taken up later, when it is there.
func (d *Daemon) lookAt(ctx context.Context, path string, look func() bool) bool {
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

// hasContent reports whether something is in the file at path, for a hook.
func (d *Daemon) hasContent(ctx context.Context, path string) bool {
	return d.lookAt(ctx, path, func() bool { return fileHasContent(path) })
}

// fileHasContent reports whether something non-empty is at path. It says nothing about whether
// the document is acceptable; that is verifying's to decide.
func fileHasContent(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Size() > 0
}

// deadPane is how tmux's own line begins, which it adds below what a program left.
const deadPane = "Pane is dead"

// lastLine returns the last line of a screen on which the program wrote something.
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
