package scriptedtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

// deliver writes the handoff document, or misbehaves while it does so.
func (s *script) deliver(ctx context.Context, a *scripted.Agent, path, content string) error {
	b := s.inTurn()
	content = b.spoil(content)
	write := func() error { return s.write(a, b, path, content) }
	switch {
	case b.has("no-document"):
		return nil
	case b.has("late-document"):
		a.Go(func(ctx context.Context) {
			if sleep(ctx, b.duration("late-document", 100*time.Millisecond)) != nil {
				return
			}
			if err := write(); err != nil {
				a.Print(actor.BlockError, err.Error())
			}
		})
		return nil
	}
	return a.Use(ctx, scripted.WriteTool(path, content, write))
}

// write writes content to path, unless a misbehaviour puts something else there.
func (s *script) write(a *scripted.Agent, b behaviours, path, content string) error {
	switch {
	case b.has("directory-document"):
		if wrote := s.process.Wrote; wrote != nil {
			defer wrote(path)
		}
		return os.MkdirAll(path, 0o755)
	case b.has("symlink-document"):
		target := filepath.Join(a.Dir, "outside-"+filepath.Base(path))
		if err := a.WriteFile(target, content); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.Symlink(target, path)
	}
	return a.WriteFile(path, content)
}

// spoil returns the text of a good document, changed as the misbehaviours say.
func (b behaviours) spoil(text string) string {
	switch {
	case b.has("empty-document"):
		return ""
	case b.has("blank-document"):
		return " \n\t\n  \n"
	}
	if b.has("no-further") {
		at := strings.Index(text, "## Next Agent Context")
		if end := strings.Index(text[at:], "\n## "); end > 0 {
			text = text[:at+end]
		}
	}
	if b.has("claims") {
		text = strings.Replace(text, "**Files modified:** ", "**Files modified:** ghost.go, ", 1)
		text = strings.Replace(text, "ghost.go, none\n", "ghost.go\n", 1)
	}
	if b.has("no-headings") {
		lines := strings.SplitAfter(text, "\n")
		text = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") }), "")
	}
	if b.has("huge-document") {
		const filler = "One more line about nothing, as an agent writes that does not know when to stop.\n"
		size, err := strconv.Atoi(b["huge-document"])
		if err != nil {
			size = 1 << 20
		}
		missing := max(size-len(text), 0)
		text += strings.Repeat(filler, missing/len(filler)+1)[:missing]
	}
	return text
}
