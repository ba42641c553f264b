package scripted

import (
	"context"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// start begins the session. It sends SessionStart, and then sets the title and the status that mean "ready".
func (a *Agent) start(ctx context.Context) {
	if welcome := a.script.Welcome; welcome != nil && !welcome(ctx, a) {
		a.stop(quit{code: 1})
		return
	}
	a.screen.setVisible()
	a.sessionStart(ctx, a.hooks().SessionStart(a.opt.source(), a.transcript.used()))
	if ctx.Err() != nil {
		return
	}
	title := a.opt.Name
	if title == "" {
		title = "Scripted agent"
	}
	a.screen.setTitle("✳ " + title)
	a.mu.Lock()
	a.ready = true
	a.mu.Unlock()
	a.settle()
}

func (a *Agent) sessionStart(ctx context.Context, payload fields) {
	source, _ := payload["source"].(string) // the payload has a source
	answer := a.hook(ctx, "SessionStart", source, payload)
	recordContext(a, "SessionStart", answer.context)
}

// command runs a slash command.
func (l *loop) command(name, args string) {
	switch name {
	case "exit", "quit":
		l.exit()
	case "handoff":
		l.handoff(strings.TrimSpace("/handoff " + args))
	default:
		l.screen.print(actor.BlockUser, "/"+name)
		l.screen.print(actor.BlockError, "Unknown command: /"+name)
	}
}

// handoff handles /handoff, which a UserPromptSubmit hook answers. The agent sends the hook when the command's turn
// begins, even if another turn ran when the command was typed.
func (l *loop) handoff(prompt string) {
	waits := l.busy()
	if waits {
		l.screen.print(actor.BlockNote, "Queued: "+actor.Quote(prompt, 60))
		l.record("queue-operation", fields{"operation": "enqueue", "content": prompt})
	}
	l.enqueue(job{turn: true, run: func(ctx context.Context) {
		if waits {
			l.record("queue-operation", fields{"operation": "dequeue"})
		}
		l.turn(ctx, prompt, typed)
	}})
}

// exit handles /exit.
func (l *loop) exit() {
	if l.script.Stays != nil && l.script.Stays(l.Agent) {
		return
	}
	l.newPromptID() // measured: SessionEnd has a prompt id of its own
	l.stop(quit{reason: "prompt_input_exit"})
}

// sleep waits for d, but not longer than until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
