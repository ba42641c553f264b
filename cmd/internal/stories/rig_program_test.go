package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/cmd/internal/scripted/scriptedtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// program is a process in memory: a scripted agent, or a program that an agent runs.
type program struct {
	tmux.Process
	m    *computer
	pane tmux.PaneInfo // zero: no pane
	dir  string        // where it works
	keys chan []byte
	kill context.CancelFunc
	ctx  context.Context

	ended func(code int) // may be nil

	mu      sync.Mutex
	over    bool
	signals map[os.Signal]chan os.Signal // the signals that arrive on a channel
}

// program makes a process that does not run yet.
func (m *computer) program(parent int) *program {
	p := &program{m: m, keys: make(chan []byte, 1000), signals: map[os.Signal]chan os.Signal{}}
	p.ctx, p.kill = context.WithCancel(context.Background())
	p.Process = m.table.Start(parent, p.signal)
	return p
}

// start runs the process. After the test has ended it starts nothing.
func (p *program) start(run func(ctx context.Context) int) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if p.m.programs == nil {
		p.end(137)
		return
	}
	p.m.programs[p] = true
	p.m.running.Go(func() { p.end(run(p.ctx)) })
}

// end ends the process once.
func (p *program) end(code int) {
	p.mu.Lock()
	over := p.over
	p.over = true
	p.mu.Unlock()
	if over {
		return
	}
	p.kill()
	p.m.table.End(p.Process)
	if p.ended != nil {
		p.ended(code)
	}
}

// signal sends the process a signal.
func (p *program) signal(sig syscall.Signal) {
	p.mu.Lock()
	told := p.signals[sig]
	p.mu.Unlock()
	if told == nil || sig == syscall.SIGKILL {
		p.end(128 + int(sig))
		return
	}
	select {
	case told <- sig:
	default: // The signal is lost if the channel is full, as with os/signal.
	}
}

// notify makes these signals arrive on a channel, in place of ending the process.
func (p *program) notify(sigs ...os.Signal) <-chan os.Signal {
	c := make(chan os.Signal, 8)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range sigs {
		p.signals[s] = c
	}
	return c
}

// launch does what `understudy launch` does in a pane.
func (p *program) launch(ctx context.Context, file string) int {
	b, err := os.ReadFile(file)
	var launch hooks.LaunchFile
	if err == nil {
		err = json.Unmarshal(b, &launch)
	}
	if err != nil {
		p.m.term.SetScreen(p.pane.Ref, "understudy: the agent could not be started: "+err.Error())
		return 127
	}
	if launch.Argv[0] == "opencode" {
		return p.m.opencode.Run(ctx, launch.Argv, launch.Env)
	}
	return scriptedtest.Run(ctx, p.scriptedProcess(launch.Argv, launch.Env, strings.NewReader(""), p, p), launch.Argv[0])
}

// scriptedProcess describes the process to the scripted agent.
func (p *program) scriptedProcess(argv, environ []string, stdin io.Reader, stdout, stderr io.Writer) scripted.Process {
	return scripted.Process{
		Args: argv[1:], Environ: environ, Dir: p.dir, PID: p.PID, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Terminal: p, Signals: p.notify,
		Run: p.run, Wrote: dateFile,
	}
}

// letAMomentPass lets a moment pass, because real work takes time. Without it hooks in the spool would have equal
// times and no order.
func letAMomentPass() { <-time.After(time.Millisecond) }

// dateFile sets a file's times to the bubble's time.
func dateFile(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it may be gone
}

// Open gives the program the keys of its pane.
func (p *program) Open() (<-chan []byte, error) { return p.keys, nil }

// Write shows in the pane what the program prints before it opens the terminal.
func (p *program) Write(b []byte) (int, error) {
	p.m.term.SetScreen(p.pane.Ref, string(b))
	return len(b), nil
}

// Size is that of the pane.
func (p *program) Size() (width, height int) { return p.pane.Width, p.pane.Height }

// Suspend does nothing: nobody can stop a process in memory.
func (p *program) Suspend() {}

// Close leaves the screen as it is.
func (p *program) Close() {}

// Draw shows a frame in the pane.
func (p *program) Draw(f scripted.Frame) {
	rows := f.Rows()
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ") // as tmux reports them
	}
	p.m.term.SetScreen(p.pane.Ref, strings.Join(rows, "\n"))
	p.m.term.Update(p.pane.Ref, func(info *tmux.PaneInfo) { info.Title = f.Title })
}

// version is what the runtime prints for --version.
func (m *computer) version(ctx context.Context, command []string) string {
	res, err := m.oneShot(ctx, engine.OneShot{Argv: append(slices.Clone(command), "--version")})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(res.Stdout))
}

// oneShot runs a scripted agent to its end, as the daemon's one-shots are run.
func (m *computer) oneShot(ctx context.Context, job engine.OneShot) (engine.OneShotResult, error) {
	var stdout, stderr bytes.Buffer
	p := m.program(os.Getpid())
	p.dir = job.Dir
	defer p.signal(syscall.SIGKILL) // the processes that it has left
	code := make(chan int, 1)
	p.start(func(ctx context.Context) int {
		status := scriptedtest.Run(ctx, p.scriptedProcess(job.Argv, job.Env, bytes.NewReader(job.Stdin), &stdout, &stderr), job.Argv[0])
		code <- status
		return status
	})
	select {
	case status := <-code:
		return engine.OneShotResult{Stdout: stdout.Bytes(), Stderr: stderr.String(), Exit: status}, nil
	case <-ctx.Done():
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-code:
	case <-time.After(child.EndGrace):
	}
	return engine.OneShotResult{}, context.Cause(ctx)
}

// run carries out a command for the process: one of understudy's, or another scripted agent.
func (p *program) run(ctx context.Context, c scripted.Command) scripted.Result {
	if c.Argv[0] == "claude" {
		res, err := p.m.oneShot(ctx, engine.OneShot{Argv: c.Argv, Env: c.Environ, Dir: p.dir, Stdin: c.Stdin})
		return scripted.Result{Stdout: res.Stdout, Stderr: []byte(res.Stderr), Code: res.Exit, Err: err}
	}
	words := c.Argv
	if words[0] == "sh" { // as in sh -c "understudy hook Stop"
		words = strings.Fields(words[len(words)-1])
	}
	switch {
	case len(words) >= 3 && words[1] == "hook":
		return p.runHook(ctx, words[2], slices.Contains(words, "--holds"), c.Environ, c.Stdin)
	case len(words) == 2 && words[1] == "statusline":
		return p.runStatusLine(ctx, c.Environ, c.Stdin)
	}
	return scripted.Result{Code: 127, Err: fmt.Errorf("nobody knows how to run %q", c.Argv)}
}

// runHook does what `understudy hook` does: it hands the payload to the daemon and prints the answer, or puts the
// payload into the spool.
func (p *program) runHook(ctx context.Context, event string, holds bool, env []string, payload []byte) scripted.Result {
	switch {
	case child.Getenv(env, "UNDERSTUDY_ONESHOT") == "":
	case event == hooks.PreToolUse:
		return scripted.Result{Stdout: []byte(hooks.DenyTool)}
	default:
		return scripted.Result{}
	}
	letAMomentPass()
	at := time.Now()
	e := hooks.Envelope{Key: hooks.NewKey(at), Event: event, At: at.UTC(), Launch: child.Getenv(env, "UNDERSTUDY_LAUNCH"), Boot: boot, Holds: holds, Body: payload}
	e.AgentPID, _ = strconv.Atoi(child.Getenv(env, "CLAUDE_PID")) // If it is missing, the daemon says so.
	if of, err := p.m.table.Find(e.AgentPID); err == nil {
		e.AgentStart = of.Start
	}
	sender := p.m.program(p.PID)
	answer := make(chan scripted.Result, 1)
	var heldFor atomic.Int64
	sender.start(func(life context.Context) int { // The hook outlives the agent.
		answer <- p.m.send(life, sender, e, heldFor.Store)
		return 0
	})
	select {
	case res := <-answer:
		return res
	case <-ctx.Done():
	}
	if p.ctx.Err() == nil { // Only the hook is ended, not the process.
		if id := heldFor.Load(); id != 0 && event == hooks.UserPromptSubmit {
			p.m.send(p.ctx, p.m.program(p.PID), hooks.Interrupted(e, id, time.Now()), nil)
		}
		sender.kill()
	}
	return scripted.Result{Code: -1, Err: context.Cause(ctx)}
}

// send gives a hook to the daemon, or puts it into the spool. It asks again while no daemon answers and an earlier one has
// called held.
func (m *computer) send(ctx context.Context, sender *program, e hooks.Envelope, held func(handoff int64)) scripted.Result {
	holding := false
	said, err := m.handleHeldHook(ctx, sender, e, func(id int64) { holding = true; held(id) })
	for holding && ctx.Err() == nil && kindOf(err) == daemon.KindUnavailable {
		<-time.After(200 * time.Millisecond)
		said, err = m.handleHeldHook(ctx, sender, e, held)
	}
	if holding && err != nil {
		return scripted.Result{Code: -1, Err: err}
	}
	told, _ := errors.AsType[*daemon.Error](err)
	switch {
	case err == nil:
		return scripted.Result{Stdout: said}
	case told != nil && !slices.Contains([]daemon.Kind{daemon.KindUnavailable, daemon.KindInternal, daemon.KindUnauthorized, daemon.KindNotFound}, told.Kind):
		return scripted.Result{Stderr: []byte("understudy: " + told.Error())}
	}
	if err := hooks.OpenSpool(m.dir.Spool()).Put(e); err != nil {
		return scripted.Result{Stderr: []byte("understudy: " + err.Error())}
	}
	return scripted.Result{}
}

// kindOf returns the kind of a daemon's error; it is KindUnavailable for any other error.
func kindOf(err error) daemon.Kind {
	if told, ok := errors.AsType[*daemon.Error](err); ok || err == nil {
		if told == nil {
			return 0
		}
		return told.Kind
	}
	return daemon.KindUnavailable
}

// peer is what the daemon learns of the process from its end of the socket.
func (p *program) peer() *tmux.Peer { return &tmux.Peer{Process: p.Process, UID: os.Geteuid()} }

// runStatusLine does what `understudy statusline` does.
func (p *program) runStatusLine(ctx context.Context, env []string, status []byte) scripted.Result {
	var stdout, stderr bytes.Buffer
	code := inside.StatusLine(ctx, p.m.tell, env, bytes.NewReader(status), &stdout, &stderr)
	return scripted.Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Code: code}
}

// tell is [hooks.Tell].
func (m *computer) tell(ctx context.Context, _, launch, path string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Understudy-Launch", launch)
	_, err = m.call(req, func(up *servingHere) http.Handler { return up.hooks })
	return err
}
