package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// TestTierChangesAreLoggedAndHighIsAlerted: An agent shows how full its context is. The event log has only the
// changes of tier. With automatic handoffs turned off, the operator is told of a high tier.
func TestTierChangesAreLoggedAndHighIsAlerted(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		if a.Context != nil {
			t.Errorf("context %+v before the first turn", *a.Context)
		}
		want := func(use daemon.ContextUse, percent float64, tier daemon.Tier) {
			t.Helper()
			if use.Limit == nil || *use.Limit != 1_000_000 || use.Percent == nil || *use.Percent != percent || use.Tier != tier || use.Source != "statusline" {
				b, _ := json.Marshal(use)
				t.Errorf("context %s, want %v %% of 1000000 by the status line, tier %s", b, percent, tier)
			}
		}
		want(r.fillContext(a.ID, 590_000), 59, daemon.TierNormal)
		want(r.fillContext(a.ID, 610_000), 61, daemon.TierWarn)
		r.wantAlerts(a.ID, "agent_context_unknown", 0, "")
		want(r.fillContext(a.ID, 620_000), 62, daemon.TierWarn)
		r.doTurn(a.ID, "the same again")
		want(r.fillContext(a.ID, 710_400), 71, daemon.TierHigh)
		want(r.fillContext(a.ID, 990_000), 99, daemon.TierHigh)
		want(r.fillContext(a.ID, 100_000), 10, daemon.TierNormal)
		r.wantTiers(a.ID, daemon.TierNormal, daemon.TierWarn, daemon.TierHigh, daemon.TierNormal)
		high := r.agentEvents(a.ID, "agent_context")[2]
		if text, _ := field(t, high, "message").(string); !strings.Contains(text, "71 %") || !strings.Contains(text, fmt.Sprintf("`understudy handoff %d`", a.ID)) {
			t.Errorf("alert %q: want the percentage and the command", text)
		}
		if field(t, high, "percent") != 71.0 || field(t, high, "was") != "warn" || field(t, high, "limit") != 1e6 || field(t, high, "tokens") != 710_400.0 {
			t.Errorf("event %s", high.Payload)
		}
		told := r.notifications()
		if len(told) != 1 || field(t, told[0], "event_id") != float64(high.ID) {
			t.Errorf("the operator was told %+v, want one notification of the high tier", told)
		}
		r.wantHandoffs(a.ID, 0)
	})
}

// TestContextIsReadAgainAtTheRecord: without a status line, the use of the context is read from the transcript some seconds after a
// turn. The handoff has what the transcript says when the record is made.
func TestContextIsReadAgainAtTheRecord(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.memory.noStatusLine = true
		r.start()
		a := r.startAgent(con)
		if use := r.fillContext(a.ID, 300_000); use.Source != "transcript" {
			t.Fatalf("context %+v, want it from the transcript", use)
		}
		r.doTurn(a.ID, "go on @tokens 700000")
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		if h.ContextUse == nil || h.ContextUse.Tokens != 700_000 {
			t.Errorf("handed over at %+v, want 700000 tokens", h.ContextUse)
		}
	})
}

// TestStatusLineOfAnotherSessionIsIgnored: The daemon ignores a status line that reports another session. A session
// that begins anew has an empty context.
func TestStatusLineOfAnotherSessionIsIgnored(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.fillContext(a.ID, 610_000)
		r.reportContext(a.ID, "5c6b4a3e-0000-4000-8000-000000000001", 900_000, 1_000_000)
		if use := r.getAgent(a.ID).Context; use == nil || use.Tokens != 610_000 {
			t.Errorf("context %+v after a report of another session", use)
		}
		r.reportContext(a.ID, *a.SessionID, 620_000, 1_000_000)
		r.awaitTokens(a.ID, 620_000)

		r.personTypes(a.ID, "/clear", tmux.Enter)
		now := r.awaitAgent(a.ID, "another session", func(now daemon.Agent) bool { return *now.SessionID != *a.SessionID })
		if now.Context != nil {
			t.Errorf("context %+v after /clear", *now.Context)
		}
		r.reportContext(a.ID, *a.SessionID, 630_000, 1_000_000) // a late report of the old session
		if use := r.getAgent(a.ID).Context; use != nil {
			t.Errorf("context %+v after a late report of the session before", use)
		}
		r.fillContext(a.ID, 610_000)
		r.wantTiers(a.ID, daemon.TierWarn, daemon.TierWarn)
	})
}

// TestAutoHandsOverAFullAgentAtTheEndOfItsTurn: The operator is not told first.
func TestAutoHandsOverAFullAgentAtTheEndOfItsTurn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.enableAuto().start()
		a := r.startAgedAgent()
		r.fillContext(a.ID, 740_000)
		r.wantHandoffs(a.ID, 0)
		r.sendMessage(a.ID, "and on @tokens 760000")
		h := r.awaitAutomatic(a.ID)
		if h.Mode != daemon.ModeAgent {
			t.Errorf("mode is %s, want the default", h.Mode)
		}
		h = r.awaitPhase(h.ID, daemon.Completed)
		if h.ContextUse == nil || h.ContextUse.Percent == nil || *h.ContextUse.Percent < 75 {
			t.Errorf("the handoff's context use is %+v, want 75 %% or more", h.ContextUse)
		}
		if e := r.agentEvents(a.ID, "agent_context"); len(e) != 2 || field(t, e[1], "message") != nil {
			t.Errorf("tiers %+v: want no alert", e)
		}
		// The successor has a context of its own.
		next := r.awaitAgent(*h.SuccessorID, "its own context", func(a daemon.Agent) bool { return a.Context != nil })
		if *next.Context.Percent > 10 || len(r.handoffsOf(next.ID)) != 0 {
			t.Errorf("successor %+v", next)
		}
	})
}

// startAutoCancelled is an agent whose automatic handoff a person has cancelled.
func (r *rig) startAutoCancelled() daemon.Agent {
	r.t.Helper()
	r.enableAuto().start()
	a := r.startAgedAgent()
	r.misbehave("think=1m")
	r.sendMessage(a.ID, "go on @tokens 760000")
	r.awaitAutomatic(a.ID)
	if _, err := r.client.CancelHandoff(r.t.Context(), a.ID, 0); err != nil {
		r.t.Fatal(err)
	}
	r.misbehave("")
	return a
}

// TestAutoHandsOverEachAgentOnce: This holds whatever becomes of that handoff.
func TestAutoHandsOverEachAgentOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		a := r.startAutoCancelled()
		r.await("the end of all turns", func() (bool, string) { return r.getAgent(a.ID).State == daemon.Idle, "" })
		r.fillContext(a.ID, 800_000)
		r.wantHandoffs(a.ID, 1)
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed) // A person still may.
	})
}

// TestAutoSparesYoungAgentsAndThoseFullFromTheStart: Otherwise such an agent, which is new or was full from its
// start, would be handed over for ever.
func TestAutoSparesYoungAgentsAndThoseFullFromTheStart(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.enableAuto().start()
		a := r.startAgent(con)
		r.doTurn(a.ID, "hello")
		r.fillContext(a.ID, 760_000)
		r.wantHandoffs(a.ID, 0)
		r.backdateRegistration(a.ID)
		r.sendMessage(a.ID, "and now?")
		r.awaitPhase(r.awaitAutomatic(a.ID).ID, daemon.Completed)

		b := r.startAgent(con)
		r.fillContext(b.ID, 700_000)
		r.backdateRegistration(b.ID)
		r.fillContext(b.ID, 760_000)
		r.wantHandoffs(b.ID, 0)
		r.fillContext(b.ID, 799_000)
		r.wantHandoffs(b.ID, 0)
		r.sendMessage(b.ID, "grow @tokens 800000")
		r.awaitPhase(r.awaitAutomatic(b.ID).ID, daemon.Completed)
	})
}

// TestAutoWaitsForTheEndOfTheTurn: The daemon does not cut a turn off, although the agent is old and full.
func TestAutoWaitsForTheEndOfTheTurn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.enableAuto()
		looks := r.countLooks()
		r.start()
		a := r.startAgent(con)
		r.doTurn(a.ID, "hello")
		r.fillContext(a.ID, 760_000)
		release := r.holdTurn(a.ID, "long work")
		r.backdateRegistration(a.ID)
		for range 2 { // A look may have begun before.
			before := looks.Load()
			r.sendHook(r.newHook(a.ID, "PostToolUse", nil))
			r.await("a look at the agent", func() (bool, string) { return looks.Load() > before, "" })
		}
		r.wantHandoffs(a.ID, 0)
		release()
		h := r.awaitPhase(r.awaitAutomatic(a.ID).ID, daemon.Completed)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindMessage, daemon.KindMessage, daemon.KindInstruction, daemon.KindExit)
		r.wantTold(a.ID, "hello", "go on", "long work", "["+h.Ref)
	})
}

// TestAutoRefusedIsToldOnceAndNotRetried: If the daemon cannot request the handoff, it tells the operator once and
// does not try again.
func TestAutoRefusedIsToldOnceAndNotRetried(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.enableAuto().start()
		a := r.startAgedAgent()
		skill := filepath.Join(r.dir.Persona(con), "skill.md")
		text := r.readFile(skill)
		if err := os.Remove(skill); err != nil {
			t.Fatal(err)
		}
		r.await("persona that cannot be played", func() (bool, string) {
			p, err := r.client.Persona(context.Background(), con)
			return err == nil && p.Problem != nil, fmt.Sprint(p, err)
		})
		r.fillContext(a.ID, 760_000)
		r.await("the refusal logged", func() (bool, string) { return len(r.agentEvents(a.ID, "agent_handoff_refused")) > 0, "" })
		r.fillContext(a.ID, 800_000)
		r.wantHandoffs(a.ID, 0)
		r.wantAlerts(a.ID, "agent_handoff_refused", 1, fmt.Sprintf("`understudy handoff %d`", a.ID))
		if code := field(t, r.agentEvents(a.ID, "agent_handoff_refused")[0], "code"); code != "persona_broken" {
			t.Errorf("refused with %v, want persona_broken", code)
		}
		if err := data.WriteFile(skill, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.await("persona that can be played", func() (bool, string) {
			p, err := r.client.Persona(context.Background(), con)
			return err == nil && p.Problem == nil, fmt.Sprint(p, err)
		})
		r.fillContext(a.ID, 810_000)
		r.wantHandoffs(a.ID, 0)
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	})
}

// TestGenerationsWithoutProgressAreToldOf: Several generations fill their contexts and change nothing. From the fifth
// on, both the operator and the successor are told. A generation that touches a file ends the count.
func TestGenerationsWithoutProgressAreToldOf(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		r.misbehave("no-headings") // Its document has no decisions.
		a := r.startSpokenTo()
		const warning = "generations in a row have filled their context"
		for generation := 1; generation <= 7; generation++ {
			if generation == 7 {
				r.doTurn(a.ID, "@edit notes.txt")
			}
			in, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Reason: daemon.ReasonContext})
			if err != nil {
				t.Fatal(err)
			}
			h := r.awaitPhase(in.HandoffID, daemon.Completed)
			n := 0
			if generation == 5 || generation == 6 {
				n = 1
				if part := fmt.Sprintf("%d %s", generation, warning); !strings.Contains(r.readFile(*h.ContextPath), part) {
					t.Errorf("context file does not say %q", part)
				}
			}
			r.wantAlerts(a.ID, "agent_without_progress", n, fmt.Sprintf("The last %d generations", generation))
			if got := strings.Count(strings.Join(h.Warnings, "\n"), warning); got != n {
				t.Errorf("generation %d: %d warnings of it, want %d: %q", generation, got, n, h.Warnings)
			}
			a = r.awaitState(*h.SuccessorID, daemon.Idle)
		}
	})
}

func TestCompactionIsAlertedAndAllowedWithoutAuto(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a, bare := r.startAgedAgent(), r.startAgent("")
		r.doTurn(a.ID, "work on @compact @tokens 900000")
		r.wantAlerts(a.ID, "agent_compacting", 1, fmt.Sprintf("`understudy handoff %d`", a.ID))
		if field(t, r.agentEvents(a.ID, "agent_compacting")[0], "refused") != false {
			t.Error("the compaction was refused")
		}
		r.wantCompactions(a.ID, 1)
		r.awaitTokens(a.ID, 30_000)
		r.wantHandoffs(a.ID, 0)

		r.doTurn(bare.ID, "work on @compact") // This agent's work would not be lost.
		r.wantCompactions(bare.ID, 1)
		r.wantAlerts(bare.ID, "agent_compacting", 0, "")
	})
}

// TestAutoRefusesTheFirstCompactionAndHandsOver: The first compaction is refused, and the agent is handed over at the
// end of that turn, even if it is young and its context empty. A second compaction goes on, because an agent must not
// run into its limit.
func TestAutoRefusesTheFirstCompactionAndHandsOver(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.enableAuto().start()
		a := r.startSpokenTo()
		release := r.holdTurn(a.ID, "work on @compact")
		id := r.awaitAutomatic(a.ID).ID
		r.awaitNote(id, noteBusyPart)
		r.wantAlerts(a.ID, "agent_compacting", 1, "handed over at the end of its turn")
		r.personTypes(a.ID, "and this, too @compact", tmux.Enter)
		r.awaitShown(a.ID, "Queued: and this, too")
		release()
		h := r.awaitPhase(id, daemon.Completed)
		if h.Mode != daemon.ModeGenerate {
			t.Errorf("mode is %s, want generate: the agent would compact before it reads an instruction", h.Mode)
		}
		r.wantTold(a.ID, "Find out why", "work on @compact", "and this, too")
		r.wantCompactions(a.ID, 1)
		r.wantCompactionsRefused(a.ID, true, false)

		b := r.awaitState(*h.SuccessorID, daemon.Idle)
		release = r.holdTurn(b.ID, "work on @compact")
		r.awaitNote(r.awaitAutomatic(b.ID).ID, noteBusyPart)
		r.cancelHandoff(b.ID, daemon.Generating)
		release()
		r.awaitState(b.ID, daemon.Idle)
		r.wantCompactions(b.ID, 0)
		r.doTurn(b.ID, "once more @compact")
		r.wantCompactions(b.ID, 1)
		r.wantHandoffs(b.ID, 1)
		r.wantCompactionsRefused(b.ID, true, false)

		bare := r.startAgent("")
		r.doTurn(bare.ID, "work on @compact")
		r.wantCompactions(bare.ID, 1)
		r.wantHandoffs(bare.ID, 0)
		r.wantAlerts(bare.ID, "agent_compacting", 0, "")
	})
}

// wantCompactionsRefused fails unless the events of the agent's compactions say this, in order: refused or not.
func (r *rig) wantCompactionsRefused(agentID int64, want ...any) {
	r.t.Helper()
	var got []any
	for _, e := range r.agentEvents(agentID, "agent_compacting") {
		got = append(got, field(r.t, e, "refused"))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("agent %d: compactions refused: %v, want %v", agentID, got, want)
	}
}

// TestCompactionAfterCancelledAutoIsAllowed: Such an agent is not handed over by itself again, so nothing would
// follow a refusal.
func TestCompactionAfterCancelledAutoIsAllowed(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		a := r.startAutoCancelled()
		r.awaitState(a.ID, daemon.Idle)
		r.doTurn(a.ID, "work on @compact")
		r.wantCompactions(a.ID, 1)
		r.wantHandoffs(a.ID, 1)
		r.wantAlerts(a.ID, "agent_compacting", 1, fmt.Sprintf("`understudy handoff %d`", a.ID))
	})
}
