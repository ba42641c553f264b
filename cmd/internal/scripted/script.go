package scripted

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

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
	Answer func(ctx context.Context, a *Agent, prompt string) (string, error)

	// Stays is called by the keyboard's goroutine for /exit. If it returns true, the session goes on.
	Stays func(a *Agent) bool

	// Ignores is called for a signal that would end the process. If it returns true, the process goes on.
	Ignores func(os.Signal) bool
}

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

// Print adds a block to the conversation on the screen.
func (a *Agent) Print(kind actor.BlockKind, text string) {
	if a.screen != nil {
		a.screen.print(kind, text)
	}
}

// SetContext makes each later answer report a context of n tokens.
func (a *Agent) SetContext(n int) { a.transcript.fix(n) }

// writeFile writes a file, and makes the file's directory if it is missing.
func (a *Agent) writeFile(path, content string) error {
	if err := a.alive.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	defer a.wrote(path)
	return os.WriteFile(path, []byte(content), 0o644)
}
