package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// file is an open transcript, read from its end.
type file struct {
	*os.File
	rt    *runtimes.Runtime
	lines *backward
	bad   int // lines that could not be read
	branch
	ready []runtimes.Entry // of the branch, read and not returned yet
	link  bookmark         // behind the last entry that was on the way to the first one
	gaps  int              // how often that way led nowhere
}

// open opens a transcript. It refuses a file that is not regular. It never blocks: the path comes from a hook, and opening
// a named pipe would otherwise wait for a writer for ever.
func open(rt *runtimes.Runtime, path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("transcript %s: %w", path, err)
	}
	return &file{File: f, rt: rt, lines: &backward{r: f, off: fi.Size(), chunk: chunkSize, max: maxLine}}, nil
}

// next returns the entry before the entry that it returned last, of the conversation as the model knows it: see [branch]. It
// skips lines that cannot be read, and counts them in t.bad. At the end of the part to read, it returns io.EOF.
func (t *file) next(ctx context.Context) (runtimes.Entry, error) {
	for len(t.ready) == 0 {
		line, err := t.lines.next(ctx)
		if errors.Is(err, io.EOF) && t.goBack() {
			continue
		}
		if err != nil {
			return runtimes.Entry{}, err
		}
		e, err := t.rt.ParseEntry(line)
		if err != nil {
			t.bad++
			continue
		}
		was := t.branch.next
		t.ready = t.take(e)
		if t.branch.next != was {
			t.link = bookmark{t.lines.mark(), t.bad, t.lines.long}
		}
	}
	e := t.ready[0]
	t.ready = t.ready[1:]
	return e, nil
}

// bookmark is a place in a transcript, and what was counted up to there.
type bookmark struct {
	at        int64
	bad, long int
}

// maxGaps is how often the entry that another one follows may be missing. Each time the rest of the file is read again.
const maxGaps = 4

// goBack goes back to where the conversation was lost: the entry with which it goes on is not in the file, because its line
// cannot be read or was never written. From there on the entries follow one another as they stand in the file, which is what
// Claude Code does. goBack returns false if nothing is missing.
func (t *file) goBack() bool {
	if t.branch.next == "" || t.lines.floor > 0 {
		return false
	}
	t.lines.back(t.link.at)
	t.bad, t.lines.long = t.link.bad, t.link.long
	t.branch.lose(t.gaps == maxGaps)
	t.gaps++
	return true
}
