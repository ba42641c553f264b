//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
)

// untilReset is how long the limits of these stories last.
const untilReset = 5 * time.Second

// resumption is a part of the prompt with which Claude Code goes on by itself.
const resumption = "usage limit has reset. Continue the task"

// newLimitRig makes a rig with all real CLIs whose Claude Code has a subscription. Its settings say that it goes on by itself.
// That is the default as well, but Claude Code takes the default only if it has read by then, in every file of settings, that the key is
// absent; otherwise it asks what to do.
func newLimitRig(t *testing.T) *roundRig {
	t.Helper()
	r := newRoundRig(t)
	r.cfg.Environ = lastOfEach(append(r.cfg.Environ, claudetest.Subscription()...))
	r.goesOnByItself(true)
	return r
}

// goesOnByItself sets whether Claude Code goes on by itself after a limit.
func (r *roundRig) goesOnByItself(is bool) {
	r.t.Helper()
	for _, e := range r.cfg.Environ {
		if dir, ok := strings.CutPrefix(e, "CLAUDE_CONFIG_DIR="); ok {
			if err := os.WriteFile(filepath.Join(dir, "settings.json"), fmt.Appendf(nil, `{"autoContinueAtUsageLimit": %t}`, is), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// startOn starts an agent on a runtime and waits until it is idle.
func (r *roundRig) startOn(runtime string) daemon.Agent {
	r.t.Helper()
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work, Runtime: runtime})
	return r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
}

// limits makes the models of one CLI refuse everything with a usage limit until a time.
func limits(cli string, over time.Time, next claudetest.Script) claudetest.Script {
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
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply { return limits(cli, over(), next)(req) })
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
	a = r.awaitDecided(a.ID)
	if l := a.Limit; l.Kind != daemon.LimitUsage || l.By != daemon.LimitByPolicy || l.Until == nil || l.Until.Sub(over()).Abs() > time.Minute {
		r.t.Fatalf("limit %+v, want one that ends at %s", l, over())
	}
	return a
}

// TestClaudeWaitsForItsLimit: Claude Code goes on by itself some time after the reset, while the daemon is killed. The next
// daemon leaves it alone, so that the work goes on once.
func TestClaudeWaitsForItsLimit(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t)
	r.onLimit(daemon.LimitWait)
	child := r.startDaemonChild()
	r.database() // before the first kill
	a := r.startOn("claude")
	a = r.hit(a, "", untilReset, complies)
	if a.Limit.Do != daemon.LimitWait {
		t.Fatalf("limit %+v, want it to wait", a.Limit)
	}
	r.awaitShown(a.ID, "Continuing ") // it waits for the reset, and goes on 30 to 90 s behind it
	child.kill()
	r.await("its own prompt after the reset", func() (bool, string) { return r.heard(resumption) > 0, "" })
	r.startDaemonChild()
	a = r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Limit == nil })
	if a.Trouble != nil || a.LimitedUntil != nil || a.LastMessage != "OK" {
		t.Errorf("after its turn the agent is %+v", a)
	}
	if list := r.goesOn(a.ID); len(list) != 0 || r.heard(resumption) != 1 || r.heard("Now mend the roof") != 1 {
		t.Errorf("%d prompts after the reset; it has gone on by itself %d times, and was given its task %d times", len(list), r.heard(resumption), r.heard("Now mend the roof"))
	}
}

// TestCodexWaitsForItsLimit: Codex does not go on by itself: it is prompted once after the reset. The daemon is killed before
// the reset, and again when the prompt is queued.
func TestCodexWaitsForItsLimit(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t)
	r.onLimit(daemon.LimitWait)
	child := r.startDaemonChild()
	r.database() // before the first kill
	a := r.hit(r.startOn("codex"), "codex", untilReset, complies)
	child.kill()
	child = r.startDaemonChild()
	r.await("a prompt after the reset", func() (bool, string) { return len(r.goesOn(a.ID)) > 0, "" })
	child.kill()
	r.startDaemonChild()
	a = r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Limit == nil })
	const prompt = "Your usage limit has ended."
	list := r.goesOn(a.ID)
	if len(list) != 1 || list[0].Verdict == nil || *list[0].Verdict != daemon.Submitted || r.heard(prompt) != 1 || r.heard("Now mend the roof") != 1 {
		t.Errorf("prompts after the reset: %+v; the model was given it %d times, and its task %d times", list, r.heard(prompt), r.heard("Now mend the roof"))
	}
	if a.Trouble != nil || a.LastMessage != "OK" {
		t.Errorf("after its turn the agent is %+v", a)
	}
}

// TestClaudeHandsOverItsLimit: Claude Code has hit its limit, so a one-shot of the fallback's CLI writes the document from the
// transcript. The daemon is killed while the one-shot writes. The work goes on once, on the fallback. One of the two Claude Codes may not go
// on by itself, and asks what to do: the daemon closes that question, and nobody is told that the agent waits.
func TestClaudeHandsOverItsLimit(t *testing.T) {
	t.Parallel()
	for _, fallback := range []string{"codex", "omp"} {
		t.Run(fallback, func(t *testing.T) {
			t.Parallel()
			r := newLimitRig(t)
			r.goesOnByItself(fallback != "omp")
			r.cfg.Settings.Limits.OnLimit, r.cfg.Settings.Limits.Fallback = string(daemon.LimitHandOver), []string{fallback}
			child := r.startDaemonChild()
			r.database() // before the first kill
			a := r.startOn("claude")
			r.talk(a.ID, roundTask(0))
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
			r.startDaemonChild()
			h := r.awaitLimitHandoff(a.ID)
			r.wantHandedOver(h, fallback)
			if waited := r.agentEvents(a.ID, string(event.AgentWaiting)); len(waited) > 0 {
				t.Errorf("events %v", waited)
			}
		})
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
	next := r.awaitTakeover(h)
	if next.Runtime != fallback || next.Persona == nil || *next.Persona != con || r.heard("you take over from agent") != 1 {
		r.t.Errorf("successor on %s as %v, told %d times that it takes over", next.Runtime, next.Persona, r.heard("you take over from agent"))
	}
	r.wantHandoffs(h.AgentID, 1)
	if list, err := r.client.Agents(r.t.Context(), allRows); err != nil || len(list) != 2 {
		r.t.Errorf("%d agents, %v, want the agent and one successor", len(list), err)
	}
}
