package sight

import (
	"context"
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
	procs  *tmuxtest.Processes
	server tmux.Process // at our own socket
}

func (t table) Ancestry(p tmux.Process) []int                          { return t.procs.Ancestry(p) }
func (t table) Find(pid int) (tmux.Process, error)                     { return t.procs.Find(pid) }
func (table) Foreign(tmux.Process, bool) string                        { return "" }
func (t table) ServerAt(context.Context, string) (tmux.Process, error) { return t.server, nil }

// TestInside: who counts as an agent's. A person's own tmux server, in which an agent may run as well, counts for nobody.
func TestInside(t *testing.T) {
	t.Parallel()
	procs, environ := tmuxtest.NewProcesses(), map[int][]string{}
	dir := wardentest.Value(data.Open(t.TempDir()))(t)
	store := memory.New()
	ours, theirs := procs.Start(0, nil), procs.Start(0, nil)
	d := testSight(engine.Config{Host: "h", Store: store, Data: dir, Log: slog.New(slog.DiscardHandler), Processes: table{procs: procs, server: ours},
		Environment: func(pid int) ([]string, error) { return environ[pid], nil }})
	add := func(id int64, socket string, server tmux.Process, secret string, state daemon.AgentState) tmux.Process {
		pane, now := "%1", time.Now().UTC()
		a := &daemon.Agent{ID: id, Name: "a", Runtime: "claude", Host: "h", Managed: secret != "", State: state, Generation: 1, LaunchHash: daemon.LaunchHash(secret),
			AgentSession: daemon.AgentSession{Cwd: "/"}, CreatedAt: now, RegisteredAt: &now, SpawnedAt: &now,
			AgentPane: daemon.AgentPane{Pane: &pane, PaneSocket: socket, PaneServerPID: server.PID}}
		if state == daemon.Ended {
			a.EndedAt = &now
		}
		proc := procs.Start(server.PID, nil)
		a.SetProcess(proc)
		wardentest.Must(t, store.Commit(t.Context(), &daemon.Change{NewAgent: a}))
		return proc
	}
	one, two := add(1, dir.TmuxSocket(), ours, "mine", daemon.Idle), add(2, "/person", theirs, "other", daemon.Idle)
	add(3, dir.TmuxSocket(), ours, "over", daemon.Ended)
	alone := func(secret string) tmux.Process {
		p := procs.Start(0, nil)
		environ[p.PID] = []string{"A=B", "UNDERSTUDY_LAUNCH=" + secret}
		return p
	}
	for what, tt := range map[string]struct {
		proc   tmux.Process
		agent  int64
		inside bool
	}{
		"an agent":                              {one, 1, true},
		"its child's child":                     {procs.Start(procs.Start(one.PID, nil).PID, nil), 1, true},
		"a child of a person's session":         {procs.Start(two.PID, nil), 2, true},
		"an orphan":                             {alone("mine"), 0, true},
		"an orphan of an agent that has ended":  {alone("over"), 0, true},
		"a new session in our tmux server":      {procs.Start(ours.PID, nil), 0, true},
		"another window in the person's":        {procs.Start(theirs.PID, nil), 0, false},
		"a process with a secret of no agent's": {alone("of no agent"), 0, false},
		"a process without a secret":            {alone(""), 0, false},
		"a process outside of our namespace":    {tmux.Process{}, 0, false},
	} {
		if agent, inside := d.Inside(t.Context(), tt.proc); agent != tt.agent || inside != tt.inside {
			t.Errorf("%s: agent %d, inside %t, want %d, %t", what, agent, inside, tt.agent, tt.inside)
		}
	}
	if agent, inside := d.Inside(t.Context(), alone("of no agent"), one); agent != 1 || !inside {
		t.Errorf("one of two: agent %d, inside %t", agent, inside)
	}
}
