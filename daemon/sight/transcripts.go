package sight

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// openTranscript opens the transcript of a session. If it is not at path, the session may have moved a moment ago: no hook tells of a
// person's /cd, and a hook that tells of a move may be in the spool. Its file then has the same name in another project's folder.
func openTranscript(path string) (*os.File, error) {
	const how = os.O_RDONLY | syscall.O_NONBLOCK // opening a pipe would wait for its writer
	f, err := os.OpenFile(path, how, 0)
	dir := runtimes.ConfigDirOfTranscript(path)
	if !errors.Is(err, fs.ErrNotExist) || dir == "" {
		return f, err
	}
	found, _ := fs.Glob(os.DirFS(dir), "projects/*/"+filepath.Base(path)) // the name is that of a session: it has no pattern
	if len(found) != 1 {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, found[0]), how, 0)
}

// TranscriptTail returns the end of an agent's transcript; nil: it has none, or it can't be read.
func TranscriptTail(a *daemon.Agent) []byte {
	if a.TranscriptPath == nil {
		return nil
	}
	f, err := openTranscript(*a.TranscriptPath)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	size := min(fi.Size(), TranscriptEnd)
	b := make([]byte, size)
	n, _ := f.ReadAt(b, fi.Size()-size) // after an error, use the bytes that were read before it
	return b[:n]
}

// TranscriptEnd is how many bytes TranscriptTail reads.
const TranscriptEnd = 1 << 20

// InTranscript reports whether the agent's transcript has the text of a delivery: its nonce or, if it has none, the text as a
// whole prompt since the daemon typed it.
func (d *Sight) InTranscript(a *daemon.Agent, dl *daemon.Delivery) bool {
	jsonl, rt := TranscriptTail(a), d.RuntimeOf(a)
	switch {
	case dl.Nonce != "":
		return rt.TranscriptContains(jsonl, dl.Nonce)
	case dl.TypedAt != nil:
		return rt.TranscriptHasPrompt(jsonl, dl.Text, d.ShownAfter(*dl.TypedAt))
	}
	return false
}

// PromptedAfter reports whether an agent's transcript has a prompt after since, or one that is still queued.
func (d *Sight) PromptedAfter(a *daemon.Agent, nonce string, since time.Time) bool {
	return d.RuntimeOf(a).PromptedAfter(TranscriptTail(a), nonce, since, d.ShownAfterFirst(since), d.EarliestShown(a.CreatedAt))
}

// LastWords returns the end of a sentence: the last line that an ended agent wrote. lost is true if the agent was to open a session
// again and its runtime did not find it; then the line is the one that says so.
func (d *Sight) LastWords(ctx context.Context, a *daemon.Agent) (said string, lost bool) {
	shown := d.lastShown(ctx, a)
	line := LastLine(shown)
	if a.Resume != "" && a.RegisteredAt == nil {
		if says := runtimes.SaysNoConversation(shown); says != "" {
			line, lost = says, true
		}
	}
	if line == "" {
		return "", false
	}
	return daemon.PaneShows + words.Quote(line), lost
}

// StatusOf returns what the entry of an agent in its runtime's registry says. It reads the entry now.
func StatusOf(d *Sight, a *daemon.Agent) runtimes.Status {
	reg, ok := EntryOf(d, a)
	if !ok {
		return runtimes.StatusUnknown
	}
	return reg.Status
}
