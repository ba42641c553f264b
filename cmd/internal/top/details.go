package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// details are the contents of the detail screen, which shows one row.
type details struct {
	key      key // if it is zero, the screen shows no details
	row      row // the newest state of the row
	handoff  *daemon.Handoff
	moves    []daemon.Transition
	pipeline *daemon.Pipeline
	spark    string // the use of the agent's context window over the last day; "": not known
	err      error
	old      bool // an event came after the details were read
	reading  bool
	read     int64     // the permission that the operator was shown; 0: none
	readAt   time.Time // since when the operator is shown it
}

// detailsOf begins to show a row.
func detailsOf(r *row) details {
	d := details{key: r.key, row: *r, old: true}
	if p := r.asked(); p != nil {
		d.read, d.readAt = p.ID, time.Now()
	}
	return d
}

// detailsMsg holds the daemon's answers about a row.
type detailsMsg struct {
	key      key
	handoff  *daemon.Handoff
	moves    []daemon.Transition
	pipeline *daemon.Pipeline
	spark    string
	err      error
}

func (d *details) took(msg detailsMsg) {
	d.reading, d.err = false, msg.err
	if msg.err == nil {
		d.handoff, d.moves, d.pipeline, d.spark = msg.handoff, msg.moves, msg.pipeline, msg.spark
	}
}

// readDetails reads the details again if they may have changed. It reads them at most once a second.
func (m *pages) readDetails(begin bool) tea.Cmd {
	d := &m.detail
	if !begin && m.screen != detailScreen || !d.old || d.reading || d.key.id == 0 {
		return nil
	}
	if r := m.row(); r != nil && r.key == d.key {
		d.row = *r
	}
	d.old, d.reading = false, true
	row, list := d.row, m.data.handoffs
	return m.ask(patience, func(ctx context.Context, c *api.Client) tea.Msg {
		msg := detailsMsg{key: row.key}
		if row.kind == pipelineRow {
			p, err := c.Pipeline(ctx, row.id)
			msg.pipeline, msg.err = &p, slow(ctx, err)
			return msg
		}
		msg.handoff, msg.err = handoffOf(ctx, c, &row, list)
		if msg.err == nil && msg.handoff != nil {
			msg.moves, msg.err = c.Transitions(ctx, msg.handoff.ID)
		}
		if msg.err == nil {
			msg.spark, msg.err = sparkOf(ctx, c, row.id)
		}
		msg.err = slow(ctx, msg.err)
		return msg
	})
}

// handoffOf returns the handoff that the details of a row show. That is the row's own handoff. If there is none, it is
// the newest handoff out of the agent, or else the handoff that started the agent. Without any of them, handoffOf
// returns nil.
func handoffOf(ctx context.Context, c *api.Client, r *row, list []daemon.Handoff) (*daemon.Handoff, error) {
	if r.handoff != nil {
		h, err := c.Handoff(ctx, r.handoff.ID)
		return &h, err
	}
	h, err := c.LatestHandoff(ctx, r.id)
	var told *daemon.Error
	switch {
	case err == nil:
		return &h, nil
	case !errors.As(err, &told) || told.Kind != daemon.KindNotFound:
		return nil, err
	}
	for i := range list {
		if slices.Contains(list[i].SuccessorIDs(), r.id) {
			return &list[i], nil
		}
	}
	return nil, nil
}

// detailLines returns all lines of the details, also the lines for which the screen has no room.
func (m *pages) detailLines(columns int) []string {
	d := &m.detail
	if r := m.row(); r != nil && r.key == d.key {
		d.row = *r
	}
	p := paper{columns: columns, say: m.cfg.Words}
	p.head(named(&d.row))
	here := m.row() != nil
	if !here {
		p.styled(yellow, m.goneWords())
	}
	if d.err != nil {
		p.styled(red, m.cfg.Explain(d.err))
	}
	switch {
	case d.row.kind == agentRow:
		m.describeAgent(&p, &d.row, here)
	case d.row.kind == pipelineRow && d.pipeline != nil:
		m.describePipeline(&p, d.pipeline)
	}
	if d.handoff != nil {
		p.blank()
		m.describeHandoff(&p, d.handoff, d.moves)
	}
	return p.lines
}

// describeAgent adds the fields of an agent. If the agent has ended, it leaves out the activity.
func (m *pages) describeAgent(p *paper, r *row, here bool) {
	a := r.agent
	if a.State == daemon.Limited && a.Limit != nil {
		p.field("limit", views.HasHit(a.Limit)+"; "+views.LimitWords(a))
	}
	if a.Trouble != nil {
		p.field("trouble", fmt.Sprintf("%s for %s; %s", words.TrimDot(a.Trouble.Words()), words.Age(m.now.Sub(a.Trouble.Since)), views.TroubleHint(a)))
	}
	if here {
		p.field("state", fmt.Sprintf("%s for %s", a.State, words.Age(m.now.Sub(a.StateAt))))
		p.field("waits for", a.WaitsFor)
		p.field("note", a.Note)
	}
	if asked := r.asked(); asked != nil && here {
		p.blank()
		p.head(fmt.Sprintf("permission %d for %s", asked.ID, asked.Tool))
		p.field("says", asked.Description)
		p.text(asked.Shown)
		p.field("Y allows", asked.Rule)
		p.blank()
	}
	p.field("asks", map[bool]string{true: "nobody: its permission mode is " + views.AsksNobody(a)}[views.AsksNobody(a) != ""])
	p.field("persona", fmt.Sprintf("%s, generation %d", cmp.Or(a.PersonaSlug(), "-"), a.Generation))
	p.field("context", contextBar(a.Context)+views.ContextInFull(a.Context))
	p.field("over time", m.detail.spark)
	p.field("directory", a.Cwd)
	p.field("branch", words.Join(":", a.Repository, a.Branch))
	p.field("asked", a.Asked)
	p.field("runtime", fmt.Sprintf("%s on host %s", a.Runtime, a.Host))
	if a.PipelineID != nil {
		p.field("works for", fmt.Sprintf("pipeline %d", *a.PipelineID))
	}
	if a.LastMessage != "" {
		p.blank()
		p.head("its last answer began")
		p.text(a.LastMessage)
	}
}

func (m *pages) describeHandoff(p *paper, h *daemon.Handoff, moves []daemon.Transition) {
	p.head(fmt.Sprintf("handoff %d, %s", h.ID, words.Of(h.Status)))
	p.field("from", fmt.Sprintf("agent %d (%s), generation %d", h.AgentID, h.SourceAgent, h.Generation))
	switch {
	case h.HeirsFirst():
		for i := range h.Heirs {
			p.field("to", views.HeirWords(&h.Heirs[i])+" "+words.Of(h.Heirs[i].Phase))
		}
	case h.SuccessorID != nil:
		p.field("to", fmt.Sprintf("agent %d", *h.SuccessorID))
	}
	p.field("reason", h.Reason)
	p.field("focus", h.Focus)
	p.field("waits for", h.Note)
	if h.Error != nil && h.Phase == daemon.Failed {
		p.field("failed in", fmt.Sprintf("%s (%s)", words.Of(h.Error.Phase), h.Error.Code))
		p.styled(red, p.say(h.Error.Message))
		p.styled(yellow, p.say(h.Error.Hint))
	}
	last := h.CreatedAt
	for _, t := range moves {
		mark := "✓"
		if t.To == daemon.Failed || t.To == daemon.Cancelled {
			mark = "✗"
		}
		p.line(fmt.Sprintf("%s %-22s %8s", mark, words.Of(t.From), words.Took(t.At.Sub(last))))
		last = t.At
	}
	if h.Open() {
		p.line(fmt.Sprintf("… %-22s %8s", words.Of(h.Phase), words.Age(m.now.Sub(last))))
	}
	for _, w := range h.Warnings {
		p.field("warning", w)
	}
}

func (m *pages) describePipeline(p *paper, r *daemon.Pipeline) {
	p.field("status", words.Of(r.Status))
	p.field("template", r.Template)
	p.field("request", r.Prompt)
	p.field("directory", r.Cwd)
	for _, w := range r.Warnings {
		p.field("warning", w)
	}
	p.blank()
	newest := -1
	for i := range r.Steps {
		s := &r.Steps[i]
		took := ""
		if s.StartedAt != nil && s.FinishedAt != nil {
			took = words.Took(s.FinishedAt.Sub(*s.StartedAt))
		}
		p.line(fmt.Sprintf("%d. %-20s %-10s %8s", i+1, words.Terminal(s.AgentName), words.Of(s.Status), took))
		if edge := views.EdgeWords(r, s); edge != "" {
			p.line("   " + words.Terminal(edge))
		}
		if s.LatestHandoff != nil {
			newest = i
		}
	}
	if newest >= 0 {
		p.blank()
		p.head(fmt.Sprintf("output of step %d", newest+1))
		p.text(r.Steps[newest].LatestHandoff.ContentMD)
	}
}

// paper collects lines and folds them to a width.
type paper struct {
	columns int
	say     func(string) string
	lines   []string
}

const fieldWidth = 11 // columns of a field's name and of the gap after the name

func (p *paper) blank()        { p.lines = append(p.lines, "") }
func (p *paper) line(s string) { p.lines = append(p.lines, fit.Cut(s, p.columns)) }
func (p *paper) head(s string) {
	p.lines = append(p.lines, bold.Render(fit.Cut(words.Terminal(s), p.columns)))
}

// styled adds a text in a style, folded to the width.
func (p *paper) styled(s style, text string) {
	for _, line := range fit.FoldWithin(words.Terminal(text), p.columns) {
		p.lines = append(p.lines, s.Render(line))
	}
}

// field adds a name and its value. It adds nothing if the value is empty.
func (p *paper) field(name, value string) {
	if strings.TrimSpace(value) == "" {
		return
	}
	for i, line := range fit.FoldWithin(words.Terminal(p.say(value)), p.columns-fieldWidth) {
		if i > 0 {
			name = ""
		}
		p.lines = append(p.lines, faint.Render(fit.Pad(name, fieldWidth))+line)
	}
}

// text adds a text that an agent wrote. It folds the lines, and keeps the line breaks.
func (p *paper) text(s string) {
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		folded := fit.FoldWithin(words.Terminal(line), p.columns)
		if len(folded) == 0 {
			folded = []string{""}
		}
		p.lines = append(p.lines, folded...)
	}
}
