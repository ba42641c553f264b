package sight

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// takenPort is a server whose port somebody else has taken.
type takenPort struct {
	engine.Control
	looks chan<- struct{}
}

func (c takenPort) Follow(context.Context, func(runtimes.Report) error) error {
	c.looks <- struct{}{}
	return fmt.Errorf("127.0.0.1:1: %w", engine.ErrStranger)
}

// TestAStrangerAtAnAgentsPortIsToldOnce: the daemon goes on looking, and the operator hears of it.
func TestAStrangerAtAnAgentsPortIsToldOnce(t *testing.T) {
	t.Parallel()
	dir, err := data.Open(t.TempDir())
	wardentest.Must(t, err)
	wardentest.Must(t, os.MkdirAll(dir.Launch(1), 0o700))
	wardentest.Must(t, os.WriteFile(filepath.Join(dir.Launch(1), ServerFile), []byte(`{"port": 1}`), 0o600))
	synctest.Test(t, func(t *testing.T) {
		looks := make(chan struct{})
		procs, store := tmuxtest.NewProcesses(), memory.New()
		d := testSight(engine.Config{Host: "h", Store: store, Data: dir, Log: slog.New(slog.DiscardHandler), Processes: table{procs: procs},
			Control: func(engine.Link) (engine.Control, error) { return takenPort{looks: looks}, nil }})
		a := &daemon.Agent{ID: 1, Name: "a", Runtime: "opencode", Host: "h", State: daemon.Starting, Generation: 1, AgentSession: daemon.AgentSession{Cwd: "/"}}
		a.SetProcess(procs.Start(0, nil))
		wardentest.Must(t, store.Commit(t.Context(), &daemon.Change{NewAgent: a}))
		ctx, stop := context.WithCancel(t.Context())
		go d.Lanes.Run(ctx)
		synctest.Wait()
		d.Follow(ctx, a)
		for range 3 {
			<-looks
		}
		stop()
		procs.End(tmux.Process{PID: a.PID})
		synctest.Wait()
		told, err := store.Events(t.Context(), event.Filter{})
		if err != nil || len(told) != 1 || told[0].Type != event.AgentServerTaken || !told[0].Alert {
			t.Errorf("told %+v (%v)", told, err)
		}
	})
}
