package sim

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/tmux"
)

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
