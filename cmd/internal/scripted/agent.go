package scripted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/daemon/actor"
)

// Agent is one running scripted agent.
type Agent struct {
	Process
	Memory actor.Memory // what the brain knows about its session; only the worker uses it

	script     Script
	alive      context.Context // ends together with the process
	kill       func()          // ends alive, and so all work of the agent
	opt        Options
	configDir  string
	settings   settings
	screen     *screen  // nil in print mode
	printer    *printer // nil unless in print mode
	registry   *registry
	transcript transcript
	statusLine statusLine
	life       context.Context // ends with the session

	// Requests of other goroutines to the loop.
	quits    chan quit
	giveBack chan string // refused prompts, which return to the composer
	wake     chan struct{}

	mu        sync.Mutex // guards the fields below, except wg
	sessionID string
	promptID  string
	ready     bool // the hooks of SessionStart have ended
	jobs      []job
	turns     int                // the number of turns that wait or run
	interrupt context.CancelFunc // interrupts the running turn; nil if none runs
	dialog    *dialog
	wg        sync.WaitGroup
}

// quit ends the process. reason is the reason that SessionEnd gives. With the reason "" the agent crashes: it sends no
// hook and cleans up nothing.
type quit struct {
	code   int
	reason string
}

// job is one task for the worker. If it is a turn, Esc interrupts it.
type job struct {
	turn bool
	run  func(context.Context)
}

// main runs the agent and returns its exit status.
func (a *Agent) main() int {
	complain := func(err error) int {
		fmt.Fprintf(a.Stderr, "error: %v\n", err)
		return 1
	}
	opt, err := parseOptions(a.Args)
	if err != nil {
		return complain(err)
	}
	if opt.version {
		fmt.Fprintf(a.Stdout, "%s (scripted agent)\n", Version)
		return 0
	}
	err = a.prepare(opt)
	var missing errNoConversation
	if opt.Print && errors.As(err, &missing) {
		return printMissing(opt, missing, a.Stdout, a.Stderr)
	}
	if err != nil {
		return complain(err)
	}
	if opt.Print {
		return printAnswer(a)
	}
	code, err := a.run()
	if err != nil {
		return complain(err)
	}
	return code
}

// prepare finds the directories and the settings, and chooses the session.
func (a *Agent) prepare(opt Options) (err error) {
	if prepare := a.script.Prepare; prepare != nil {
		if err := prepare(&opt); err != nil {
			return err
		}
	}
	a.opt, a.life = opt, a.alive
	a.quits, a.giveBack, a.wake = make(chan quit, 4), make(chan string, 16), make(chan struct{}, 1)
	if a.Dir, err = filepath.EvalSymlinks(a.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	a.configDir = configDir(a.Environ)
	if a.settings, err = loadSettings(opt.Settings, a.configDir, a.Dir); err != nil {
		return err
	}
	if err := a.chooseSession(); err != nil {
		return err
	}
	a.registry = newRegistry(a)
	return nil
}

// configDir returns the directory in which Claude Code keeps its state.
func configDir(environ []string) string {
	if dir := child.Getenv(environ, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(cmp.Or(child.Getenv(environ, "HOME"), child.Getenv(environ, "TMPDIR"), os.TempDir()), ".claude")
}

// chooseSession sets the session id. It is a new one, the one that the command line names, or that of the session to
// resume.
func (a *Agent) chooseSession() error {
	a.sessionID = uuid.NewString()
	if id := a.opt.sessionID; id != "" {
		if _, err := os.Stat(transcriptPath(a, id)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("session ID %s is already in use", id)
		}
		a.sessionID = id
	}
	if id := a.opt.resume; id != "" {
		path := transcriptPath(a, id)
		if a.opt.Print {
			path = findTranscript(a, id)
		}
		past, err := recall(a, path)
		if err != nil {
			return errNoConversation(id)
		}
		a.Memory = past.memory
		if a.opt.Print { // recorded with the session
			a.opt.model, a.opt.Name = cmp.Or(past.model, a.opt.model), cmp.Or(a.opt.Name, past.name)
		}
		if !a.opt.fork {
			a.sessionID = strings.TrimSuffix(filepath.Base(id), ".jsonl")
		}
	}
	return nil
}

// errNoConversation means that --resume names a session that does not exist. It holds the id of that session.
type errNoConversation string

func (e errNoConversation) Error() string {
	return "no conversation found with session ID: " + string(e)
}

// ids returns the id of the session and the id of the newest prompt. Before the first prompt, the second is "".
func (a *Agent) ids() (session, prompt string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessionID, a.promptID
}

func (a *Agent) newPromptID() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.promptID = uuid.NewString()
}

// status changes the registry file, and returns the status that the file had before.
func (a *Agent) status(change func(*registryEntry)) (before string) {
	id, _ := a.ids()
	a.registry.set(func(e *registryEntry) {
		before = e.Status
		e.SessionID = id
		change(e)
	})
	return before
}

// settle writes the status after a job. The status is idle, unless more turns wait.
func (a *Agent) settle() {
	status := "idle"
	if a.busy() {
		status = "busy"
	}
	a.status(func(e *registryEntry) { e.Status, e.WaitingFor = status, "" })
}

// stop asks the loop to end the process. The first request decides the exit status.
func (a *Agent) stop(q quit) {
	select {
	case a.quits <- q:
	default: // the process is ending already
	}
}

func (a *Agent) enqueue(j job) {
	a.mu.Lock()
	a.jobs = append(a.jobs, j)
	if j.turn {
		a.turns++
	}
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// work runs jobs in order until ctx ends.
func (a *Agent) work(ctx context.Context) {
	for ctx.Err() == nil {
		a.mu.Lock()
		if len(a.jobs) == 0 {
			a.mu.Unlock()
			select {
			case <-a.wake:
			case <-ctx.Done():
			}
			continue
		}
		next := a.jobs[0]
		a.jobs = a.jobs[1:]
		jobCtx, cancel := context.WithCancel(ctx)
		if next.turn {
			a.interrupt = cancel
		}
		a.mu.Unlock()

		next.run(jobCtx)
		cancel()

		a.mu.Lock()
		a.interrupt = nil
		if next.turn {
			a.turns--
		}
		ready := a.ready
		a.mu.Unlock()
		if ready && ctx.Err() == nil {
			a.refreshStatus()
			a.settle()
		}
	}
}

// busy reports whether a turn runs or waits.
func (a *Agent) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ready && a.turns > 0
}

// interruptTurn ends the running turn without a hook, as Esc does. It returns false if no turn runs.
func (a *Agent) interruptTurn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.interrupt == nil {
		return false
	}
	a.interrupt()
	return true
}
