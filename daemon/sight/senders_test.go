package sight

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// table is a process table, of processes of this user.
type table struct {
	engine.Processes
	procs *tmuxtest.Processes
}

func (t table) Ancestry(p tmux.Process) []int      { return t.procs.Ancestry(p) }
func (t table) Find(pid int) (tmux.Process, error) { return t.procs.Find(pid) }
func (table) Foreign(tmux.Process) string          { return "" }
func (table) ServerAt(context.Context, string) (tmux.Process, error) {
	return tmux.Process{}, errors.New("none")
}

// TestInside: who counts as an agent's. A person's own tmux server, in which an agent may run as well, counts for nobody.
func TestInside(t *testing.T) {
	t.Parallel()
	procs, environ := tmuxtest.NewProcesses(), map[int][]string{}
	dir, err := data.Open(t.TempDir())
	wardentest.Must(t, err)
	store := memory.New()
	d := testSight(engine.Config{Host: "h", Store: store, Data: dir, Log: slog.New(slog.DiscardHandler), Processes: table{procs: procs},
		Environment: func(pid int) ([]string, error) { return environ[pid], nil }})
	ours, theirs := procs.Start(0, nil), procs.Start(0, nil)
	add := func(id int64, socket string, server tmux.Process, secret string, managed bool) tmux.Process {
		pane, now := "%1", time.Now().UTC()
		a := &daemon.Agent{ID: id, Name: "a", Runtime: "claude", Host: "h", Managed: managed, State: daemon.Idle, Generation: 1, LaunchHash: daemon.LaunchHash(secret),
			AgentSession: daemon.AgentSession{Cwd: "/"}, CreatedAt: now, RegisteredAt: &now, SpawnedAt: &now,
			AgentPane: daemon.AgentPane{Pane: &pane, PaneSocket: socket, PaneServerPID: server.PID}}
		proc := procs.Start(server.PID, nil)
		a.SetProcess(proc)
		wardentest.Must(t, store.Commit(t.Context(), &daemon.Change{NewAgent: a}))
		return proc
	}
	one, two := add(1, dir.TmuxSocket(), ours, "mine", true), add(2, "/person", theirs, "other", false)
	orphan, stranger := procs.Start(0, nil), procs.Start(0, nil)
	environ[orphan.PID], environ[stranger.PID] = []string{"A=B", "UNDERSTUDY_LAUNCH=mine"}, []string{"UNDERSTUDY_LAUNCH=of no agent"}
	for what, tt := range map[string]struct {
		proc   tmux.Process
		agent  int64
		inside bool
	}{
		"an agent":                              {one, 1, true},
		"its child's child":                     {procs.Start(procs.Start(one.PID, nil).PID, nil), 1, true},
		"a child of a person's session":         {procs.Start(two.PID, nil), 2, true},
		"an orphan":                             {orphan, 1, true},
		"a new session in our tmux server":      {procs.Start(ours.PID, nil), 0, true},
		"another window in the person's":        {procs.Start(theirs.PID, nil), 0, false},
		"a process with a secret of no agent's": {stranger, 0, false},
		"a process outside of our namespace":    {tmux.Process{}, 0, false},
	} {
		if agent, inside, err := d.Inside(t.Context(), tt.proc); err != nil || agent != tt.agent || inside != tt.inside {
			t.Errorf("%s: agent %d, inside %t (%v), want %d, %t", what, agent, inside, err, tt.agent, tt.inside)
		}
	}
}
