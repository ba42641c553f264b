package scripted

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// memory is what the brain knows of its session.
type memory struct {
	actor.Memory
	late func() error
}

// notAllowed is the answer after a tool call that a hook refused.
const notAllowed = "I was not allowed to do that."

// taskMark begins the prompt that tells of a finished task.
const taskMark = "<task-notification>"

// think takes the model's time, and busy more. A test that takes the misbehaviour back ends the thinking.
func (a *agent) think(ctx context.Context, b behaviours, busy time.Duration) error {
	if !b.has("think") {
		return sleep(ctx, thinkTime+busy)
	}
	const look = 20 * time.Millisecond
	for left := b.duration("think", thinkTime) + busy; left > 0; left -= look {
		if err := sleep(ctx, min(left, look)); err != nil {
			return err
		}
		if !a.behave().has("think") {
			break
		}
	}
	return nil
}

// act is the model's part of a turn: it thinks, does what the prompt asks for and returns the answer.
func (a *agent) act(ctx context.Context, b behaviours, prompt string) (string, error) {
	d := a.opt.directives(prompt)
	if b.has("child-hooks") {
		a.childHooks(ctx)
	}
	if d.tokens > 0 {
		a.transcript.fix(d.tokens)
	}
	if d.compact {
		a.autoCompact(ctx)
	}
	if err := a.think(ctx, b, d.busy); err != nil {
		return "", err
	}
	if d.background {
		if err := a.use(ctx, a.backgroundTool(d.hold)); err != nil {
			return notAllowed, nil
		}
	} else if d.hold != "" {
		if err := waitForFile(ctx, d.hold); err != nil {
			return "", err
		}
	}
	if d.ask {
		if err := a.use(ctx, askTool()); err != nil {
			return notAllowed, nil
		}
	}
	if err := a.edit(ctx, d.edits); ctx.Err() != nil {
		return "", err
	}
	a.memory.Decisions = append(a.memory.Decisions, d.decisions...)
	if text, ok := a.dictated(d, prompt); ok {
		a.memory.Prompts = append(a.memory.Prompts, prompt)
		return text, nil
	}
	task := actor.Understand(prompt)
	switch task.Kind {
	case actor.WriteHandoff:
		return a.handOver(ctx, b, task)
	case actor.TakeOver:
		return a.takeOver(ctx, task)
	}
	if strings.HasPrefix(prompt, taskMark) {
		return "The background task has finished.", nil
	}
	a.memory.Prompts = append(a.memory.Prompts, prompt)
	if len(d.edits) > 0 {
		return "Edited " + strings.Join(d.edits, ", ") + ".", nil
	}
	if b.has("report") && placeOfStep().MatchString(a.opt.systemPrompt) {
		return a.report(prompt), nil
	}
	return a.answer(prompt), nil
}

// dictated is the answer that directives put into the agent's mouth; false: none does.
func (a *agent) dictated(d directives, prompt string) (string, bool) {
	switch {
	case d.say != "":
		return d.say, true
	case d.raw != "":
		text, err := os.ReadFile(a.path(d.raw))
		if err != nil {
			return "I cannot read what to answer: " + err.Error(), true
		}
		return string(text), true
	case d.report:
		return a.report(prompt), true
	}
	return "", false
}

// path is a file that a prompt names, taken from the working directory.
func (a *agent) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.cwd, name)
}

// edit changes files, one call of a tool each. A call that fails is told in the transcript alone.
func (a *agent) edit(ctx context.Context, files []string) error {
	for _, file := range files {
		if err := a.use(ctx, a.editTool(a.path(file))); err == nil {
			a.memory.Edited = append(a.memory.Edited, file)
		}
	}
	return ctx.Err()
}

// answer is what the brain says to a prompt that is no handoff.
func (a *agent) answer(prompt string) string {
	files := actor.ListFiles(a.cwd)
	looked := "There are no files here yet."
	if len(files) > 0 {
		looked = fmt.Sprintf("I looked at %s.", strings.Join(files, ", "))
	}
	return fmt.Sprintf("Noted: “%s”. %s\nNothing was changed; I keep this for whoever takes over.", actor.Quote(prompt, 120), looked)
}

// waitForFile returns when path exists; without a path, when ctx ends.
func waitForFile(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); path != "" && err == nil {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
