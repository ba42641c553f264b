package handoffs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TestForksAreBounded: at most maxForks sessions are forked at once. A handoff that finds no place waits and says so.
func TestForksAreBounded(t *testing.T) {
	t.Parallel()
	d := testFlow(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)})
	begin := func(agentID int64) (outcome, *daemon.Handoff) {
		h := &daemon.Handoff{ID: agentID, Phase: daemon.Generating, PhaseAt: time.Now()}
		a := &daemon.Agent{ID: agentID, State: daemon.Idle, RegisteredAt: new(time.Now())}
		r := &handoffRun{d: d, ctx: t.Context(), now: time.Now(), h: h, agent: a, settings: daemon.DefaultHandoff}
		return r.beginFork(), h
	}
	for id := range int64(maxForks) {
		if out, h := begin(id); !out.wrote || h.ForkedAt == nil {
			t.Errorf("session %d was not forked: %+v", id, out)
		}
	}
	if out, _ := begin(0); !out.wrote {
		t.Errorf("an agent with a place does not keep it: %+v", out)
	}
	if out, h := begin(99); h.ForkedAt != nil || out.hold.Kind != daemon.HoldForks || out.again <= 0 {
		t.Errorf("one more was forked, or does not say why it waits: %+v", out)
	}
	d.EndFork(2)
	if out, h := begin(99); !out.wrote || h.ForkedAt == nil {
		t.Errorf("a place that is free again was not taken: %+v", out)
	}
}

// TestForkThatHasEndedGivesItsPlaceBack, also before its answer is read.
func TestForkThatHasEndedGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testFlow(engine.Config{Host: "h", Binary: "/bin/understudy", Settings: engine.Settings{Runtimes: map[string][]string{"claude": {"claude"}}}, Log: slog.New(slog.DiscardHandler)})
		d.OneShot = func(context.Context, engine.OneShot) (engine.OneShotResult, error) {
			return engine.OneShotResult{}, errors.New("it broke")
		}
		ctx, stop := context.WithCancel(t.Context())
		d.Lanes = lane.New(func(context.Context, lane.Key) time.Duration { return 0 })
		go d.Lanes.Run(ctx)
		synctest.Wait()
		session := "00000000-0000-4000-8000-000000000001"
		a := &daemon.Agent{ID: 1, Runtime: "claude", AgentSession: daemon.AgentSession{SessionID: &session}}
		f := value(d.forkOf(ctx, &daemon.Handoff{ID: 2, ForkedAt: new(time.Now())}, a, time.Minute))(t)
		<-f.done
		equal(t, "places taken", len(d.ForkedAgents()), 0)
		stop()
		synctest.Wait()
	})
}

// TestAssembliesAreBounded: at most maxAssemblies run at once. The time limit of one that waits begins when it begins.
func TestAssembliesAreBounded(t *testing.T) {
	t.Parallel()
	transcript := transcripttest.File(t, transcripttest.User("hello"))
	synctest.Test(t, func(t *testing.T) {
		r := assembler(t, lineStore{}, transcript)
		r.d.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) { return worktree.Tree{}, worktree.ErrNone }
		for range maxAssemblies {
			r.d.assemblies <- struct{}{}
		}
		done := make(chan error, 1)
		go func() {
			_, err := r.assemble(goodDocument)
			done <- err
		}()
		time.Sleep(10 * r.settings.AssemblyTimeout)
		select {
		case err := <-done:
			t.Fatalf("it did not wait for its turn: %v", err)
		default:
		}
		<-r.d.assemblies
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
