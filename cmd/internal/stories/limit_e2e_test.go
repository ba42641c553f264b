//go:build e2e

package stories

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
)

// newLimitRig makes a rig with Claude Code and its fallback. Claude Code has a subscription and asks what to do at a limit.
func newLimitRig(t *testing.T, fallback string) *roundRig {
	t.Helper()
	r := newRoundRig(t)
	maps.DeleteFunc(r.cfg.Settings.Runtimes, func(name string, _ serve.RuntimeSettings) bool { // each daemon asks each CLI for its version
		return name != "claude" && name != fallback
	})
	r.cfg.Environ = lastOfEach(append(r.cfg.Environ, claudetest.Subscription()...))
	for _, e := range r.cfg.Environ {
		if dir, ok := strings.CutPrefix(e, "CLAUDE_CONFIG_DIR="); ok {
			writeFile(r.rig, filepath.Join(dir, "settings.json"), `{"autoContinueAtUsageLimit": false}`)
		}
	}
	return r
}

// startOn starts an agent on a runtime and waits until it is idle.
func (r *roundRig) startOn(runtime string) daemon.Agent {
	r.t.Helper()
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work, Runtime: runtime})
	return r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
}

// limited makes the models of one CLI refuse everything with a usage limit until a time.
func limited(cli string, over time.Time, next claudetest.Script) claudetest.Script {
	return func(req claudetest.Request) claudetest.Reply {
		if req.CLI == cli && time.Now().Before(over) {
			return claudetest.Reply{Limit: over, Error: "You have hit your usage limit."}
		}
		return next(req)
	}
}

// heard counts the texts with the part in the newest conversation that has one.
func (r *roundRig) heard(part string) (n int) {
	asked := r.conversation(part)
	if len(asked) == 0 {
		return 0
	}
	for _, text := range asked[len(asked)-1].UserTexts() {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

// hit has an agent hit a limit that ends so long after the first request, and waits until something is decided about it.
func (r *roundRig) hit(a daemon.Agent, cli string, lasts time.Duration, next claudetest.Script) daemon.Agent {
	r.t.Helper()
	over := sync.OnceValue(func() time.Time { return time.Now().Add(lasts) })
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply { return limited(cli, over(), next)(req) })
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
	a = awaitDecided(r.rig, a.ID)
	if l := a.Limit; l.Kind != daemon.LimitUsage || l.By != daemon.LimitByPolicy || l.Until == nil || l.Until.Sub(over()).Abs() > time.Minute {
		r.t.Fatalf("limit %+v, want one that ends at %s", l, over())
	}
	return a
}

// TestClaudeHandsOverItsLimit: Claude Code has hit its limit, so a one-shot of the fallback's CLI writes the document from the
// transcript. The daemon is killed while the one-shot writes. The work goes on once, on the fallback. Claude Code may not go on by
// itself, and asks what to do: the daemon closes that question, and nobody is told that the agent waits.
func TestClaudeHandsOverItsLimit(t *testing.T) {
	t.Parallel()
	const fallback = "codex"
	r := newLimitRig(t, fallback)
	r.cfg.Settings.Limits.OnLimit, r.cfg.Settings.Limits.Fallback = daemon.LimitHandOver, []string{fallback}
	child := startDaemonChild(r.rig)
	r.database() // before the first kill
	a := r.startOn("claude")
	talk(r.rig, a.ID, roundTask(0))
	var held atomic.Bool
	holds := func(req claudetest.Request) claudetest.Reply {
		reply := decides(req)
		reply.Hold = slices.ContainsFunc(req.UserTexts(), isFork) && !held.Swap(true)
		return reply
	}
	a = r.hit(a, "", time.Hour, holds)
	r.api.Await(t, "the question about the conversation", func(req claudetest.Request) bool {
		return req.CLI != "" && slices.ContainsFunc(req.UserTexts(), isFork)
	})
	child.kill()
	r.api.Release() // the answer of a one-shot that has ended with the daemon
	startDaemonChild(r.rig)
	r.wantHandedOver(awaitLimitHandoff(r.rig, a.ID), fallback)
	if waited := r.agentEvents(a.ID, string(event.AgentWaiting)); len(waited) > 0 {
		t.Errorf("events %v", waited)
	}
}

// wantHandedOver checks what must hold after a handoff because of a limit whose document a one-shot of the fallback has written.
func (r *roundRig) wantHandedOver(h daemon.Handoff, fallback string) {
	r.t.Helper()
	if h.Reason != daemon.ReasonLimit || h.WrittenBy != daemon.WrittenByFallback || h.Degraded || h.Structured == nil {
		r.t.Errorf("handoff %+v, want one because of the limit, written by the fallback", h)
	}
	if len(h.Warnings) == 0 || !strings.Contains(h.Warnings[0], "a one-shot of "+fallback+" wrote it from the transcript") {
		r.t.Errorf("warnings %q", h.Warnings)
	}
	asked := 0
	for _, req := range r.api.Requests() {
		for _, text := range req.UserTexts() {
			if !isFork(text) || req.Aside != "" {
				continue
			}
			asked++
			if req.CLI != fallback || !strings.Contains(text, "    "+roundTask(0)+"\n") || !strings.Contains(text, "    Now mend the roof\n") {
				r.t.Errorf("the one-shot of %q was asked %q", req.CLI, text)
			}
		}
	}
	if asked != 2 {
		r.t.Errorf("%d one-shots, want the one that was killed and another", asked)
	}
	next := awaitTakeover(r.rig, h)
	if next.Runtime != fallback || next.Persona == nil || *next.Persona != con || r.heard("you take over from agent") != 1 {
		r.t.Errorf("successor on %s as %v, told %d times that it takes over", next.Runtime, next.Persona, r.heard("you take over from agent"))
	}
	wantHandoffs(r.rig, h.AgentID, 1)
	if list, err := r.client.Agents(r.t.Context(), allRows); err != nil || len(list) != 2 {
		r.t.Errorf("%d agents, %v, want the agent and one successor", len(list), err)
	}
}
