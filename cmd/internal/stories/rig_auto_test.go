package stories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/hooks"
)

// Helpers for the stories of mode generate and of the context meter.

// countLooks counts how often the daemon has looked at everything that is due for an agent. It counts the last look,
// at the open deliveries.
func countLooks(r *rig) *atomic.Int64 {
	var n atomic.Int64
	r.around(func(cfg *engine.Config) {
		cfg.Store = &lookedAt{Store: cfg.Store, n: &n}
	})
	return &n
}

type lookedAt struct {
	daemon.Store
	n *atomic.Int64
}

func (s *lookedAt) OpenDeliveries(ctx context.Context, agentID int64) ([]daemon.Delivery, error) {
	defer s.n.Add(1)
	return s.Store.OpenDeliveries(ctx, agentID)
}

// recordForkPIDs makes forks that hang write their process ids into the returned file.
func recordForkPIDs(r *rig) (file string) {
	file = filepath.Join(filepath.Dir(r.root), "fork.pid")
	r.cfg.Environ = append(r.cfg.Environ, "SCRIPTED_AGENT_PIDFILE="+file)
	return file
}

// awaitFork waits until a fork hangs. It returns the ids of its process and of the processes that it started.
func awaitFork(r *rig, file string) (pids []int) {
	r.t.Helper()
	r.await("a fork that runs", func() (bool, string) {
		b, err := os.ReadFile(file)
		return err == nil, fmt.Sprint(string(b), err)
	})
	for line := range strings.Lines(r.readFile(file)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil || pid < 2 {
			r.t.Fatalf("process ids %q", r.readFile(file))
		}
		pids = append(pids, pid)
	}
	must(r.t, os.Remove(file))
	return pids
}

// wantEndedWithin fails unless all processes end within the limit.
func wantEndedWithin(r *rig, limit time.Duration, pids ...int) {
	r.t.Helper()
	asked := time.Now()
	for _, pid := range pids {
		r.await(fmt.Sprintf("end of process %d", pid), func() (bool, string) { return !alive(pid), "it runs" })
	}
	if took := time.Since(asked); took > limit {
		r.t.Errorf("processes %v ended after %s, want at most %s", pids, took, limit)
	}
}

// requestGenerate requests a handoff in mode generate.
func requestGenerate(r *rig, agentID int64, focus string) int64 {
	r.t.Helper()
	return r.requestHandoffAs(agentID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate, Focus: focus})
}

// awaitGenerationFailure waits until the generation fails. It checks the contract's exact sentence, the hint, and the
// alert, which holds both. Nothing may be recorded.
func awaitGenerationFailure(r *rig, id int64, code, message string) daemon.Handoff {
	r.t.Helper()
	h := r.awaitPhase(id, daemon.Failed)
	if h.Error == nil || h.Error.Phase != daemon.Generating || string(h.Error.Code) != code || h.Error.Message != message {
		r.t.Fatalf("handoff %d: %+v, want %s %q in generating\n%s", id, h.Error, code, message, r.report())
	}
	holds(r.t, "the hint", h.Error.Hint, fmt.Sprintf("`understudy handoff retry %d`", id), "`--mode agent`")
	awaitAlert(r, id, "handoff_failed")
	if told := field(r.t, r.handoffEvents(id, "handoff_failed")[0], "message"); told != message+"; "+h.Error.Hint+"." {
		r.t.Errorf("operator was told %q, want the failure and its hint", told)
	}
	if h.RecordedAt != nil || h.SuccessorID != nil || h.Status != daemon.StatusFailed {
		r.t.Errorf("handoff %+v: want nothing recorded", h)
	}
	return h
}

// doTurn has the agent do a turn and waits until it ends.
func doTurn(r *rig, agentID int64, text string) daemon.Agent {
	r.t.Helper()
	r.awaitVerdict(agentID, r.sendMessage(agentID, text).ID, daemon.Submitted)
	return r.awaitState(agentID, daemon.Idle)
}

// awaitTokens waits until the daemon knows that the agent's context holds so many tokens.
func awaitTokens(r *rig, agentID, tokens int64) daemon.ContextUse {
	r.t.Helper()
	a := r.awaitAgent(agentID, fmt.Sprintf("%d tokens", tokens), func(a daemon.Agent) bool {
		return a.Context != nil && a.Context.Tokens == tokens
	})
	return *a.Context
}

// fillContext has the agent do a turn that leaves so many tokens in its context.
func fillContext(r *rig, agentID, tokens int64) daemon.ContextUse {
	r.t.Helper()
	r.awaitVerdict(agentID, r.sendMessage(agentID, fmt.Sprintf("go on @tokens %d", tokens)).ID, daemon.Submitted)
	use := awaitTokens(r, agentID, tokens)
	r.awaitState(agentID, daemon.Idle)
	return use
}

// enableAuto turns on automatic handoffs.
func enableAuto(r *rig) *rig {
	r.cfg.Settings.Handoff.Auto.Enabled = true
	return r
}

// backdateRegistration moves the agent's registration ten minutes into the past.
func backdateRegistration(r *rig, agentID int64) {
	r.t.Helper()
	store := r.database()
	r.await("the ten minutes committed", func() (bool, string) {
		a, err := store.Agent(r.t.Context(), agentID)
		if err != nil {
			return false, err.Error()
		}
		at := a.RegisteredAt.Add(-10 * time.Minute)
		a.RegisteredAt = &at
		err = store.Commit(r.t.Context(), &daemon.Change{Agents: []*daemon.Agent{&a}})
		if err != nil && !errors.Is(err, daemon.ErrMoved) {
			r.t.Fatal(err)
		}
		return err == nil, "another writer was first"
	})
}

// handoffsOf lists the agent's handoffs, oldest first.
func handoffsOf(r *rig, agentID int64) []daemon.Handoff {
	r.t.Helper()
	store := r.database()
	return value(store.Handoffs(r.t.Context(), daemon.HandoffFilter{AgentID: agentID, Limit: 100}))(r.t)
}

// wantHandoffs fails unless the agent has had n handoffs. It first gives an idle agent a turn: the daemon types that
// only after it has looked at everything else that is due.
func wantHandoffs(r *rig, agentID int64, n int) {
	r.t.Helper()
	if r.getAgent(agentID).State == daemon.Idle {
		doTurn(r, agentID, "and now?")
	}
	if got := handoffsOf(r, agentID); len(got) != n {
		r.t.Errorf("agent %d: %d handoffs, want %d: %+v\n%s", agentID, len(got), n, got, r.report())
	}
}

// awaitAutomatic waits for the first handoff that the daemon requested by itself.
func awaitAutomatic(r *rig, agentID int64) daemon.Handoff {
	r.t.Helper()
	var list []daemon.Handoff
	r.await(fmt.Sprintf("agent %d: handoff without being asked", agentID), func() (bool, string) {
		list = handoffsOf(r, agentID)
		return len(list) > 0, fmt.Sprintf("%+v", r.getAgent(agentID).Context)
	})
	equal(r.t, "handoff for", list[0].Reason, daemon.ReasonContext)
	return list[0]
}

// wantTiers fails unless the agent's context came into exactly these tiers, with one event each.
func wantTiers(r *rig, agentID int64, want ...daemon.Tier) {
	r.t.Helper()
	var got []daemon.Tier
	for _, e := range r.agentEvents(agentID, "agent_context") {
		tier, _ := field(r.t, e, "tier").(string)
		got = append(got, daemon.Tier(tier))
	}
	equal(r.t, fmt.Sprintf("agent %d: tiers", agentID), got, want)
}

// settingsFile is the path of the scripted agents' settings. Their commands lie beside it.
func settingsFile(r *rig) string {
	return filepath.Join(filepath.Dir(r.root), "home", ".claude", "settings.json")
}

// installCommand puts the command /handoff where the agents look for commands.
func installCommand(r *rig) hooks.Plan {
	r.t.Helper()
	now := value(hooks.ReadSlash(settingsFile(r)))(r.t)
	plan, err := hooks.PlanSlash(now, hooks.InstallOptions{Bin: cmdtest.MainProgram(r.t), DataDir: r.root})
	if err == nil {
		err = hooks.Apply(plan)
	}
	if err != nil || !plan.Changed {
		r.t.Fatalf("command /handoff: %v, plan %+v", err, plan)
	}
	return plan
}

// appendLine adds a line to a transcript.
func (r *rig) appendLine(path string, line map[string]any) {
	r.t.Helper()
	b := value(json.Marshal(line))(r.t)
	f := value(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(r.t)
	defer f.Close()
	value(f.Write(append(b, '\n')))(r.t)
}

// newForeignHook makes a hook of an agent that a person started.
func newForeignHook(r *rig, a daemon.Agent, event string) hooks.Envelope {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{
		"hook_event_name": event, "session_id": *a.SessionID, "transcript_path": *a.TranscriptPath, "cwd": a.Cwd, "prompt": "x",
	})
	must(r.t, err)
	now := time.Now()
	return hooks.Envelope{Key: hooks.NewKey(now), Event: event, At: now, AgentPID: agentRow(r, a.ID).PID, Body: body}
}
