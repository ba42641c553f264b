package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// handOver writes the handoff document that the prompt asks for, or misbehaves about it.
func (a *agent) handOver(ctx context.Context, b behaviours, task assignment) (string, error) {
	if b.has("crash-on-instruction") {
		return "", errCrash
	}
	for _, path := range task.reads {
		var text string
		if err := a.use(ctx, readTool(path, &text)); ctx.Err() != nil {
			return "", err
		}
	}
	content := a.document(b)
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

// document is the text of the handoff document.
func (a *agent) document(b behaviours) string {
	switch {
	case b.has("empty-document"):
		return ""
	case b.has("blank-document"):
		return " \n\t\n  \n"
	}
	text := a.handoffText()
	if b.has("huge-document") {
		const filler = "One more line about nothing, as an agent writes that does not know when to stop.\n"
		missing := max(b.size()-len(text), 0)
		text += strings.Repeat(filler, missing/len(filler)+1)[:missing]
	}
	return text
}

// handoffText is a believable handoff, made of the prompts and the files of the working directory.
func (a *agent) handoffText() string {
	name := a.opt.name
	if name == "" {
		name = "scripted agent"
	}
	id, _ := a.ids()
	m, files := a.memory, listFiles(a.cwd)
	last := "no task was given"
	if n := len(m.prompts); n > 0 {
		last = quote(m.prompts[n-1], 100)
	}
	var done, questions []string
	if m.predecessor != "" {
		done = append(done, "Took over from "+m.predecessor)
	}
	for _, title := range m.titles() {
		done = append(done, "Done: looked into “"+title+"”")
		questions = append(questions, "Is “"+quote(title, 60)+"” finished as the user expects?")
	}
	next := append([]string{"Go on with “" + last + "”"}, m.inherited...)
	next = append(next, "Read the files of "+a.cwd+" before changing any of them")
	var w strings.Builder
	fmt.Fprintf(&w, "# Handoff from %s\n\nSession %s, in %s.\n\n", name, id, a.cwd)
	fmt.Fprintf(&w, "## What Was Done\n\n**Current work:** %s\n\n**Progress:**\n\n%s\n**Files modified:** none\n\n", last, list(done, "Nothing yet"))
	fmt.Fprintf(&w, "**Intended, not done:** the changes themselves\n\n")
	fmt.Fprintf(&w, "## Decisions Made\n\n- Work only inside %s: nothing outside belongs to this task\n- Look before changing: the tasks were noted first\n\n", a.cwd)
	fmt.Fprintf(&w, "## Open Questions\n\n%s\n**Blockers:** none known\n\n", list(questions, "None"))
	fmt.Fprintf(&w, "## Next Agent Context\n\nFiles here: %s\n\n**Next steps:**\n\n", orNone(files))
	for i, step := range next[:min(len(next), 5)] {
		fmt.Fprintf(&w, "%d. %s\n", i+1, step)
	}
	return w.String()
}

func list(items []string, none string) string {
	if len(items) == 0 {
		items = []string{none}
	}
	return "- " + strings.Join(items, "\n- ") + "\n"
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
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

var listItem = regexp.MustCompile(`^\s*(?:[-*]|\d+[.)])\s+(.+)$`)

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
		if item := listItem.FindStringSubmatch(text); item != nil && len(steps) < 5 {
			steps = append(steps, item[1])
		} else if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "</") {
			break
		}
	}
	return steps
}
