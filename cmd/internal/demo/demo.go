// Package demo shows a newcomer the main job of understudy. It runs a daemon on a throw-away data directory, lets
// scripted agents hand work over, and prints each phase as it ends. The daemon runs in one goroutine, the story in
// another. A demo that ends removes everything that it made. If the demo is killed, its warden removes everything.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/doctor"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/words"
)

const demoPersona = "developer-con-1"

// Command returns the command `understudy demo`.
func Command(a *cli.App) *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a handoff from start to end, on a throw-away data directory",
		Long: `Watch a handoff from start to end: a daemon with its own PostgreSQL and tmux server, an agent that
plays a persona and has done some work, its handoff document, and the successor that goes on from
there. At the end the demo stops and removes everything.

With --pipeline the demo shows a pipeline: two personas work on one request, one after the other,
with an approval in between. Then it prints what the second one was told.

With --runtimes one piece of work goes from CLI to CLI and back. Then the demo prints what
understudy can do with each of the CLIs, and how to start a real one.

The agents are scripted: they behave towards tmux, hooks and files as Claude Code does, without a
model behind them. If tmux or PostgreSQL is missing on the machine, the demo offers to install it.`,
		Example: `  understudy demo
  understudy demo --pipeline
  understudy demo --runtimes
  understudy demo --yes | cat           # in a script: install what is missing, plain lines
  understudy demo --keep                # leave it running, to look around
  understudy demo --agent claude        # with the real CLI, which costs tokens`,
		RunE: func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), a, f) },
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "install what is missing without asking")
	c.Flags().BoolVar(&f.keep, "keep", false, "leave daemon and agents running until Ctrl-C")
	c.Flags().BoolVar(&f.pipeline, "pipeline", false, "show a pipeline, from the request to its end")
	c.Flags().BoolVar(&f.runtimes, "runtimes", false, "show work that goes from CLI to CLI, and what each CLI can do")
	c.Flags().StringVar(&f.agent, "agent", "scripted", "`kind` of agents: scripted or claude")
	c.MarkFlagsMutuallyExclusive("pipeline", "runtimes")
	cli.CompleteFlag(c, "agent", cli.OneOf("scripted", "claude"))
	return c
}

type demoFlags struct {
	yes, keep, pipeline, runtimes bool
	agent                         string
}

// demo is one run of the demo.
type demo struct {
	*show.Watcher
	app    *cli.App
	flags  demoFlags
	plot   *plot
	found  []doctor.Finding
	place  *demoPlace
	client *api.Client
	log    warnings
	stop   context.CancelFunc // stops the daemon
	done   chan struct{}      // closed when the daemon has ended
}

func runDemo(ctx context.Context, a *cli.App, f demoFlags) (err error) {
	if f.runtimes && f.agent != "scripted" {
		return cli.Usagef("--runtimes is played by scripted agents alone: leave --agent away")
	}
	command, err := demoAgent(f.agent)
	if err != nil {
		return err
	}
	found, err := doctor.Require(ctx, a, f.yes)
	if err != nil {
		return err
	}
	// Take SIGPIPE: if the reader of stdout leaves, a write then fails. Otherwise SIGPIPE would kill the demo before it
	// could clean up.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	began := time.Now()
	d := &demo{app: a, flags: f, plot: f.plot(), found: found, Watcher: show.NewWatcher(a.UI(a.Stdout))}
	if d.place, err = newDemoPlace(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	d.Printf("%s in %s\n", d.Bold(d.plot.about), d.place.top)
	err = d.play(ctx, command, began)
	d.Clear()
	switch {
	case ctx.Err() != nil && err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted; what the demo had made is removed")
	case err != nil:
		d.log.print(a.Stderr)
	}
	return err
}

// demoAgent returns the command of the demo's agents. For scripted agents it returns nil, because place.fill makes their
// binary later.
func demoAgent(kind string) ([]string, error) {
	switch kind {
	case "scripted":
		return nil, nil
	case "claude":
		if _, err := exec.LookPath("claude"); err != nil {
			return nil, errors.New("claude is not in PATH: install Claude Code, or leave --agent away")
		}
		return []string{"claude"}, nil
	}
	return nil, cli.Usagef("agent %q is not known: it must be scripted or claude", kind)
}

// play runs the daemon and the story. If the daemon ends first, it returns the daemon's error.
func (d *demo) play(ctx context.Context, command []string, began time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := d.serve(ctx, cancel, command); err != nil {
		return err
	}
	err := d.plot.tell(d, ctx)
	if err == nil {
		d.Printf("\n%s\n", d.Bold("The whole demo took "+words.Took(time.Since(began))))
		d.next()
	}
	if d.flags.keep && ctx.Err() == nil {
		return d.keep(ctx, err)
	}
	return err
}

// keep leaves everything running until a person presses Ctrl-C, also after a failure.
func (d *demo) keep(ctx context.Context, failure error) error {
	d.Clear()
	if failure != nil {
		d.Printf("\n%s %s\n", d.Red("failed:"), cli.Sentence(failure))
	}
	d.Printf("\nStill running, until Ctrl-C. From another shell:\n")
	for _, command := range d.plot.kept {
		d.Printf("  %s %s --data %s\n", d.place.binary, command, proc.ShellQuote(d.place.data))
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); failure == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return failure
}

// serve starts the daemon. While the daemon starts its PostgreSQL, serve fills the folder with the agents' program and
// project.
func (d *demo) serve(ctx context.Context, cancel context.CancelCauseFunc, command []string) error {
	began := time.Now()
	d.Start("daemon", began)
	s := serve.DefaultSettings()
	s.Listen, s.Notify.Desktop = "none", false
	environ := os.Environ()
	if command == nil {
		command = []string{d.place.binary, "scripted-agent", "--report"}
		environ = append(environ, "CLAUDE_CONFIG_DIR="+d.place.claude)
	}
	if d.flags.pipeline {
		if err := d.place.addTemplate(); err != nil {
			return err
		}
	}
	s.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: command}}
	var around func(engine.Config) engine.Config
	if d.flags.runtimes {
		s.Runtimes, around = playAll(command)
	}
	own, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	hook, _ := proc.FindHookProgram(own) // without a hook program, as under `go run`, the agents run this program
	// Let the daemon outlive an interrupted story, because remove stops the daemon in order.
	serveCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ready := make(chan string, 1)
	d.stop, d.done = stop, make(chan struct{})
	go func() {
		defer close(d.done)
		err := serve.Run(serveCtx, serve.Config{
			Root: d.place.data, Settings: s, Environ: environ, Getenv: d.app.Getenv, Binary: d.place.binary, HookBinary: hook, NoSync: true,
			Log:    slog.New(slog.NewTextHandler(&d.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Ready:  func(up *serve.Serving) { ready <- up.Data.Socket() },
			Around: around,
		})
		if err == nil {
			err = errors.New("the daemon has stopped")
		}
		cancel(err)
	}()
	if err := d.place.fill(); err != nil {
		return err
	}
	redraw := time.NewTicker(100 * time.Millisecond)
	defer redraw.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-redraw.C:
			d.Draw()
		case socket := <-ready:
			d.client = api.NewClient(socket)
			d.ended("daemon", began, d.versions())
			return nil
		}
	}
}

// ended prints a step of the demo that is not a phase of a handoff.
func (d *demo) ended(label string, began time.Time, detail string) {
	d.Watcher.Done(label, time.Since(began), detail)
}

// versions names the programs that the daemon uses, with their versions.
func (d *demo) versions() string {
	var out []string
	for _, f := range d.found {
		version, _, _ := strings.Cut(strings.TrimPrefix(f.Detail, "version "), " in ")
		out = append(out, f.Name+" "+version)
	}
	return strings.Join(out, ", ")
}

// startAgent starts the agent and waits until the agent has done its first prompt, so that there is work to hand over.
func (d *demo) startAgent(ctx context.Context, in agents.NewAgent) (daemon.Agent, error) {
	began := time.Now()
	in.Persona, in.Cwd = demoPersona, d.place.project
	agent, err := d.client.CreateAgent(ctx, in)
	if err != nil {
		return agent, err
	}
	label := fmt.Sprintf("agent %d", agent.ID)
	d.Start(label, began)
	agent, err = d.awaitAgent(ctx, agent.ID, func(g *daemon.Agent) bool { return g.RegisteredAt != nil && g.HasPane() })
	if err != nil {
		return agent, err
	}
	d.ended(label, began, fmt.Sprintf("plays %s in pane %s", demoPersona, *agent.Pane))
	began = time.Now()
	d.Start("first prompt", began)
	agent, err = d.awaitTurn(ctx, agent.ID)
	if err == nil {
		d.ended("first prompt", began, "so that there is something to hand over")
	}
	return agent, err
}

// awaitAgent waits until ready returns true for an agent. Meanwhile it shows what the agent waits for.
func (d *demo) awaitAgent(ctx context.Context, id int64, ready func(*daemon.Agent) bool) (daemon.Agent, error) {
	var agent daemon.Agent
	err := show.Await(ctx, d.client, func(bool) { d.Draw() }, func(ctx context.Context) (bool, error) {
		var err error
		if agent, err = d.client.Agent(ctx, id); err != nil {
			return false, err
		}
		if !agent.Active() {
			return false, fmt.Errorf("agent %d has ended: %s", id, show.EndWords(agent.EndReason))
		}
		d.Wait(d.asks(&agent))
		return ready(&agent), nil
	})
	return agent, err
}

// asks says what an agent waits for and where a person answers it. It returns "" if the agent waits for nothing.
func (d *demo) asks(g *daemon.Agent) string {
	if g.State != daemon.Waiting && (g.State != daemon.Starting || g.Hold == nil) {
		return ""
	}
	return fmt.Sprintf("%s; look at it from another shell: `understudy agent attach %d --data %s`", cmp.Or(g.Note, "it asks something"), g.ID, proc.ShellQuote(d.place.data))
}

// awaitTurn waits until an agent has taken the text that was last typed to it, and is idle after that.
func (d *demo) awaitTurn(ctx context.Context, id int64) (daemon.Agent, error) {
	taken := false
	return d.awaitAgent(ctx, id, func(g *daemon.Agent) bool {
		if !taken {
			list, err := d.client.Messages(ctx, id, api.ListOptions{Limit: 1})
			taken = err == nil && len(list) == 1 && !list[0].Open()
			return false // look at the agent again, because its state must be newer than the verdict
		}
		return g.State == daemon.Idle
	})
}

// remove stops the daemon, ends the agents with their tmux server, and removes the folder.
func (d *demo) remove() error {
	d.Clear()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if d.client != nil {
		d.client.Close()
	}
	if d.stop != nil {
		d.stop()
		<-d.done
	}
	return errors.Join(EndAgents(ctx, d.place.tmuxSocket()), d.place.remove())
}

// warnings keeps the daemon's log. The demo prints it if it fails.
type warnings struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.b.Len() < 64<<10 {
		w.b.Write(p)
	}
	return len(p), nil
}

func (w *warnings) print(to io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.b.Len() > 0 {
		fmt.Fprintf(to, "The daemon's log:\n%s", w.b.String())
	}
}
