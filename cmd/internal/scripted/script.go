package scripted

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// Script replaces parts of an agent's behaviour. Tests write scripts. The demo's agents have the zero Script, which
// replaces nothing, because each function may be nil. The session's worker calls these functions one after the other,
// unless the function's comment names another caller. A script may also replace parts of the agent's [Process].
type Script struct {
	// Prepare is called once, before all other functions, and may change the options. If it returns an error, the agent
	// prints the error and ends with status 1.
	Prepare func(*Options) error

	// Welcome is called before the composer is shown and SessionStart is sent. If it returns false, the process ends
	// with status 1.
	Welcome func(ctx context.Context, a *Agent) bool

	// Recall is called for each prompt in the transcript of a session that the agent resumes. It may add the prompt to the
	// memory. If it returns false, the agent adds the prompt to the memory in its usual way.
	Recall func(m *actor.Memory, prompt string) bool

	// Begin is called at the beginning of a turn, before UserPromptSubmit is sent. It is called again each time when a
	// Stop hook makes the turn go on.
	Begin func(a *Agent)

	// Answer answers a prompt, and takes the time that the model would take. [Agent.Reply] returns the answer that the
	// agent gives without a script. ctx ends when a person interrupts the turn. An error is the context's or an
	// *APIError.
	Answer func(ctx context.Context, a *Agent, prompt string) (Answer, error)

	// Deliver writes the handoff document that a prompt asks for.
	Deliver func(ctx context.Context, a *Agent, path, content string) error

	// Tasks returns the commands that run in the background. Any goroutine may call it.
	Tasks func() []actor.Task

	// Swallow is called by the keyboard's goroutine for the first Enter after a paste. If it returns true, the composer
	// ignores that Enter.
	Swallow func() bool

	// Exit is called by the keyboard's goroutine for /exit. When Exit calls leave, the session ends.
	Exit func(a *Agent, leave func())

	// Ignores is called for a signal that would end the process. If it returns true, the process goes on.
	Ignores func(os.Signal) bool

	// Linger is called after SessionEnd has been sent. When it returns, the process ends. signals gets the signals that
	// the process gets during the call.
	Linger func(ctx context.Context, signals <-chan os.Signal)
}

// Answer is the agent's answer to a prompt.
type Answer struct {
	Blocks []string      // of text; the Stop hook gets only the last one
	Late   time.Duration // the time by which the transcript gets the answer later than the screen
}

func (r Answer) empty() bool { return strings.TrimSpace(strings.Join(r.Blocks, "")) == "" }

func (r Answer) last() string { return r.Blocks[len(r.Blocks)-1] }

// APIError means that the API refuses a request.
type APIError struct {
	Kind    string // as in the StopFailure hook
	Status  int
	Message string
}

func (e *APIError) Error() string { return e.Message }

func (a *Agent) begin() {
	if a.script.Begin != nil {
		a.script.Begin(a)
	}
}

// ends reports whether a signal ends the process.
func (a *Agent) ends(sig os.Signal) bool {
	return sig != syscall.SIGWINCH && (a.script.Ignores == nil || !a.script.Ignores(sig))
}

func (a *Agent) tasks() []actor.Task {
	if a.script.Tasks == nil {
		return nil
	}
	return a.script.Tasks()
}

// Print adds a block to the conversation on the screen.
func (a *Agent) Print(kind actor.BlockKind, text string) {
	if a.screen != nil {
		a.screen.print(kind, text)
	}
}

// Go runs f in a goroutine of the session. ctx ends with the session, and the process waits for f.
func (a *Agent) Go(f func(ctx context.Context)) { a.wg.Go(func() { f(a.life) }) }

// Crash ends the process with status 1. The agent sends no hook and cleans up no file. Crash returns when ctx has ended.
func (a *Agent) Crash(ctx context.Context) {
	a.stop(quit{code: 1})
	<-ctx.Done()
}

// Notify begins a turn with a prompt that nobody typed.
func (a *Agent) Notify(prompt string) {
	a.enqueue(job{turn: true, run: func(ctx context.Context) { a.turn(ctx, prompt, notification) }})
}

// resumed is the prompt with which Claude Code goes on by itself after a usage limit.
const resumed = "Your claude.ai usage limit has reset. Continue the task you were working on when the limit was reached; do not repeat work that is already complete."

// ResumeAfterLimit begins a turn after a usage limit, as Claude Code does by itself.
func (a *Agent) ResumeAfterLimit(ctx context.Context) {
	a.hook(ctx, "Notification", "quota_auto_resume_fired", a.hooks().QuotaResumed())
	a.Notify(resumed)
}

// SetContext makes each later answer report a context of n tokens, until the next compaction or /clear.
func (a *Agent) SetContext(n int) { a.transcript.fix(n) }

// Path returns the path of a file that a prompt names. A relative name is relative to the working directory.
func (a *Agent) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.dir(), name)
}

// WriteFile writes a file, and makes the file's directory if it is missing.
func (a *Agent) WriteFile(path, content string) error {
	if err := a.alive.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	defer a.wrote(path)
	return os.WriteFile(path, []byte(content), 0o644)
}
