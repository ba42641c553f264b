package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// handOver writes the handoff document that the prompt asks for, or misbehaves about it.
func (a *agent) handOver(ctx context.Context, b behaviours, task assignment) (string, error) {
	if b.has("crash-on-instruction") {
		return "", errCrash
	}
	headings := task.headings
	for _, path := range task.reads {
		var text string
		if err := a.use(ctx, readTool(path, &text)); ctx.Err() != nil {
			return "", err
		}
		headings = append(headings, furtherHeadings(text)...)
	}
	content := a.document(b, headings)
	done := "The handoff document is written: " + task.document + "\nIt says what was done, what was decided, what is open and what to do next. I have stopped working."
	if b.has("no-document") {
		return done, nil
	}
	write := func() error { return a.writeDocument(b, task.document, content) }
	if b.has("late-document") {
		a.memory.late = write
		return done, nil
	}
	err := a.use(ctx, writeTool(task.document, content, write))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, errRefused):
		return "I was not allowed to write " + task.document + ".", nil
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
				a.screen.print(blockError, err.Error())
			}
		}
	})
}

// writeDocument puts content at path, or what a misbehaviour puts there.
func (a *agent) writeDocument(b behaviours, path, content string) error {
	switch {
	case b.has("directory-document"):
		return os.MkdirAll(path, 0o755)
	case b.has("symlink-document"):
		target := filepath.Join(a.cwd, "outside-"+filepath.Base(path))
		if err := writeFile(target, content); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.Symlink(target, path)
	}
	return writeFile(path, content)
}

// takeOver reads what a predecessor left and says what comes next.
func (a *agent) takeOver(ctx context.Context, task assignment) (string, error) {
	var texts []string
	var missing []string
	for _, path := range task.reads {
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
	a.memory.predecessor = task.reads[0]
	for _, text := range texts {
		if steps := nextSteps(text); len(steps) > 0 {
			a.memory.inherited = steps
			break
		}
	}
	var w strings.Builder
	fmt.Fprintf(&w, "I have taken over (%s). Next steps:\n", author(texts[0]))
	for i, step := range a.memory.inherited {
		fmt.Fprintf(&w, "%d. %s\n", i+1, step)
	}
	if len(a.memory.inherited) == 0 {
		w.WriteString("none were named; I shall ask.\n")
	}
	return strings.TrimSpace(w.String()), nil
}

// author is the first heading of a document.
func author(document string) string {
	for _, text := range strings.Split(document, "\n") {
		if title, ok := strings.CutPrefix(text, "# "); ok {
			return quote(title, 80)
		}
	}
	return "a document without a title"
}

var listItem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:[-*]|\d+[.)])\s+(.+)$`) })

// nextSteps are the list items after the words "next steps", else those of Next Agent Context.
func nextSteps(document string) []string {
	lower := strings.ToLower(document)
	at := strings.LastIndex(lower, "next steps")
	if at < 0 {
		at = strings.Index(lower, "## next agent context")
	}
	if at < 0 {
		return nil
	}
	var steps []string
	for _, text := range strings.Split(document[min(at, len(document)):], "\n")[1:] {
		if item := listItem().FindStringSubmatch(text); item != nil && len(steps) < 5 {
			steps = append(steps, item[1])
		} else if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "</") {
			break
		}
	}
	return steps
}
