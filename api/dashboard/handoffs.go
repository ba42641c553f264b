package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

const pageOfHandoffs = 50

// handoffs is the data of the list of handoffs.
type handoffs struct {
	Handoffs []handoffRow
	Status   string
	Persona  string
	Statuses []daemon.Status
	Personas []string
	Before   int64 // the next page has the ids below Before; 0: there is no next page
	Later    bool  // the page does not begin with the newest handoff
}

// handoffRow is a handoff in a list.
type handoffRow struct {
	*daemon.Handoff
	Now time.Time
}

func handoffRows(list []daemon.Handoff, now time.Time) (out []handoffRow) {
	for i := range list {
		out = append(out, handoffRow{&list[i], now})
	}
	return out
}

// Handoffs draws the list of handoffs that f selects.
func (p *Pages) Handoffs(ctx context.Context, f daemon.HandoffFilter) (*Page, error) {
	f.Limit = pageOfHandoffs
	list, err := p.Daemon.Handoffs(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &handoffs{Status: string(f.Status), Persona: f.Persona, Later: f.Before > 0, Statuses: []daemon.Status{
		daemon.StatusInProgress, daemon.StatusPending, daemon.StatusFailed, daemon.StatusCompleted, daemon.StatusCancelled,
	}}
	for _, persona := range p.Personas.List() {
		out.Personas = append(out.Personas, persona.Slug)
	}
	if f.Persona != "" && !slices.Contains(out.Personas, f.Persona) {
		out.Personas = append(out.Personas, f.Persona)
	}
	if len(list) == pageOfHandoffs {
		out.Before = list[len(list)-1].ID
	}
	page := p.page("handoffs", "Handoffs", "handoffs", "handoff", out)
	out.Handoffs = handoffRows(list, page.Now)
	return page, nil
}

// handoff is one handoff, phase by phase.
type handoff struct {
	daemon.Handoff
	From     daemon.Agent
	To       *daemon.Agent // nil: no successor yet
	Stages   []stage
	Compared string // with what the phases are compared; "": with nothing
	Moves    []daemon.Transition
	Record   record
	Here     bool // the daemon of this host works on the handoff
	Copies   bool // a copy of the agent's session can write the document
}

// record is what a handoff passed on beside its document, as far as the page shows it; the zero value: nothing is recorded.
type record struct {
	Decisions  recorded[data.Decision]
	Todos      recorded[data.Todo]
	References recorded[data.Reference]
	Messages   recorded[data.Message]
}

// recorded is a part of a record: the newest entries, and how many there are.
type recorded[T any] struct {
	Newest []T
	All    int
}

func newest[T any](list []T) recorded[T] {
	const most = 50
	return recorded[T]{list[max(0, len(list)-most):], len(list)}
}

// record reads what a handoff passed on.
func (p *Pages) record(ctx context.Context, h *daemon.Handoff) (out record, err error) {
	if h.RecordedAt == nil {
		return out, nil
	}
	r, err := p.Daemon.Record(ctx, h.ID)
	if told, ok := errors.AsType[*daemon.Error](err); ok && told.Code == daemon.CodeRecordMissing {
		return out, nil // of a handoff of an early version
	}
	return record{newest(r.Decisions), newest(r.Todos), newest(r.References), newest(r.Messages)}, err
}

// stage is one phase of a handoff, with its progress.
type stage struct {
	Phase daemon.Phase
	State string        // done, now, failed, cancelled, skipped or ahead
	At    *time.Time    // when the phase began the last time
	Took  time.Duration // how long the handoff was in the phase; for the current phase without the time since At
	Bar   *bar          // nil: there is nothing to compare
}

// bar is how long a phase took, beside the median of other handoffs, as parts of the longest of all these times.
type bar struct {
	W, Median string // Median "": there is none
	Says      string
}

// OtherMode returns the mode to which a retry can change the handoff. If the document is recorded, the mode is fixed and
// OtherMode returns "". It does not return generate for an agent whose session cannot be copied.
func (h *handoff) OtherMode() daemon.Mode {
	switch {
	case h.RecordedAt != nil || h.Mode == daemon.ModeAgent && !h.Copies:
		return ""
	case h.Mode == daemon.ModeAgent:
		return daemon.ModeGenerate
	}
	return daemon.ModeAgent
}

// HasDocument says whether the handoff may have a document to show.
func (h *handoff) HasDocument() bool {
	return h.RecordedAt != nil || h.Phase == daemon.Verifying || h.Error != nil && h.Error.Phase == daemon.Verifying && h.Error.Code != data.DocumentMissing
}

// Handoff draws the page of one handoff.
func (p *Pages) Handoff(ctx context.Context, id int64) (*Page, error) {
	h, err := p.Daemon.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &handoff{Handoff: h, Here: h.Host == p.Daemon.Host}
	watch := idWatch("handoff", id)
	if out.From, err = p.Daemon.Agent(ctx, h.AgentID); err != nil {
		return nil, err
	}
	out.Copies = p.Daemon.CopiesSession(&out.From)
	agents := []daemon.Agent{out.From}
	for _, id := range h.SuccessorIDs() {
		to, err := p.Daemon.Agent(ctx, id)
		if err != nil {
			return nil, err
		}
		if out.To == nil {
			out.To = &to
		}
		agents = append(agents, to)
		watch += " " + idWatch("agent", to.ID)
	}
	if out.Moves, err = p.Daemon.Transitions(ctx, id); err != nil {
		return nil, err
	}
	if out.Record, err = p.record(ctx, &h); err != nil {
		return nil, err
	}
	out.Stages = stages(&h, out.Moves)
	took, err := p.Pictures.DurationsOf(ctx, &h)
	if err != nil {
		return nil, err
	}
	out.Compared = compared(&took, out.Stages)
	page := p.page("handoff", fmt.Sprintf("Handoff %d", id), "handoffs", watch+" "+idWatch("agent", h.AgentID), out)
	page.Needs = len(p.needs(&views.Overview{At: page.Now, Handoffs: []daemon.Handoff{h}}, agents...))
	return page, nil
}

// stages returns the phases of the handoff's mode, and the phases in which the handoff was in the other mode.
func stages(h *daemon.Handoff, moves []daemon.Transition) (out []stage) {
	began := map[daemon.Phase]*time.Time{daemon.Requested: &h.CreatedAt}
	for i := range moves {
		began[moves[i].To] = &moves[i].At
	}
	all, due := daemon.OpenPhases(), phases(h)
	at, state := h.Phase, "now"
	if h.Error != nil && !h.Open() {
		at, state = h.Error.Phase, string(h.Phase)
	}
	end := slices.Index(all, at)
	if h.Phase == daemon.Completed || end < 0 {
		end = len(all)
	}
	for i, phase := range all {
		s := stage{Phase: phase, State: "ahead", At: began[phase], Took: time.Duration(h.Metrics.Phases[phase]) * time.Millisecond}
		switch {
		case i == end:
			s.State = state
		case i < end && s.At != nil:
			s.State = "done"
		case i < end:
			s.State = "skipped"
		}
		if slices.Contains(due, phase) || s.At != nil {
			out = append(out, s)
		}
	}
	return out
}

// compared gives the stages their bars, and says with what they are compared.
func compared(took *pictures.Durations, stages []stage) string {
	longest := int64(1)
	for _, p := range took.Phases {
		longest = max(longest, p.MS)
		if p.MedianMS != nil {
			longest = max(longest, *p.MedianMS)
		}
	}
	for i := range stages {
		s := &stages[i]
		at := slices.IndexFunc(took.Phases, func(p pictures.PhaseDuration) bool { return p.Phase == s.Phase })
		if at < 0 || s.State == "skipped" || s.State == "ahead" && took.Phases[at].MedianMS == nil {
			continue
		}
		one := took.Phases[at]
		s.Bar = &bar{W: percent(float64(one.MS) / float64(longest))}
		if one.MedianMS != nil {
			s.Bar.Median, s.Bar.Says = percent(float64(*one.MedianMS)/float64(longest)), "median "+milliseconds(*one.MedianMS)
		}
	}
	if took.MedianMS == nil {
		return ""
	}
	others := words.Count(took.Of, "other completed handoff")
	if took.Of > 1 {
		others = "the last " + others
	}
	return fmt.Sprintf("The median of %s is %s in all. In each bar the thin line is the median of the phase.", others, milliseconds(*took.MedianMS))
}

func milliseconds(ms int64) string { return words.Took(time.Duration(ms) * time.Millisecond) }

// paper is the data of the page of a document or a context file.
type paper struct {
	daemon.Handoff
	Kind  string // document or context
	Title string
	Bytes int64
	HTML  template.HTML
}

// Document draws a handoff's document.
func (p *Pages) Document(ctx context.Context, id int64) (*Page, error) {
	return p.paper(ctx, id, paper{Kind: "document", Title: "Document"}, p.Daemon.Document)
}

// Context draws a handoff's context file, which its successor reads.
func (p *Pages) Context(ctx context.Context, id int64) (*Page, error) {
	return p.paper(ctx, id, paper{Kind: "context", Title: "Context file"}, p.Daemon.ContextFile)
}

func (p *Pages) paper(ctx context.Context, id int64, out paper, read func(context.Context, int64) ([]byte, error)) (*Page, error) {
	h, err := p.Daemon.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	content, err := read(ctx, id)
	if err != nil {
		return nil, err
	}
	out.Handoff, out.Bytes, out.HTML = h, int64(len(content)), markdown(string(content))
	return p.page("paper", fmt.Sprintf("%s of handoff %d", out.Title, id), "handoffs", idWatch("handoff", id), &out), nil
}
