package scripted

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

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
func (l *loop) command(ctx context.Context, name, args string) {
	run := func(f func(context.Context)) {
		l.screen.print(actor.BlockUser, strings.TrimSpace("/"+name+" "+args))
		l.enqueue(job{run: f})
	}
	switch name {
	case "exit", "quit":
		l.exit()
	case "clear":
		run(l.clear)
	case "compact":
		run(func(ctx context.Context) { compact(ctx, l.Agent, args) })
	case "handoff":
		l.handoff(strings.TrimSpace("/handoff " + args))
	case "resume":
		run(func(ctx context.Context) { l.resume(ctx, args) })
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
	leave := func() {
		l.newPromptID() // measured: SessionEnd has a prompt id of its own
		l.stop(quit{reason: "prompt_input_exit"})
	}
	if l.script.Exit != nil {
		l.script.Exit(l.Agent, leave)
		return
	}
	leave()
}

// leaveSession ends the session for /clear and /resume; the process goes on. Measured: after /clear there is no prompt
// id. After /resume the prompt id is the one that SessionEnd had.
func leaveSession(ctx context.Context, a *Agent, reason, next string) {
	a.newPromptID()
	a.hook(ctx, "SessionEnd", reason, a.hooks().SessionEnd(reason))
	a.mu.Lock()
	a.sessionID = next
	if reason == "clear" {
		a.promptID = ""
	}
	a.mu.Unlock()
	a.transcript.restart()
	a.screen.update(func() { a.screen.Footer = footer(a) })
}

func (a *Agent) clear(ctx context.Context) {
	leaveSession(ctx, a, "clear", uuid.NewString())
	a.Memory = actor.Memory{}
	a.screen.update(func() { a.screen.Forget() })
	a.sessionStart(ctx, a.hooks().SessionStart("clear", 0))
}

func (a *Agent) resume(ctx context.Context, id string) {
	past, err := recall(a, transcriptPath(a, id))
	if _, bad := uuid.Parse(id); bad != nil || err != nil {
		a.screen.print(actor.BlockError, fmt.Sprintf("Session %s was not found.", id))
		return
	}
	leaveSession(ctx, a, "resume", id)
	a.Memory = past.memory
	a.sessionStart(ctx, a.hooks().ResumeCommand(a.transcript.used()))
	a.screen.print(actor.BlockNote, "Resumed "+id)
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
