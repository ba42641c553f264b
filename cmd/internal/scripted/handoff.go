package scripted

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon/actor"
)

// document returns the text of the handoff document. further are headings besides the four usual ones.
func document(a *Agent, further []string) string {
	id, _ := a.ids()
	return actor.Session{Name: a.opt.Name, ID: id, Cwd: a.Dir, Memory: a.Memory}.Document(further)
}

// handOver writes the handoff document that the prompt asks for.
func handOver(ctx context.Context, a *Agent, task actor.Assignment) (string, error) {
	headings := task.Headings
	for _, path := range task.Reads {
		var text string
		if err := a.Use(ctx, readTool(path, &text)); ctx.Err() != nil {
			return "", err
		}
		headings = append(headings, actor.FurtherHeadings(text)...)
	}
	err := a.Use(ctx, writeTool(a, task.Document, document(a, headings)))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, errRefused):
		return "I was not allowed to write " + task.Document + ".", nil
	case err != nil:
		return "I could not write the handoff document: " + err.Error(), nil
	}
	return "The handoff document is written: " + task.Document + "\nIt says what was done, what was decided, what is open and what to do next. I have stopped working.", nil
}

// takeOver reads the predecessor's files and answers with the next steps that they name.
func takeOver(ctx context.Context, a *Agent, task actor.Assignment) (string, error) {
	var texts []string
	var missing []string
	for _, path := range task.Reads {
		var text string
		if err := a.Use(ctx, readTool(path, &text)); ctx.Err() != nil {
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
	a.Memory.Predecessor = task.Reads[0]
	for _, text := range texts {
		if steps := actor.NextSteps(text); len(steps) > 0 {
			a.Memory.Inherited = steps
			break
		}
	}
	var w strings.Builder
	fmt.Fprintf(&w, "I have taken over (%s). Next steps:\n", actor.Author(texts[0]))
	for i, step := range a.Memory.Inherited {
		fmt.Fprintf(&w, "%d. %s\n", i+1, step)
	}
	if len(a.Memory.Inherited) == 0 {
		w.WriteString("none were named; I shall ask.\n")
	}
	return strings.TrimSpace(w.String()), nil
}
