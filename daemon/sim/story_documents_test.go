package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// write writes a good document of a handoff in place of its agent.
func (p *person) write(a *agent, hf *daemon.Handoff) {
	now := a.h.now()
	p.w.ok(os.RemoveAll(data.ContextPath(hf.FilePath)))
	writeByHand(p, hf, "# Handoff\n\n## What Was Done\n\nAll.\n\n## Next Agent Context\n\nGo on.\n", now)
	a.documentAt, a.unmentioned = now, nil
}

// kinds returns the kinds of the deliveries of an agent, the oldest first.
func kinds(p *person, a *agent) (kinds []daemon.DeliveryKind) {
	for _, d := range slices.Backward(deliveries(p.w, a.id)) {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}

// wantFailure fails unless a handoff failed in a phase with a code, before its record, in a sentence that says how to retry it, and its
// outgoing agent lives.
func wantFailure(p *person, t *testing.T, hf *daemon.Handoff, phase daemon.Phase, code daemon.Code, parts ...string) {
	t.Helper()
	if hf.Error == nil || hf.Error.Phase != phase || hf.Error.Code != code || hf.RecordedAt != nil || hf.SuccessorID != nil {
		t.Errorf("handoff failed with %+v, recorded %v; want %s in %s", hf.Error, hf.RecordedAt, code, phase)
		return
	}
	names(t, "the failure", hf.Error.Message+hf.Error.Hint, append(parts, fmt.Sprintf("understudy handoff retry %d", hf.ID))...)
	if row := rowOf(p, hf.AgentID); !row.Active() {
		t.Errorf("the outgoing agent is %s", row.State)
	}
}

// instead makes something in place of a file.
func instead(make func(string) error) func(string) error {
	return func(path string) error { _ = os.Remove(path); return make(path) }
}

// TestDocumentsThatAreRefused: a document that the check refuses fails the handoff, and the agent is told nothing more. A retry takes the
// document if it is right by then. Else it puts what is there aside and asks anew, the agent or a copy of its session.
func TestDocumentsThatAreRefused(t *testing.T) {
	writes := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	for code, spoil := range map[daemon.Code]func(path string) error{
		data.DocumentMissing: os.Remove, data.DocumentEmpty: writes(""), data.DocumentBlank: writes(" \n\n"), data.DocumentTooLarge: writes(strings.Repeat("x", 1<<20)),
		data.DocumentNotRegular: instead(func(path string) error { return os.Mkdir(path, 0o700) }),
		data.DocumentOutside:    instead(func(path string) error { return os.Symlink("/etc/passwd", path) }),
		"context_unwritable": func(path string) error {
			return os.MkdirAll(filepath.Join(data.ContextPath(path), "in the way"), 0o700)
		},
	} {
		for _, then := range []string{"right", string(daemon.ModeAgent), string(daemon.ModeGenerate)} {
			if code == "context_unwritable" && then != "right" {
				continue // the document is good
			}
			storyAs(t, fmt.Sprint(code, " ", then), withWorked(func(t *testing.T, p *person, h *host, a *agent) {
				beforeFirst(p.w, commits("→ verifying"), func() { p.w.ok(spoil(p.handoffs(a.id)[0].FilePath)) })
				bad := p.request(h, a, daemon.Failed)
				wantFailure(p, t, &bad, daemon.Verifying, code, strings.TrimSuffix(bad.FilePath, ".md"))
				want, in := []daemon.DeliveryKind{daemon.KindInstruction, daemon.KindExit}, handoffs.Retry{}
				switch then {
				case "right":
					turn(p, a) // a document that is older than its end would be outdated
					p.wait("thinks", time.Second, time.Second)
					p.write(a, &bad)
					want = slices.Insert(want, 1, daemon.KindMessage)
				case string(daemon.ModeAgent):
					want = slices.Insert(want, 0, daemon.KindInstruction)
				default:
					in.Mode = daemon.ModeGenerate
				}
				p.w.ok(retryAs(p, &bad, in))
				done := p.reach(a, daemon.Completed)
				if got := kinds(p, a); !slices.Equal(got, want) || done.Error != nil {
					t.Errorf("the agent was typed %v, want %v; %+v", got, want, done.Error)
				}
				if anew := then == string(daemon.ModeAgent); done.FilePath != bad.FilePath || (done.Ref != bad.Ref) != anew {
					t.Errorf("document %s with ref %s, before %s with %s", done.FilePath, done.Ref, bad.FilePath, bad.Ref)
				}
				if _, err := os.Lstat(strings.TrimSuffix(bad.FilePath, ".md") + ".aside.md"); (err == nil) != (then != "right" && code != data.DocumentMissing) {
					t.Errorf("the document that was refused: %v", err)
				}
			}))
		}
	}
}

// TestCopiesThatFail: a copy of the session that says nothing, reports an error or takes too long fails the handoff in the contract's words.
// The agent is not touched. A retry may ask the agent itself; after the record, the mode can no longer change.
func TestCopiesThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		text, failure string
		takes         time.Duration
		code          daemon.Code
		message       string
	}{
		"empty":    {" ", "", 0, "generation_empty", "Handoff failed: generation produced no content"},
		"an error": {"", "API Error: 529 overloaded", 0, "generation_failed", "Handoff failed: API Error: 529 overloaded"},
		"hangs":    {"", "", time.Hour, "document_timeout", "Handoff failed: the document was not generated in time (document_timeout 1m30s)"},
	} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			a.copied = func(string) (string, string) { return c.text, c.failure }
			p.w.holdFirst(c.takes, calls("one-shot writes"))
			p.requestHandoff(h, a, daemon.ModeGenerate)
			bad := p.reach(a, daemon.Failed)
			wantFailure(p, t, &bad, daemon.Generating, c.code, "`--mode agent`")
			if bad.Error.Message != c.message || len(kinds(p, a)) != 0 {
				t.Errorf("it failed with %q; the agent was typed %v", bad.Error.Message, kinds(p, a))
			}
			p.w.born = func(next *agent) { p.w.born, next.undead = nil, true; next.end("died", 1) }
			p.w.ok(retryAs(p, &bad, handoffs.Retry{Mode: daemon.ModeAgent}))
			p.await("the end of the successor", 5*time.Minute, func() bool { return p.handoffs(a.id)[0].Phase == daemon.Failed })
			again := p.handoffs(a.id)[0]
			if again.RecordedAt == nil || again.Mode != daemon.ModeAgent {
				t.Errorf("%+v", again)
			}
			wantCode(t, retryAs(p, &again, handoffs.Retry{Mode: daemon.ModeGenerate}), "handoff_recorded")
			p.w.ok(retryAs(p, &again, handoffs.Retry{Mode: daemon.ModeAgent}))
			p.reach(a, daemon.Completed)
		}))
	}
}

// TestTurnThatDoesNotEnd: a turn goes on for longer than busy_timeout, with or without a dialog. The handoff fails and says what the agent
// did, and the Stop of that turn is not answered. A retry instructs the agent anew.
func TestTurnThatDoesNotEnd(t *testing.T) {
	for _, asks := range []bool{false, true} {
		storyAs(t, fmt.Sprint("asks ", asks), with(func(t *testing.T, p *person, h *host, a *agent) {
			over := false
			if a.extra = goesOn(a, &over); asks {
				a.extra = a.permission
			}
			a.person("some work", tmux.Enter)
			p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working || a.dialog != nil })
			bad := p.request(h, a, daemon.Failed)
			says := "the agent is in a turn"
			if asks {
				says = "Do you want to proceed?"
			}
			wantFailure(p, t, &bad, daemon.Instructing, "busy_timeout", "2m0s", says)
			if told := eventsOf(p, event.HandoffWaiting); asks != slices.ContainsFunc(told, func(e event.Event) bool { return e.Alert && strings.Contains(e.Words(), "a dialog is open") }) {
				t.Errorf("told that the handoff waits: %+v", told)
			}
			if over = true; asks {
				a.person("", tmux.Enter)
			}
			p.await("the end of its turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
			equal(t, "prompts that the agent was given", len(a.given), 1)
			p.retryToEnd(a)
		}))
	}
}

// TestDocumentWithoutAStop: no hook tells of the end of the document's turn. The daemon sees that the document is there and the agent idle.
func TestDocumentWithoutAStop(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.loseHooks(hooks.Stop)
		done := p.request(h, a, daemon.Completed)
		moves, err := p.w.store.Transitions(ctx(), done.ID)
		if err != nil || !slices.ContainsFunc(moves, func(m daemon.Transition) bool {
			return m.To == daemon.Verifying && strings.Contains(m.Cause, "without a Stop")
		}) {
			t.Errorf("moves %+v: %v", moves, err)
		}
	}))
}

// TestCancelledHandoff: a handoff can be cancelled until its record: while the agent is busy and never hears of it, while the instruction is
// on its way, while the agent or a copy of it writes. The agent lives on, what it still writes completes nothing, and the next
// handoff has a document of its own. After the record the cancellation is refused.
func TestCancelledHandoff(t *testing.T) {
	for _, in := range []daemon.Phase{daemon.Instructing, daemon.AwaitingDocument, daemon.Generating, daemon.ShuttingDown} {
		storyAs(t, string(in), with(func(t *testing.T, p *person, h *host, a *agent) {
			a.mood.think = 20 * time.Second
			a.person("some work", tmux.Enter)
			awaitTurn(p, a)
			mode := daemon.ModeAgent
			copied := 0
			if in == daemon.Generating {
				mode, a.copied = daemon.ModeGenerate, func(text string) (string, string) { copied++; return text, "" }
				p.w.holdFirst(time.Minute, calls("one-shot writes"))
				awaitRest(p, a)
			}
			p.requestHandoff(h, a, mode)
			first := p.reach(a, in)
			if in == daemon.ShuttingDown {
				wantCode(t, cancel(p, h, a.id), "handoff_recorded")
				p.reach(a, daemon.Completed)
				return
			}
			if in == daemon.Generating {
				p.wait("lets it begin", 5*time.Second, 5*time.Second)
			}
			p.w.ok(cancel(p, h, a.id))
			wantCode(t, cancel(p, h, a.id), "handoff_ended")
			wantCode(t, retryAs(p, &first, handoffs.Retry{}), "handoff_not_failed")
			p.wait("looks on", 2*time.Minute, 2*time.Minute)
			got := p.handoffs(a.id)[0]
			if got.Phase != daemon.Cancelled || got.RecordedAt != nil || got.Error.Message != "Handoff cancelled" || got.Error.Phase != in || p.row(a).State != daemon.Idle {
				t.Errorf("handoff %d is %s (%+v), and the agent is %s", got.ID, got.Phase, got.Error, p.row(a).State)
			}
			if given := len(a.given) - 1; given != map[daemon.Phase]int{daemon.AwaitingDocument: 1}[in] || copied != 0 {
				t.Errorf("the agent was given %q; %d copies have written", a.given, copied)
			}
			if done := p.request(h, a, daemon.Completed); done.ID == first.ID || done.FilePath == first.FilePath || done.Ref == first.Ref {
				t.Errorf("after handoff %+v: %+v", first, done)
			}
		}))
	}
}
