package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/tmux"
)

// share requests a handoff of an agent to heirs, and waits until it is in a phase.
func share(p *person, h *host, a *agent, in handoffs.HandoffRequest, until daemon.Phase) daemon.Handoff {
	in.Force = true
	p.w.ok(handOff(p, h, a.id, in))
	return p.reach(a, until)
}

// heirs returns a request with an heir for each persona.
func heirs(slugs ...string) (in handoffs.HandoffRequest) {
	for _, slug := range slugs {
		in.Heirs = append(in.Heirs, daemon.Heir{Persona: slug})
	}
	return in
}

// killHeir kills the agent of an heir as soon as that agent has its skill.
func killHeir(p *person, a *agent, heir int) {
	p.w.after = func(string) {
		list := p.handoffs(a.id)
		if len(list) == 0 || len(list[0].Heirs) <= heir || list[0].Heirs[heir].Phase != daemon.InjectingSkill {
			return
		}
		p.w.after = nil
		p.w.process(*list[0].Heirs[heir].AgentID).signal(syscall.SIGKILL)
	}
}

// TestAnotherPersonaTakesOver: an agent is handed over to one agent of another persona. It ends first, as in any handoff.
func TestAnotherPersonaTakesOver(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		done := share(p, h, a, heirs(personaSlugs[1]), daemon.Completed)
		next := rowOf(p, *done.SuccessorID)
		if next.PersonaSlug() != personaSlugs[1] || next.Name != personaSlugs[1] || next.Generation != 2 {
			t.Errorf("the successor is %s (%s), generation %d", next.Name, next.PersonaSlug(), next.Generation)
		}
		if done.SourceAgent != personaSlugs[0] || done.TargetAgent != personaSlugs[1] ||
			!strings.HasPrefix(done.Ref, "handoff_"+personaSlugs[0]+"_"+personaSlugs[1]+"_") {
			t.Errorf("from %s to %s, ref %s", done.SourceAgent, done.TargetAgent, done.Ref)
		}
		if ended := p.row(a).EndedAt; ended == nil || ended.After(next.CreatedAt) {
			t.Error("the outgoing agent ended after its successor began")
		}
	}))
}

// TestHeirIsLaunchedAsItself: an heir of another persona has that persona's text and model, the permission mode that was chosen for it, and may
// read the files of the handoff without asking.
func TestHeirIsLaunchedAsItself(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		skill := filepath.Join(h.dir.Persona(personaSlugs[1]), "skill.md")
		p.w.ok(os.WriteFile(skill, []byte("---\nname: kim\ndescription: tests\nmodel: opus\n---\nYou test.\n"), 0o600))
		p.w.ok(h.daemon.d.Personas.Refresh())
		a := p.agent(h)
		in := heirs(personaSlugs[1], personaSlugs[0])
		in.Keep, in.Heirs[0].PermissionMode = true, "plan"
		done := share(p, h, a, in, daemon.Completed)
		next := p.w.process(*done.Heirs[0].AgentID)
		if next.model != "opus" || next.mode != "plan" || !strings.Contains(launched(p, next), "You test.") {
			t.Errorf("it is launched with model %s, mode %s and the text\n%s", next.model, next.mode, launched(p, next))
		}
		names(t, "its settings", argument(p, next, "--settings"), "Read(/"+done.FilePath+")", "Read(/"+*done.ContextPath+")")
		equal(t, "the agent did not stay", p.row(a).EndedAt != nil, false)
	})
}

// TestRetryStartsWhatIsMissing: one of two heirs dies before it is briefed. The handoff fails and names it; the outgoing
// agent lives. A retry starts that heir alone, and then the outgoing agent ends.
func TestRetryStartsWhatIsMissing(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		killHeir(p, a, 1)
		failed := share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.Failed)
		briefed, missing := failed.Heirs[0], failed.Heirs[1]
		if briefed.Phase != daemon.Completed || missing.Phase != daemon.Failed || failed.Error.Phase != daemon.BriefingHeirs ||
			failed.Error.Code != "successor_gone" || !strings.Contains(failed.Error.Message, fmt.Sprintf("Heir %s (agent %d)", personaSlugs[1], *missing.AgentID)) {
			t.Errorf("failed with %+v; heirs %s and %s", failed.Error, briefed.Phase, missing.Phase)
		}
		equal(t, "the outgoing agent has ended", p.row(a).EndedAt != nil, false)
		p.retryToEnd(a)
		done := p.handoffs(a.id)[0]
		if *done.Heirs[0].AgentID != *briefed.AgentID || *done.Heirs[1].AgentID == *missing.AgentID || !done.Heirs[0].BriefedAt.Equal(*briefed.BriefedAt) {
			t.Errorf("after the retry: %+v", done.Heirs)
		}
	}))
}

// TestKeptAgentHandsOverAgain: an agent that was kept beside its heir gets the message that was sent to it meanwhile, and is
// handed over for good later.
func TestKeptAgentHandsOverAgain(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		share(p, h, a, handoffs.HandoffRequest{Keep: true}, daemon.AwaitingDocument)
		p.send(a.id)
		first := p.reach(a, daemon.Completed)
		if p.row(a).EndedAt != nil || len(first.Heirs) != 1 {
			t.Errorf("ended at %v, with the heirs %+v", p.row(a).EndedAt, first.Heirs)
		}
		p.await("the message", time.Minute, func() bool {
			open, err := p.w.store.OpenDeliveries(ctx(), a.id)
			return err == nil && len(open) == 0 && p.row(a).State == daemon.Idle
		})
		if list := deliveries(p.w, a.id); list[0].Kind != daemon.KindMessage || *list[0].Verdict != daemon.Submitted {
			t.Errorf("the message was not taken: %+v", list)
		}
		p.request(h, a, daemon.Completed)
		equal(t, "it lives on after the second handoff", p.row(a).EndedAt == nil, false)
	}))
}

// TestWorkBesideTheHeirs: an agent is given work while its heirs are briefed. The daemon asks before it ends the agent, and
// a retry lets the agent live.
func TestWorkBesideTheHeirs(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.afterFirst(func(what string) bool { return strings.Contains(what, "→ briefing_heirs") }, func() {
			a.person("Look at the barn", tmux.Enter)
		})
		share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.ShuttingDown)
		endsAfterAQuestion(p, a)
		if done := p.handoffs(a.id)[0]; p.row(a).EndedAt != nil || !done.Keep {
			t.Errorf("ended at %v, kept %v", p.row(a).EndedAt, done.Keep)
		}
	}))
}

// TestHeirsWithoutTheOutgoingAgent: the outgoing agent dies while its heirs are briefed. They have all they need.
func TestHeirsWithoutTheOutgoingAgent(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.afterFirst(func(what string) bool { return strings.Contains(what, "→ briefing_heirs") }, func() {
			a.signal(syscall.SIGKILL)
		})
		share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.Completed)
	}))
}

// TestABriefedHeirIsReady: an heir that is briefed takes messages and can be handed over, although another heir of the
// same handoff is not ready.
func TestABriefedHeirIsReady(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.born = func(b *agent) {
			if n := len(p.w.agents); n == 3 { // the heir that is started last, whichever of the two that is
				b.mood.start = 10 * time.Minute
			}
		}
		share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.BriefingHeirs)
		var first int64
		p.await("the first heir", time.Minute, func() bool {
			for _, heir := range p.handoffs(a.id)[0].Heirs {
				if heir.Phase == daemon.Completed {
					first = *heir.AgentID
				}
			}
			return first != 0
		})
		next := p.w.process(first)
		p.await("its turn", time.Minute, func() bool { return p.row(next).State == daemon.Idle && p.row(next).LastStop > 0 })
		p.send(first)
		p.await("the message", 20*time.Second, func() bool {
			open, err := p.w.store.OpenDeliveries(ctx(), first)
			return err == nil && len(open) == 0
		})
		if list := deliveries(p.w, first); list[0].Kind != daemon.KindMessage || list[0].Verdict == nil {
			t.Errorf("the message was not delivered: %+v", list)
		}
		if got := p.handoffs(a.id)[0]; !got.Open() {
			t.Errorf("the handoff is %s already", got.Phase)
		}
	}))
}

// TestRefusedBriefingIsSubmittedLater: a person types behind the prompt of an heir, and another hook refuses both. What returns to the composer
// is the person's draft: a retry puts it aside and briefs the heir, and the person submits the draft later.
func TestRefusedBriefingIsSubmittedLater(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.born = func(heir *agent) {
			heir.refusing = len(p.w.agents) == 2
			p.w.employEndless("somebody who types", func(p *person) {
				p.poll("the prompt", func() bool { return heir.composer.Text != "" })
				heir.person(" And look at the roof.")
			})
		}
		share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.Failed)
		heir := p.w.agents[1]
		heir.refusing = false
		p.retryToEnd(a)
		p.await("the end of its turn", time.Minute, func() bool { return p.row(heir).LastStop > 0 && heir.stop == nil })
		names(t, "the composer", heir.composer.Text, "look at the roof")
		heir.person("", tmux.Enter)
		p.await("the end of the turn of the draft", time.Minute, func() bool { return len(heir.answers) > 1 })
	}))
}

// TestCrashWhileHeirsAreBriefed: the daemon is killed before or after each of its writes and each of its acts in a terminal,
// from the record of a handoff with two heirs to its end. The handoff is completed every time, without a person. The rules
// of every run say that each heir is started and briefed once, and that the outgoing agent ends last.
func TestCrashWhileHeirsAreBriefed(t *testing.T) {
	for _, f := range []fault{crashBefore, crashAfter} {
		atEach(t, f, act, func(_ *testing.T, p *person, h *host, begin func()) {
			a := p.agent(h)
			afterRecord(p, begin)
			share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.Completed)
		})
	}
}

// wantsPlace is a request for a handoff in place.
func wantsPlace() handoffs.HandoffRequest {
	in := true
	return handoffs.HandoffRequest{Force: true, InPlace: &in}
}

// inPlace requests a handoff in place, and returns the successor when the handoff is completed.
func inPlace(p *person, h *host, a *agent) *agent {
	return p.w.process(*share(p, h, a, wantsPlace(), daemon.Completed).SuccessorID)
}

// TestInPlace: the successor takes the pane if the request or, where that says nothing, the setting says so; also the pane of a successor. Every
// run checks that no agent is started twice, and none in the pane of another that lives.
func TestInPlace(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		for _, c := range []struct {
			in      handoffs.HandoffRequest
			set, is bool
		}{{wantsPlace(), false, true}, {handoffs.HandoffRequest{}, true, true}, {handoffs.HandoffRequest{InPlace: new(bool)}, true, false}} {
			h.daemon.d.Settings().Handoff.InPlace = c.set
			next := p.w.process(*share(p, h, a, c.in, daemon.Completed).SuccessorID)
			if warned := p.handoffs(a.id)[0].Warnings; (next.ref == a.ref) != c.is || len(warned) != 0 {
				t.Errorf("%+v: in %s after %s: %q", c, next.ref.Pane, a.ref.Pane, warned)
			}
			a = next
		}
	}))
}

// TestCrashInPlace: the daemon is killed before or after each of its writes and each of its acts in a terminal, or tmux fails or
// its answer is lost, from the record of a handoff in place to its end. The successor is in the pane every time, without a
// person.
func TestCrashInPlace(t *testing.T) {
	typed := func(c *call) bool { return act(c) && c.kind == typing }
	for f, is := range map[fault]func(c *call) bool{crashBefore: act, crashAfter: act, failed: typed, lostAnswer: typed} {
		atEach(t, f, is, func(t *testing.T, p *person, h *host, begin func()) {
			a := p.agent(h)
			afterRecord(p, begin)
			if next := inPlace(p, h, a); next.ref != a.ref {
				t.Errorf("the successor is in %s, want it in %s: %q", next.ref.Pane, a.ref.Pane, p.handoffs(a.id)[0].Warnings)
			}
		})
	}
}

// TestLateInPlace: whatever was sent to the terminal until the successor was in the pane is carried out once more when the
// handoff is completed, as by a tmux that hung while its daemon was killed. The successor lives and gets nothing typed, and no
// other is started.
func TestLateInPlace(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		var late []func() error
		var what []string
		taken := false
		p.w.sent = func(act string, again func() error) {
			if !taken {
				what, late = append(what, act), append(late, again)
			}
			taken = taken || strings.HasPrefix(act, "Respawn ")
		}
		next := inPlace(p, h, a)
		p.w.sent = nil
		typed := len(h.term.Inputs(next.ref))
		for i, again := range late {
			_ = again()
			if got := len(h.term.Inputs(next.ref)); next.dead || got != typed {
				t.Errorf("%s: the successor is ended: %t, %d inputs, want %d", what[i], next.dead, got, typed)
				typed = got
			}
		}
		// The stop ladder of the predecessor may have been at any rung.
		own := fmt.Sprint(a.id)
		for name, err := range map[string]error{
			"Esc":  h.term.Press(ctx(), a.ref, tmux.Sight{Mark: own}, tmux.Escape),
			"text": h.term.Type(ctx(), a.ref, tmux.Sight{Mark: own}, "y"),
		} {
			if !errors.Is(err, tmux.ErrGone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if info, err := h.term.Inspect(ctx(), next.ref); len(late) < 4 || err != nil || info.Dead || info.Mark != fmt.Sprint(next.id) {
			t.Errorf("after %q: %+v, %v", what, info, err)
		}
	}))
}

// TestPlaceIsNotKeptForNobody: the agent dies before there is a record. The pane is kept until the handoff has failed.
func TestPlaceIsNotKeptForNobody(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		share(p, h, a, wantsPlace(), daemon.AwaitingDocument)
		a.end("for no reason", 1)
		p.reach(a, daemon.Failed)
		p.poll("no pane is left", func() bool { _, err := h.term.Inspect(ctx(), a.ref); return errors.Is(err, tmux.ErrGone) })
	}))
}

// TestNoPlace: the pane of the predecessor is not free in time, or is gone. The successor has a pane of its own, once, and a
// warning says so.
func TestNoPlace(t *testing.T) {
	for name, spoil := range map[string]func(h *host, a *agent){
		"a child has the terminal open": func(h *host, a *agent) { h.term.Update(a.ref, func(info *tmux.PaneInfo) { info.Dead = false }) },
		"the pane is gone":              func(h *host, a *agent) { _ = h.term.Kill(ctx(), a.ref) },
	} {
		storyAs(t, name, with(func(t *testing.T, p *person, h *host, a *agent) {
			beforeFirst(p.w, calls("Respawn "), func() {
				spoil(h, a)
			})
			next := inPlace(p, h, a)
			if warned := p.handoffs(a.id)[0].Warnings; next.ref == a.ref || len(warned) != 1 || !strings.Contains(warned[0], "did not take the pane") {
				t.Errorf("the successor is in %s: %q", next.ref.Pane, warned)
			}
		}))
	}
}

// TestNoPlaceOfAPerson: in the pane of an agent that a person has started runs the person's shell. Nothing is started there: the
// successor has a pane of its own, and a warning says so.
func TestNoPlaceOfAPerson(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := h.ownAgent()
		p.wait("its composer", 2*time.Second, 2*time.Second)
		a.person("begin the work", tmux.Enter)
		p.poll("its registration", func() bool { return a.id != 0 })
		p.w.ok(assign(p, h, a.id))
		respawned := false
		p.w.sent = func(act string, _ func() error) { respawned = respawned || strings.HasPrefix(act, "Respawn ") }
		next := inPlace(p, h, a)
		if warned := p.handoffs(a.id)[0].Warnings; respawned || next.ref == a.ref || !strings.Contains(strings.Join(warned, "\n"), "a shell may run in it") {
			t.Errorf("respawned: %t, the successor is in %s of %s: %q", respawned, next.ref.Pane, next.ref.Socket, warned)
		}
	})
}
