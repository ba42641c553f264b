package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// handOver writes the handoff document that the prompt asks for, or misbehaves about it.
func (a *agent) handOver(ctx context.Context, b behaviours, task actor.Assignment) (string, error) {
	if b.has("crash-on-instruction") {
		return "", errCrash
	}
	headings := task.Headings
	for _, path := range task.Reads {
		var text string
		if err := a.use(ctx, readTool(path, &text)); ctx.Err() != nil {
			return "", err
		}
		headings = append(headings, actor.FurtherHeadings(text)...)
	}
	content := a.document(b, headings)
	done := "The handoff document is written: " + task.Document + "\nIt says what was done, what was decided, what is open and what to do next. I have stopped working."
	if b.has("no-document") {
		return done, nil
	}
	write := func() error { return a.writeDocument(b, task.Document, content) }
	if b.has("late-document") {
		a.memory.late = write
		return done, nil
	}
	err := a.use(ctx, writeTool(task.Document, content, write))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, errRefused):
		return "I was not allowed to write " + task.Document + ".", nil
	case err != nil:
		return "I could not write the handoff document: " + err.Error(), nil
	}
	return done, nil
}

// writeLate writes a late document after the time it is late by, counted from the start of Stop's hooks.
func (a *agent) writeLate(b behaviours) {
	write := a.memory.late
	a.memory.late = nil
	if write == nil {
		return
	}
	a.wg.Go(func() {
		if sleep(a.life, b.duration("late-document", 100*time.Millisecond)) == nil {
			if err := write(); err != nil {
				a.screen.print(actor.BlockError, err.Error())
			}
		}
	})
}

// writeDocument puts content at path, or what a misbehaviour puts there.
func (a *agent) writeDocument(b behaviours, path, content string) error {
	switch {
	case b.has("directory-document"):
		defer a.wrote(path)
		return os.MkdirAll(path, 0o755)
	case b.has("symlink-document"):
		target := filepath.Join(a.cwd, "outside-"+filepath.Base(path))
		if err := a.writeFile(target, content); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.Symlink(target, path)
	}
	return a.writeFile(path, content)
}

// takeOver reads what a predecessor left and says what comes next.
func (a *agent) takeOver(ctx context.Context, task actor.Assignment) (string, error) {
	var texts []string
	var missing []string
	for _, path := range task.Reads {
		var text string
		if err := a.use(ctx, readTool(path, &text)); ctx.Err() != nil {
			return "", ctx.Err()
		} else if err != nil {
			missing = append(missing, path)
			continue
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "I cannot take over: " + strings.Join(missing, ", ") + " cannot be read.", nil
	}
	a.memory.Predecessor = task.Reads[0]
	for _, text := range texts {
		if steps := actor.NextSteps(text); len(steps) > 0 {
			a.memory.Inherited = steps
			break
		}
	}
	var w strings.Builder
	fmt.Fprintf(&w, "I have taken over (%s). Next steps:\n", actor.Author(texts[0]))
	for i, step := range a.memory.Inherited {
		fmt.Fprintf(&w, "%d. %s\n", i+1, step)
	}
	if len(a.memory.Inherited) == 0 {
		w.WriteString("none were named; I shall ask.\n")
	}
	return strings.TrimSpace(w.String()), nil
}
