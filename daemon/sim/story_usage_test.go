package sim

import (
	"bytes"
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

// used returns how many tokens are counted for an agent.
func used(p *person, id int64) (tokens int64) {
	sums := must(p.w.store.UsageSums(ctx(), daemon.UsageQuery{AgentIDs: []int64{id}}))
	for i := range sums {
		tokens += sums[i].Total()
	}
	return tokens
}

// shown returns how many tokens an agent's transcript shows.
func shown(p *person, a *agent) int64 {
	b, err := os.ReadFile(a.transcript())
	if err != nil {
		p.w.fail("transcript: %v", err)
	}
	return int64(bytes.Count(b, []byte(`"cache_read_input_tokens":14000`))) * (4 + 10 + 14000 + 20)
}

// turn sends a message and waits for the end of its turn.
func turn(p *person, a *agent) {
	before := p.row(a).LastStop
	p.send(a.id)
	p.await("the end of the turn", time.Minute, func() bool { r := p.row(a); return r.LastStop > before && r.State == daemon.Idle })
}

// TestUsageIsCountedOnceWhateverEnds: the daemon ends in the middle of a session, and the session is opened again by another
// agent. What the transcript shows is counted once.
func TestUsageIsCountedOnceWhateverEnds(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		turn(p, a)
		p.await("the count", time.Minute, func() bool { return used(p, a.id) > 0 && used(p, a.id) == shown(p, a) })
		p.end(h)
		turn(p, a)
		p.await("the count after a restart", time.Minute, func() bool { return used(p, a.id) == shown(p, a) })
		p.stopped(h, a)
		first := used(p, a.id)
		if want := shown(p, a); first != want {
			t.Errorf("%d tokens are counted at the end, the transcript shows %d", first, want)
		}
		next := awaitIdle(p, p.reopen(h, a.id).ID)
		turn(p, next)
		p.await("the count of the resumed session", time.Minute, func() bool { return used(p, a.id)+used(p, next.id) == shown(p, next) && used(p, next.id) > 0 })
		if got := used(p, a.id); got != first {
			t.Errorf("the ended agent had %d tokens and has %d", first, got)
		}
	}))
}

// events counts the events of a type.
func events(p *person, typ event.Type) int { return len(eventsOf(p, typ)) }

// eventsOf returns the events of a type.
func eventsOf(p *person, typ event.Type) (list []event.Event) {
	all := must(p.w.store.Events(ctx(), event.Filter{Limit: 10_000}))
	for i := range all {
		if all[i].Type == typ {
			list = append(list, all[i])
		}
	}
	return list
}

// limitTo gives the persona of an agent a budget; 0: none.
func limitTo(p *person, h *host, tokens int) {
	budget := ""
	if tokens > 0 {
		budget = fmt.Sprintf("budget: {daily_tokens: %d}\n", tokens)
	}
	writeSkill(p, h, "---\nname: x\ndescription: develops\n"+budget+"---\nYou develop.\n")
}

func writeSkill(p *person, h *host, text string) {
	p.w.ok(os.WriteFile(filepath.Join(h.dir.Persona(personaSlugs[0]), "skill.md"), []byte(text), 0o600))
	p.w.ok(h.daemon.d.Personas.Refresh())
}

// queued returns how many texts wait for an agent.
func (p *person) queued(a *agent) (n int) {
	open := must(p.w.store.OpenDeliveries(ctx(), a.id))
	for i := range open {
		if open[i].State == daemon.DeliveryQueued {
			n++
		}
	}
	return n
}

// exhaust has an agent use up its persona's budget, and sends one more message.
func exhaust(p *person, t *testing.T, h *host) *agent {
	limitTo(p, h, 2*14034)
	a := p.agent(h)
	turn(p, a)
	turn(p, a)
	p.await("the alert", time.Minute, func() bool { return events(p, event.BudgetReached) == 1 })
	p.send(a.id)
	p.wait("waits", 2*time.Minute, 2*time.Minute)
	equal(t, "texts are queued for an agent that is held", p.queued(a), 1)
	if note := p.row(a).Note; note == "" {
		t.Error("the agent does not say that it is held")
	}
	return a
}

// TestBudgetHoldsUntilMidnight: what is sent to an agent whose budget is used up stays queued, also across a restart, and is
// delivered on the next day, once. Each thing is told once.
func TestBudgetHoldsUntilMidnight(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := exhaust(p, t, h)
		p.end(h)
		p.wait("waits", 2*time.Minute, 2*time.Minute)
		equal(t, "texts are queued after a restart", p.queued(a), 1)
		equal(t, "told … times on the same day that the budget counts anew", events(p, event.BudgetReset), 0)
		was := shown(p, a)
		h.setClock(24 * time.Hour)
		p.await("the next day", 3*time.Minute, func() bool { return p.queued(a) == 0 && shown(p, a) > was && p.row(a).State == daemon.Idle })
		equal(t, "note … on the next day", p.row(a).Note, "")
		p.end(h)
		p.wait("waits", time.Minute, time.Minute)
		if n, m := events(p, event.BudgetReached), events(p, event.BudgetReset); n != 1 || m != 1 {
			t.Errorf("told %d times that the budget is used up, %d times that it counts anew", n, m)
		}
	})
}

// TestBudgetGoOn: somebody lets the agents go on today. What was queued is delivered, and the budget is not told again.
func TestBudgetGoOn(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := exhaust(p, t, h)
		for range 2 {
			p.w.ok(p.ask(h, "go on", func(ctx context.Context, d *house.House) error { return errorOf(d.Usage.GoOn(ctx, personaSlugs[0])) }))
		}
		p.await("the message", 2*time.Minute, func() bool { return p.queued(a) == 0 && p.row(a).Note == "" })
		turn(p, a)
		if n, m := events(p, event.BudgetReached), events(p, event.BudgetWaived); n != 1 || m != 1 {
			t.Errorf("told %d times that the budget is used up, %d times that it is waived", n, m)
		}
	})
}

// TestBudgetIsRaised: a greater budget counts at once, and is told when it is used up as well.
func TestBudgetIsRaised(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := exhaust(p, t, h)
		limitTo(p, h, 4*14034)
		p.await("the message", 3*time.Minute, func() bool { return p.queued(a) == 0 })
		p.await("the end of its turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle && shown(p, a) == 3*14034 })
		turn(p, a)
		p.await("the second alert", time.Minute, func() bool { return events(p, event.BudgetReached) == 2 })
	})
}

// TestBudgetIsRemoved: an agent at rest that is held, and for which nothing is queued, is free within seconds after the budget was
// taken out of its persona's skill.md.
func TestBudgetIsRemoved(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		limitTo(p, h, 14034)
		a := p.agent(h)
		turn(p, a)
		p.await("the note", time.Minute, func() bool { return p.row(a).Note != "" })
		p.wait("waits", 140*time.Second, 140*time.Second)
		equal(t, "the agent is not held any more", p.row(a).Note == "", false)
		limitTo(p, h, 0)
		p.await("the end of the hold", 10*time.Second, func() bool { return p.row(a).Note == "" })
	})
}

// TestBudgetHoldsWhileItIsWritten: while somebody writes the persona's skill.md, an agent that is held stays held.
func TestBudgetHoldsWhileItIsWritten(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := exhaust(p, t, h)
		writeSkill(p, h, "---\nname: x\nbudget: {daily_tok")
		p.wait("waits", 10*time.Second, 10*time.Second)
		if p.row(a).Note == "" || p.queued(a) != 1 {
			t.Errorf("note %q, %d texts queued", p.row(a).Note, p.queued(a))
		}
		limitTo(p, h, 0)
	})
}

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
		a.extra = goesOn(a, &over)
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
