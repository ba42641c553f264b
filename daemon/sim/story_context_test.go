package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/tmux"
)

// fill reports, as an agent's status line does, how full its window is, in percent.
func fill(p *person, h *host, a *agent, percent int64) {
	fillAs(p, h, a, a.session, percent)
}

func fillAs(p *person, h *host, a *agent, session string, percent int64) {
	p.w.ok(p.ask(h, fmt.Sprintf("report %d %%", percent), func(ctx context.Context, d *house.House) error {
		return d.Usage.ReportContext(ctx, a.id, usage.ContextReport{SessionID: session, Tokens: 10_000 * percent, Limit: 1_000_000})
	}))
}

// wantHandoffs fails unless an agent has had that many handoffs a while later.
func wantHandoffs(p *person, a *agent, n int) {
	p.wait("looks on", 10*time.Second, 10*time.Second)
	if list := p.handoffs(a.id); len(list) != n {
		p.w.fail("agent %d has %d handoffs, not %d, at %s", a.id, len(list), n, views.ContextWords(p.row(a).Context))
	}
}

// automatic waits for a handoff that the daemon has requested by itself.
func automatic(p *person, a *agent) daemon.Handoff {
	p.await("an automatic handoff", time.Minute, func() bool { return p.hasHandoff(a.id) && p.handoffs(a.id)[0].Reason == daemon.ReasonContext })
	return p.handoffs(a.id)[0]
}

// TestTiersOfAContext: the log has the changes of the tier alone, and the operator is told of a high one if the agent is not handed over by
// itself. A report about another session counts for nothing.
func TestTiersOfAContext(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		h.daemon.d.Settings().Handoff.Auto.Enabled = false
		p.promptOnce(a)
		for _, percent := range []int64{59, 61, 62, 71, 99, 10} {
			fill(p, h, a, percent)
			fillAs(p, h, a, "another", 95)
			if use := p.row(a).Context; *use.Percent != float64(percent) || use.Source != daemon.FromStatusLine {
				t.Errorf("%+v at %d %%", use, percent)
			}
		}
		var tiers []string
		for _, e := range eventsOf(p, event.AgentContext) {
			if tiers = append(tiers, word(&e, "tier")); e.Alert != (word(&e, "tier") == string(daemon.TierHigh)) {
				t.Errorf("%s: alert %t", word(&e, "tier"), e.Alert)
			}
		}
		if tiers = slices.Compact(tiers); !slices.Equal(tiers[max(0, len(tiers)-3):], []string{"warn", "high", "normal"}) {
			t.Errorf("tiers %q", tiers)
		}
		wantHandoffs(p, a, 0)
		if high := eventsOf(p, event.AgentContext); !slices.ContainsFunc(high, func(e event.Event) bool {
			return strings.Contains(word(&e, "message"), "71 %") && strings.Contains(word(&e, "message"), "`understudy handoff 1`")
		}) {
			t.Errorf("no alert says what to do: %+v", high)
		}
	}))
}

// TestFullAgentIsHandedOver: an agent whose window is nearly full is handed over by itself at the end of its turn, once, unless it is young or
// was as full from its start.
func TestFullAgentIsHandedOver(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		fill(p, h, a, 5)
		fill(p, h, a, 76)
		wantHandoffs(p, a, 0) // it is young
		over := false
		a.extra = func(context.Context) bool {
			for !over {
				a.do("goes on", time.Second, time.Second)
			}
			return true
		}
		a.person("some work", tmux.Enter)
		p.wait("gets older", 3*time.Minute, 3*time.Minute)
		wantHandoffs(p, a, 0) // it is in a turn
		over = true
		a.mood.think = 20 * time.Second
		equal(t, "mode", automatic(p, a).Mode, daemon.ModeAgent)
		p.w.ok(cancel(p, h, a.id))
		p.wait("rests", time.Minute, time.Minute)
		fill(p, h, a, 80)
		wantHandoffs(p, a, 1) // it was handed over once
		done := p.request(h, a, daemon.Completed)
		if done.ContextUse == nil || *done.ContextUse.Percent != 80 {
			t.Errorf("handed over at %+v", done.ContextUse)
		}
		next := p.w.process(*done.SuccessorID)
		p.await("its turn", time.Minute, func() bool { return p.row(next).State == daemon.Idle && p.row(next).LastStop > 0 })
		p.wait("gets older", 3*time.Minute, 3*time.Minute)
		p.change(next.id, func(row *daemon.Agent) { row.BeginWindow() })
		fill(p, h, next, 70)
		fill(p, h, next, 79)
		wantHandoffs(p, next, 0)
		fill(p, h, next, 80)
		automatic(p, next)
		p.reach(next, daemon.Completed)
	}))
}

// TestContextIsReadAgainAtTheRecord: no status line reports, so the handoff has what the transcript says when its record is made.
func TestContextIsReadAgainAtTheRecord(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		turn(p, a)
		p.await("a measurement", time.Minute, func() bool { return p.row(a).Context != nil })
		beforeFirst(p.w, commits("→ verifying"), func() {
			a.append(map[string]any{"type": "assistant", "timestamp": a.stamp(), "sessionId": a.session, "message": map[string]any{
				"id": "msg_late", "role": "assistant", "model": a.model, "content": []any{}, "usage": map[string]any{"input_tokens": 700_000},
			}})
		})
		if done := p.request(h, a, daemon.Completed); done.ContextUse == nil || done.ContextUse.Tokens != 700_000 || done.ContextUse.Source != daemon.FromTranscript {
			t.Errorf("handed over at %+v", done.ContextUse)
		}
	}))
}

// TestHandoffThatIsRefusedIsToldOnce: the daemon cannot hand a full agent over by itself. The operator is told once, and it does not try again.
func TestHandoffThatIsRefusedIsToldOnce(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		p.wait("gets older", 3*time.Minute, 3*time.Minute)
		p.w.ok(os.Remove(filepath.Join(h.dir.Persona(personaSlugs[0]), "skill.md")))
		p.w.ok(h.daemon.d.Personas.Refresh())
		fill(p, h, a, 5)
		for _, percent := range []int64{76, 85} {
			fill(p, h, a, percent)
			wantHandoffs(p, a, 0)
		}
		told := eventsOf(p, event.AgentHandoffRefused)
		if len(told) != 1 || !told[0].Alert || word(&told[0], "code") != "persona_broken" || !strings.Contains(word(&told[0], "message"), "`understudy handoff 1`") {
			t.Errorf("told: %+v", told)
		}
	}))
}

// TestCompaction: with automatic handoffs, the first compaction of an agent is refused, and a copy of its session writes the document at the
// end of the turn. A second one goes on, because an agent must not run into its limit, and so does each one without automatic handoffs. The
// operator is told.
func TestCompaction(t *testing.T) {
	for _, auto := range []bool{true, false} {
		storyAs(t, fmt.Sprint("auto ", auto), with(func(t *testing.T, p *person, h *host, a *agent) {
			h.daemon.d.Settings().Handoff.Auto.Enabled = auto
			p.promptOnce(a)
			compacts := func(refused bool) {
				n := events(p, event.AgentCompacting)
				a.extra = func(context.Context) bool { a.compact(); return true }
				a.person("some work", tmux.Enter)
				p.await("the compaction", time.Minute, func() bool { return events(p, event.AgentCompacting) == n+1 })
				if e := eventsOf(p, event.AgentCompacting)[n]; !e.Alert || strings.Contains(strings.ReplaceAll(string(e.Payload), " ", ""), `"refused":true`) != refused {
					t.Errorf("compaction %d, want it refused %t: alert %t, %s", n+1, refused, e.Alert, e.Payload)
				}
			}
			p.w.holdFirst(time.Minute, calls("one-shot writes"))
			compacts(auto)
			if auto {
				equal(t, "mode …: the agent would compact before it reads an instruction", automatic(p, a).Mode, daemon.ModeGenerate)
				p.w.ok(cancel(p, h, a.id))
			}
			p.await("the end of its turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle && a.stop == nil })
			compacts(false)
			wantHandoffs(p, a, map[bool]int{true: 1}[auto])
		}))
	}
}
