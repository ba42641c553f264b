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
	// fileLooks is how many looks run at once. One that hangs keeps its place until the file system answers.
	fileLooks = 8
)

// lookAt returns what look finds at path, or false if the file system does not answer in time. A document that was missed
// so is found when a later wake looks.
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

// hasContent is fileHasContent for a hook; false also stands for a file system that does not answer in time.
func (d *Daemon) hasContent(ctx context.Context, path string) bool {
	return d.lookAt(ctx, path, func() bool { return fileHasContent(path) })
}

// fileHasContent reports whether a regular file that is not empty is at path. Whether a document is acceptable is decided in
// the phase verifying.
func fileHasContent(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Size() > 0
}

// deadPane begins the line that tmux adds below what an ended program has left in its pane.
const deadPane = "Pane is dead"

// lastLine returns the last line of a screen that has text of the program; "": none has.
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
