package scripted

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// ThinkTime is the time that the brain takes for an answer.
const ThinkTime = 30 * time.Millisecond

// answer returns the script's answer to a prompt. If the script has none, it returns the brain's answer after
// [ThinkTime].
func (a *Agent) answer(ctx context.Context, prompt string) (string, error) {
	prompt = strings.TrimSpace(runtimes.Wrapper().ReplaceAllString(prompt, "")) // the marks of a long paste
	if a.script.Answer != nil {
		return a.script.Answer(ctx, a, prompt)
	}
	if err := sleep(ctx, ThinkTime); err != nil {
		return "", err
	}
	return a.Reply(ctx, prompt)
}

// Reply does the work that a prompt asks for, and returns the answer's text. In print mode a handoff document is itself
// the answer.
func (a *Agent) Reply(ctx context.Context, prompt string) (string, error) {
	if a.opt.Print && actor.AsksToHandOver(prompt) {
		return document(a, actor.FurtherHeadings(prompt)), nil
	}
	if !a.opt.Print {
		switch task := actor.Understand(prompt); task.Kind {
		case actor.WriteHandoff:
			return handOver(ctx, a, task)
		case actor.TakeOver:
			return takeOver(ctx, a, task)
		}
		a.Memory.Note(prompt)
		if a.opt.reports && a.opt.Step() != "" {
			return a.Report(prompt), nil
		}
	}
	files := actor.ListFiles(a.Dir)
	looked := "There are no files here yet."
	if len(files) > 0 {
		looked = fmt.Sprintf("I looked at %s.", strings.Join(files, ", "))
	}
	return fmt.Sprintf("Noted: “%s”. %s\nNothing was changed; I keep this for whoever takes over.", actor.Quote(prompt, 120), looked), nil
}
