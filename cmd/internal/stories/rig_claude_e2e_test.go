//go:build e2e

package stories

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// claudeRig is a rig whose agents are the real Claude Code CLI. The test's script plays the model.
type claudeRig struct {
	*rig
	cli  string
	api  *claudetest.FakeAPI
	home claudetest.Home
	tap  *hookTap
}

// claudeSlots limits how many of these tests run at once: a session of a CLI takes some 200 MB, and one core while it starts.
// A test that waits here keeps others from running, so there are as many slots as tests that go test runs at once.
var claudeSlots = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

// manual is the permission mode in which the CLI asks before it does anything except read its own folder.
var manual = []string{"--permission-mode", "manual"}

// newClaudeRig makes a rig whose daemon is not started yet. The experience file of the persona con holds one line.
func newClaudeRig(t *testing.T, script claudetest.Script) *claudeRig {
	t.Helper()
	cli := claudetest.Install(t)
	claudeSlots <- struct{}{}
	t.Cleanup(func() { <-claudeSlots })
	fake := claudetest.NewFakeAPI(t, script)
	home := claudetest.Env(t, fake)
	r := &claudeRig{rig: newRig(t), cli: cli, api: fake, home: home, tap: &hookTap{}}
	r.work = home.Workdir
	r.cfg.Environ = append(slices.Clone(home.Environ), "GORACE=atexit_sleep_ms=0")
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: append([]string{cli}, manual...)}}
	r.around(func(c *engine.Config) {
		c.Store = tappedStore{c.Store, r.tap}
	})
	if _, err := r.dir.Seed(); err != nil {
		t.Fatal(err)
	}
	must(t, data.WriteFile(r.experience(), []byte(known+"\n"), 0o600))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hooks:\n%s", r.tap)
		}
	})
	return r
}

const (
	known   = "- The linter wants tabs."
	learned = "- The renderer needs a font."
)

// experience is the path of the experience file of the persona con.
func (r *claudeRig) experience() string { return filepath.Join(r.dir.Persona(con), "experience.md") }

// hookTap records the hooks on their way into the database.
type hookTap struct {
	mu   sync.Mutex
	seen []tapped
}

// tapped is one hook and the daemon's decision about it.
type tapped struct {
	in      daemon.HookInput
	p       hooks.Payload
	agentID int64
	daemon.HookDecision
}

type tappedStore struct {
	daemon.Store
	tap *hookTap
}

// RecordHook notes a hook before its transaction ends. So whatever a test can see of a hook is in the tap already.
func (s tappedStore) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	return s.Store.RecordHook(ctx, in, func(tx daemon.HookTx) daemon.HookDecision {
		out := decide(tx)
		if !tx.Again {
			s.tap.note(in, tx, out)
		}
		return out
	})
}

func (h *hookTap) note(in daemon.HookInput, tx daemon.HookTx, out daemon.HookDecision) {
	seen := tapped{in: in, HookDecision: out}
	seen.p, _ = hooks.Parse(in.Event, in.Body) // The daemon has parsed it already.
	switch {
	case tx.Agent != nil:
		seen.agentID = tx.Agent.ID
	case out.Change.NewAgent != nil:
		seen.agentID = out.Change.NewAgent.ID
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = slices.DeleteFunc(h.seen, func(old tapped) bool { return old.in.Key == in.Key }) // The store repeats the transaction.
	h.seen = append(h.seen, seen)
}

// of lists the agent's hooks of one event, in the order of their arrival.
func (h *hookTap) of(agentID int64, event string) (out []tapped) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if s.agentID == agentID && s.in.Event == event {
			out = append(out, s)
		}
	}
	return out
}

func (h *hookTap) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, s := range h.seen {
		fmt.Fprintf(&b, "%s %s agent %d pid %d session %s replayed %t applied %t %s: %.80s\n", s.in.At.Format("05.000"), s.in.Event,
			s.agentID, s.in.PID, s.in.SessionID, s.in.Replayed, s.Applied, s.Reason, s.p.Source+s.p.Prompt+s.p.ToolName+s.p.Reason)
	}
	return b.String()
}

// awaitModelAsked waits until the model was asked something that contains the part.
func (r *claudeRig) awaitModelAsked(part string) {
	r.t.Helper()
	r.api.Await(r.t, part, func(req claudetest.Request) bool { return strings.Contains(strings.Join(req.NewTexts(), "\n"), part) })
}

// talk has the agent take a prompt and finish its turn.
func (r *claudeRig) talk(agentID int64, text string) {
	r.t.Helper()
	stops := len(r.tap.of(agentID, hooks.Stop))
	r.awaitVerdict(agentID, r.sendMessage(agentID, text).ID, daemon.Submitted)
	r.await(fmt.Sprintf("agent %d: the end of its turn", agentID), func() (bool, string) {
		return len(r.tap.of(agentID, hooks.Stop)) > stops, r.tap.String()
	})
}

// requests lists the agent's requests to the model, oldest first, over all of its sessions.
func (r *claudeRig) requests(agentID int64) []claudetest.Request {
	r.t.Helper()
	var sessions []string
	for _, s := range r.tap.of(agentID, hooks.SessionStart) {
		sessions = append(sessions, s.in.SessionID)
	}
	return slices.DeleteFunc(r.api.Requests(), func(req claudetest.Request) bool { return !slices.Contains(sessions, req.SessionID) })
}

// heard lists the texts that contain the part and were new to the agent's model, one entry for each time.
func (r *claudeRig) heard(agentID int64, part string) (out []string) {
	r.t.Helper()
	for _, req := range r.requests(agentID) {
		for _, text := range req.NewTexts() {
			if strings.Contains(text, part) {
				out = append(out, text)
			}
		}
	}
	return out
}

// wantTakenOver checks what must hold after every handoff whose document the agent itself has written.
func (r *claudeRig) wantTakenOver(h daemon.Handoff, reason ...string) {
	r.t.Helper()
	r.wantFollowed(h, reason...)
	if n := len(r.heard(h.AgentID, h.Ref)); n != 1 {
		r.t.Errorf("the outgoing model was told %d times, want once: %q", n, r.heard(h.AgentID, h.Ref))
	}
	r.wantKnowledge(*h.SuccessorID)
}

// wantFollowed checks what must hold after every completed handoff, and logs how long its phases took.
// reason is how the outgoing agent ended, if not by its exit command.
func (r *claudeRig) wantFollowed(h daemon.Handoff, reason ...string) {
	r.t.Helper()
	next := r.awaitState(*h.SuccessorID, daemon.Idle)
	r.await("the successor's look at the context", func() (bool, string) {
		reqs := r.requests(next.ID)
		if len(reqs) == 0 {
			return false, "no request"
		}
		last := reqs[len(reqs)-1]
		return answeredCall(last, read(*h.ContextPath)) && len(results(last)) >= 2, fmt.Sprintf("%q", results(last))
	})
	if got := r.heard(next.ID, h.Ref); len(got) != 1 || got[0] != *h.InjectionPrompt {
		r.t.Errorf("the successor's model was told %q, want once %q", got, *h.InjectionPrompt)
	}
	r.wantExited(h.AgentID, append(reason, "prompt_input_exit")[0])
	r.wantReadBoth(next.ID, h)
	r.logPhases(h.ID)
}

// wantExited checks that the agent left for that reason, and that its process is gone.
func (r *claudeRig) wantExited(agentID int64, reason string) {
	r.t.Helper()
	a := r.awaitState(agentID, daemon.Ended)
	if a.EndReason == nil || *a.EndReason != reason {
		r.t.Errorf("outgoing agent ended by %v, want %s", a.EndReason, reason)
	}
	ends := r.tap.of(agentID, hooks.SessionEnd)
	if len(ends) == 0 || ends[len(ends)-1].p.Reason != reason {
		r.t.Errorf("outgoing agent: SessionEnd %+v, want %s", ends, reason)
	}
	first := r.tap.of(agentID, hooks.SessionStart)[0].in
	if (tmux.Process{PID: first.PID, Start: first.PIDStart}).Alive() {
		r.t.Errorf("process %d of the outgoing agent is still there", first.PID)
	}
}

// wantReadBoth checks that the successor read the document and the context file without asking for permission.
func (r *claudeRig) wantReadBoth(agentID int64, h daemon.Handoff) {
	r.t.Helper()
	reqs := r.requests(agentID)
	got := results(reqs[len(reqs)-1])
	for i, want := range []string{"Continue with the renderer", "<handoff-context>"} {
		if !strings.Contains(got[i], want) {
			r.t.Errorf("tool result %d is %.200q, want %q in it", i+1, got[i], want)
		}
	}
	r.wantNoDialog(agentID)
}

// wantKnowledge checks that the system prompt of the agent's first request held the skill and the experience, with
// what its predecessor learned.
func (r *claudeRig) wantKnowledge(agentID int64) {
	r.t.Helper()
	system := r.requests(agentID)[0].SystemText()
	for _, want := range []string{"You play the persona " + con, "# Con, developer", known, learned} {
		if !strings.Contains(system, want) {
			r.t.Errorf("system prompt of agent %d does not contain %q", agentID, want)
		}
	}
}

// wantNoDialog fails if the agent's CLI ever asked for permission.
func (r *claudeRig) wantNoDialog(agentID int64) {
	r.t.Helper()
	for _, s := range r.tap.of(agentID, hooks.PermissionRequest) {
		r.t.Errorf("agent %d asked for permission: %s %s", agentID, s.p.ToolName, s.p.ToolInput)
	}
	if waited := r.agentEvents(agentID, "agent_waiting"); len(waited) > 0 {
		r.t.Errorf("agent %d waited for a person: %d times", agentID, len(waited))
	}
}

// logPhases prints how long each phase took.
func (r *claudeRig) logPhases(handoffID int64) {
	r.t.Helper()
	moves := value(r.client.Transitions(r.t.Context(), handoffID))(r.t)
	last := r.getHandoff(handoffID).CreatedAt
	var b strings.Builder
	for _, m := range moves {
		fmt.Fprintf(&b, " %s %d", m.From, m.At.Sub(last).Milliseconds())
		last = m.At
	}
	r.t.Logf("phases (ms):%s, total %d", b.String(), last.Sub(r.getHandoff(handoffID).CreatedAt).Milliseconds())
}

// wantStays fails with the text what as soon as still returns false within the time d.
func (r *claudeRig) wantStays(d time.Duration, what string, still func() bool) {
	r.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond) // each look may take a process of tmux
	defer tick.Stop()
	for deadline := time.Now().Add(d); time.Now().Before(deadline); <-tick.C {
		if !still() {
			r.t.Fatalf("%s\n%s", what, r.report())
		}
	}
}
