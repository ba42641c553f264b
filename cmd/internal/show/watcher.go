package show

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// Watcher prints each phase of a handoff when it has ended, and draws the running phase.
type Watcher struct {
	*term.Progress
	announced bool         // GeneratingLabel was printed into a pipe
	heirs     map[int]bool // the heirs whose end was printed
}

// NewWatcher returns a watcher that prints to u.
func NewWatcher(u *term.UI) *Watcher { return &Watcher{Progress: &term.Progress{UI: u}} }

// Verdict prints how a handoff ended. It returns an error unless the handoff is completed.
func (p *Watcher) Verdict(h daemon.Handoff) error {
	if h.Phase == daemon.Completed {
		noun := "agent"
		if len(h.SuccessorIDs()) > 1 {
			noun = "agents"
		}
		p.Printf("%s in %s: agent %d handed over to %s %s\n", p.Green("completed"), words.Took(total(&h)), h.AgentID, noun, Successors(&h))
		for _, w := range h.Warnings {
			p.Printf("%s\n", p.Yellow(words.Terminal("warning: "+w)))
		}
		return nil
	}
	switch {
	case h.Error == nil:
		return fmt.Errorf("handoff %d is %s", h.ID, h.Phase)
	case h.Phase == daemon.Cancelled:
		return fmt.Errorf("handoff %d was cancelled in phase %s", h.ID, h.Error.Phase)
	}
	return fmt.Errorf("handoff %d %s in phase %s: %s", h.ID, h.Phase, h.Error.Phase, h.Error.Message)
}

// Watch prints the phases that end after the move seq, until the handoff has ended. It returns the ended handoff.
func (p *Watcher) Watch(ctx context.Context, c *api.Client, id, seq int64) (daemon.Handoff, error) {
	var h daemon.Handoff
	last := time.Time{}
	defer p.Clear()
	err := Await(ctx, c, p.Idle, func(ctx context.Context) (bool, error) {
		var err error
		if h, err = c.Handoff(ctx, id); err != nil {
			return false, err
		}
		moves, err := c.Transitions(ctx, id)
		if err != nil {
			return false, err
		}
		if last.IsZero() {
			last = h.CreatedAt
		}
		for _, m := range moves {
			if m.Seq > seq {
				seq = m.Seq
				if m.From == daemon.BriefingHeirs {
					p.heirsOver(&h)
				}
				p.generating(&h, m.From)
				p.phase(m, &h, m.At.Sub(last))
			}
			last = m.At
		}
		p.heirsOver(&h)
		if !h.Open() {
			return true, nil
		}
		p.Start(p.running(&h), last)
		if h.Hold.Is(daemon.HoldGenerating) {
			p.Wait("") // GeneratingLabel says the same
		} else {
			p.Wait(h.Note)
		}
		return false, nil
	})
	return h, err
}

// heirsOver prints each heir that has its briefing or has failed, once. An heir that a retry starts anew is printed again.
func (p *Watcher) heirsOver(h *daemon.Handoff) {
	if !h.HeirsFirst() {
		return
	}
	if p.heirs == nil {
		p.heirs = map[int]bool{}
	}
	for i := range h.Heirs {
		heir := &h.Heirs[i]
		over := heir.Phase == daemon.Completed || heir.Phase == daemon.Failed
		if over && !p.heirs[i] {
			took := time.Duration(0)
			if heir.PhaseAt != nil && h.RecordedAt != nil {
				took = heir.PhaseAt.Sub(*h.RecordedAt)
			}
			label := fmt.Sprintf("heir %d of %d", i+1, len(h.Heirs))
			if heir.Phase == daemon.Completed {
				p.Done(label, took, views.HeirWords(heir)+" took the prompt")
			} else {
				p.Failed(label, took, views.HeirWords(heir))
			}
		}
		p.heirs[i] = over
	}
}

// GeneratingLabel replaces the name of the phase while a fork writes the document. Meanwhile Esc cancels the handoff at
// once.
const GeneratingLabel = "Generating handoff… (esc to cancel)"

// running names the phase that a handoff is in.
func (p *Watcher) running(h *daemon.Handoff) string {
	if p.generating(h, h.Phase) && p.Terminal {
		return GeneratingLabel
	}
	return words.Of(h.Phase)
}

// generating reports whether a fork writes the document in that phase of a handoff. In a pipe it prints GeneratingLabel
// once, even if the phase had ended before Watch looked.
func (p *Watcher) generating(h *daemon.Handoff, phase daemon.Phase) bool {
	if h.Mode == daemon.ModeAgent || phase != daemon.Requested && phase != daemon.Generating {
		return false
	}
	if !p.Terminal && !p.announced {
		p.announced = true
		p.Printf("%s\n", GeneratingLabel)
	}
	return true
}

// phase prints the phase that a move ended.
func (p *Watcher) phase(m daemon.Transition, h *daemon.Handoff, took time.Duration) {
	switch {
	case m.From == daemon.Failed:
		p.Clear()
		p.Printf("  %s %s\n", p.Yellow("↻"), "retried: "+words.Of(m.To))
	case m.To == daemon.Failed || m.To == daemon.Cancelled:
		p.Failed(words.Of(m.From), took, string(m.To))
	case (m.To == daemon.Instructing || m.To == daemon.Generating) && m.From != daemon.Requested: // asked once more
		p.Failed(words.Of(m.From), took, m.Cause)
	default:
		p.Done(words.Of(m.From), took, phaseDetail(m, h))
	}
}

// phaseDetail says in a few words why a phase ended.
func phaseDetail(m daemon.Transition, h *daemon.Handoff) string {
	successor := "its successor"
	if h.SuccessorID != nil {
		successor = fmt.Sprintf("agent %d", *h.SuccessorID)
	}
	switch m.From {
	case daemon.Instructing:
		return fmt.Sprintf("agent %d took the instruction", h.AgentID)
	case daemon.AwaitingDocument:
		return fmt.Sprintf("agent %d ended its turn", h.AgentID)
	case daemon.Verifying:
		if m.To == daemon.Recorded {
			return h.FilePath
		}
	case daemon.ShuttingDown:
		return fmt.Sprintf("agent %d has ended", h.AgentID)
	case daemon.Spawning:
		return fmt.Sprintf("%s: %s", successor, m.Cause)
	case daemon.AwaitingRegistration:
		return successor + " has a session"
	case daemon.InjectingSkill:
		return fmt.Sprintf("%s plays %s", successor, h.Targets()[0])
	case daemon.Briefing:
		return successor + " took the prompt"
	}
	return m.Cause
}
