package scripted

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/actor"
)

// start begins the session: SessionStart's hooks, then the signs that it is ready.
func (a *agent) start(ctx context.Context) {
	b := a.behave()
	if sleep(ctx, b.duration("slow-start", 0)) != nil {
		return
	}
	if len(a.warnings) > 0 {
		a.ask(ctx, "settings warning", actor.Dialog{
			Title: "Settings Warning", Detail: strings.Join(a.warnings, "; "),
			Question: "How do you want to go on?", Choices: []string{"Continue without these settings"},
		})
	}
	if !a.welcome(ctx, b) {
		return
	}
	a.screen.setVisible()
	source := a.opt.source()
	if !b.has("no-session-start") {
		a.sessionStart(ctx, a.hooks().SessionStart(source, a.transcript.used()))
	}
	if ctx.Err() != nil {
		return
	}
	title := a.opt.name
	if title == "" {
		title = "Scripted agent"
	}
	a.screen.setTitle("✳ " + title)
	a.mu.Lock()
	a.ready = true
	a.mu.Unlock()
	a.settle()
}

// welcome asks what Claude Code asks before its first session; false: it was refused.
func (a *agent) welcome(ctx context.Context, b behaviours) bool {
	if b.has("login") {
		a.ask(ctx, "login", actor.Dialog{
			Title: "Browser didn't open? Use the URL below to sign in", Detail: "https://example.com/oauth/authorize?code_challenge=SECRET",
			Question: "Paste code here if prompted >",
		})
	}
	if !b.has("trust") {
		return true
	}
	choice := a.ask(ctx, "trust", actor.Dialog{
		Title: "Accessing workspace:", Detail: a.cwd, Question: "Is this a project you created or one you trust?",
		Choices: []string{"No, exit", "Yes, I trust this folder"},
	})
	if choice != 1 && ctx.Err() == nil {
		a.stop(quit{code: 1})
	}
	return choice == 1
}

func (a *agent) sessionStart(ctx context.Context, payload fields) {
	source, _ := payload["source"].(string) // it has one
	answer := a.hook(ctx, "SessionStart", source, payload)
	a.recordContext("SessionStart", answer.context)
}

// command runs a slash command.
func (l *loop) command(ctx context.Context, name, args string) {
	run := func(f func(context.Context)) {
		l.screen.print(actor.BlockUser, strings.TrimSpace("/"+name+" "+args))
		l.enqueue(job{run: f})
	}
	switch name {
	case "exit", "quit":
		l.exit(ctx)
	case "clear":
		run(l.clear)
	case "compact":
		run(func(ctx context.Context) { l.compact(ctx, args) })
	case "handoff":
		l.handoff(strings.TrimSpace("/handoff " + args))
	case "resume":
		run(func(ctx context.Context) { l.resume(ctx, args) })
	default:
		l.screen.print(actor.BlockUser, "/"+name)
		l.screen.print(actor.BlockError, "Unknown command: /"+name)
	}
}

// handoff is /handoff, which the user's settings are to answer: its hook is sent when its turn comes,
// also when it was typed while another one ran.
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

// exit is /exit: at once, or behind a dialog when something runs in the background.
func (l *loop) exit(ctx context.Context) {
	b := l.behave()
	if b.has("ignore-exit") {
		l.screen.print(actor.BlockUser, "/exit")
		return
	}
	l.mu.Lock()
	tasks := len(l.tasks)
	l.mu.Unlock()
	leave := func() {
		l.newPromptID() // measured: SessionEnd has one of its own
		l.stop(quit{reason: "prompt_input_exit"})
	}
	if tasks == 0 && !b.has("exit-dialog") {
		leave()
		return
	}
	l.wg.Go(func() {
		choice := l.ask(ctx, "exit confirmation", actor.Dialog{
			Title: "Background work is running", Question: "Exit anyway?",
			Choices: []string{"Exit and stop tasks", "Stay"},
		})
		if choice == 0 {
			leave()
		}
	})
}

// leaveSession ends the session inside the process: /clear and /resume. Measured: after /clear there is no
// prompt id, after /resume that of SessionEnd.
func (a *agent) leaveSession(ctx context.Context, reason, next string) {
	a.newPromptID()
	a.hook(ctx, "SessionEnd", reason, a.hooks().SessionEnd(reason))
	a.mu.Lock()
	a.sessionID = next
	if reason == "clear" {
		a.promptID = ""
	}
	a.mu.Unlock()
	a.transcript.restart()
	a.screen.update(func() { a.screen.Footer = a.footer() })
}

func (a *agent) clear(ctx context.Context) {
	a.leaveSession(ctx, "clear", uuid.NewString())
	a.memory = memory{}
	a.screen.update(func() { a.screen.Forget() })
	a.sessionStart(ctx, a.hooks().SessionStart("clear", 0))
}

func (a *agent) resume(ctx context.Context, id string) {
	past, err := recall(a.transcriptPath(id))
	if _, bad := uuid.Parse(id); bad != nil || err != nil {
		a.screen.print(actor.BlockError, fmt.Sprintf("Session %s was not found.", id))
		return
	}
	a.leaveSession(ctx, "resume", id)
	a.memory = past.memory
	a.sessionStart(ctx, a.hooks().ResumeCommand(a.transcript.used()))
	a.screen.print(actor.BlockNote, "Resumed "+id)
}

// background starts a task that ends when file exists (never, if file is empty); its end is a turn.
func (a *agent) background(ctx context.Context, file, what, command string) (id string) {
	t := actor.ShellTask("b"+uuid.NewString()[:8], what, command)
	a.mu.Lock()
	a.tasks = append(a.tasks, t)
	a.mu.Unlock()
	a.wg.Go(func() {
		if waitForFile(ctx, file) != nil {
			return
		}
		a.mu.Lock()
		a.tasks = slices.DeleteFunc(a.tasks, func(other actor.Task) bool { return other.ID == t.ID })
		a.mu.Unlock()
		a.notify(t.ID, t.Description)
	})
	return t.ID
}

// notify begins the turn in which the model is told of a finished task.
func (a *agent) notify(id, what string) {
	text := fmt.Sprintf(taskMark+"\n<task-id>%s</task-id>\n<status>completed</status>\n<summary>Background command %q completed</summary>\n</task-notification>", id, what)
	a.enqueue(job{turn: true, run: func(ctx context.Context) { a.turn(ctx, text, notification) }})
}

// sleep waits for d, or less when ctx ends.
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
