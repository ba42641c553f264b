package top

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/sgr"
	"github.com/understudyd/understudy/daemon/words"
)

// previewMode says what the operator has chosen for the preview.
type previewMode int

const (
	previewAuto previewMode = iota // nothing: the preview is shown where there is room beside the list
	previewPart                    // beside the list, or below it
	previewFull
	previewOff
)

// spot is where the preview is shown.
type spot int

const (
	nowhere spot = iota
	alongside
	below
	full
)

const (
	besideFrom = 120 // columns from which the preview is beside the list
	tallEnough = 10  // lines without which there is no room for list and preview
	mostList   = 100 // columns of the list beside a preview

	previewPace   = 500 * time.Millisecond // between two reads while the pane changes
	previewSlow   = 4 * previewPace        // the longest time between two reads
	previewSettle = 60 * time.Millisecond  // the selection stays so long before its pane is read
	lookedAfter   = 2 * time.Second        // after so long in front of the operator, a preview was looked at
)

// preview is the pane of the selected agent, read while it is shown.
type preview struct {
	mode    previewMode
	agent   int64     // whose pane it is; 0: none
	stateAt time.Time // of that agent, when the pane was read
	asked   int       // counts the beginnings, so that a late answer or tick of an earlier one is dropped
	reading bool
	again   bool   // the pane is read at once
	read    bool   // screen was read
	screen  string // with its colours
	still   int    // how many reads in a row have changed nothing
	err     error
	saw     time.Time // the end of the turn that the operator has seen here

	lines  []string // screen, drawn for a size
	drawn  string   // the screen that lines are made from
	w, h   int      // the size that lines are made for
	filled bool
}

// previewMsg is the screen of a pane.
type previewMsg struct {
	asked  int
	screen string
	err    error
}

// previewTick says that the pane may be read.
type previewTick struct{ asked int }

// spot returns where the preview is shown now.
func (m *pages) spot() spot {
	wide := m.w >= besideFrom
	switch mode := m.preview.mode; {
	case m.screen != listScreen || mode == previewOff || m.h < tallEnough:
		return nowhere
	case mode == previewFull:
		return full
	case wide:
		return alongside
	case mode == previewPart:
		return below
	}
	return nowhere
}

// nextMode returns what the key for the preview leads to: list with preview, preview alone, list alone.
func (m *pages) nextMode() previewMode {
	switch {
	case m.preview.mode == previewFull:
		return previewOff
	case m.spot() == nowhere && m.preview.mode != previewPart:
		return previewPart
	}
	return previewFull
}

// previewed returns the agent whose pane the preview shows, or nil.
func (m *board) previewed() *daemon.Agent {
	if r := m.row(); r != nil && r.kind == agentRow && r.agent.Active() && r.agent.HasPane() {
		return r.agent
	}
	return nil
}

// watch begins to read the pane of the selected agent, and ends that when the pane is not shown any more.
func (m *pages) watch() tea.Cmd {
	p := &m.preview
	a := m.previewed()
	if a == nil || m.spot() == nowhere {
		if p.agent != 0 {
			*p = preview{mode: p.mode, asked: p.asked + 1}
		}
		return nil
	}
	if a.ID != p.agent {
		*p = preview{mode: p.mode, asked: p.asked + 1, agent: a.ID, stateAt: a.StateAt}
		return p.tick(previewSettle)
	}
	if !a.StateAt.Equal(p.stateAt) {
		p.stateAt, p.again = a.StateAt, true
	}
	if !p.again || p.reading {
		return nil
	}
	p.again, p.still = false, 0
	p.asked++
	return m.readPreview()
}

func (p *preview) tick(after time.Duration) tea.Cmd {
	asked := p.asked
	return tea.Tick(after, func(time.Time) tea.Msg { return previewTick{asked} })
}

func (m *pages) readPreview() tea.Cmd {
	p := &m.preview
	p.reading = true
	id, asked := p.agent, p.asked
	return m.ask(patience, func(ctx context.Context, c *api.Client) tea.Msg {
		screen, err := c.Screen(ctx, id, "ansi")
		return previewMsg{asked, screen, slow(ctx, err)}
	})
}

func (m *pages) previewDue(t previewTick) tea.Cmd {
	if p := &m.preview; t.asked == p.asked && !p.reading && p.agent != 0 {
		return m.readPreview()
	}
	return nil
}

// took shows a screen, and reads the next one soon, or later if nothing changes.
func (p *preview) took(msg previewMsg) tea.Cmd {
	if msg.asked != p.asked {
		return nil
	}
	p.reading = false
	if msg.err == nil && msg.screen == p.screen && p.err == nil || msg.err != nil {
		p.still++
	} else {
		p.still = 0
	}
	p.read, p.err = true, msg.err
	if msg.err == nil {
		p.screen = msg.screen
	}
	return p.tick(p.pace())
}

// pace returns the time until the next read. It doubles with every fourth read in a row that changes nothing.
func (p *preview) pace() time.Duration { return min(previewPace<<min(p.still/4, 2), previewSlow) }

// looked tells the daemon that the operator has seen what the selected agent finished, if they moved to it after that and
// its pane has been in front of them since.
func (m *pages) looked() tea.Cmd {
	p, a := &m.preview, m.previewed()
	if a == nil || a.ID != p.agent || !p.read || p.err != nil || !a.Unread || a.FinishedAt == nil {
		return nil
	}
	if !a.FinishedAt.Before(m.chosenAt) || m.now.Sub(m.chosenAt) < lookedAfter || p.saw.Equal(*a.FinishedAt) {
		return nil
	}
	p.saw = *a.FinishedAt
	return m.see(m.row())
}

// listWidth returns the columns of the list.
func (m *pages) listWidth() int {
	if m.spot() == alongside {
		return min(m.w/2, mostList)
	}
	return m.w
}

// listLines returns how many of the lines between title and foot belong to the list.
func (m *model) listLines(room int) int {
	switch m.spot() {
	case full:
		return 0
	case below:
		return min(max(room/2, 3), len(m.rows)+1, room)
	}
	return max(room-len(m.panel()), 0)
}

// listBody draws what is between title and foot: the list, the selected row and the preview.
func (m *model) listBody(room int) []string {
	top := m.listLines(room)
	switch m.spot() {
	case full:
		return m.previewLines(m.w, room)
	case below:
		return append(filled(m.list(top), top), m.previewLines(m.w, room-top)...)
	case alongside:
		columns := m.listWidth()
		left := filled(append(filled(m.list(top), top), m.panel()...), room)
		right := m.previewLines(m.w-columns-3, room)
		for i := range left {
			left[i] += strings.Repeat(" ", max(columns-fit.Width(left[i]), 0)) + faint.Render(" │ ") + right[i]
		}
		return left
	}
	return append(filled(m.list(top), top), m.panel()...)
}

// filled returns lines with empty ones at the end, n in all.
func filled(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:n]
}

// previewLines draws the preview: a line about whose pane it is, and the end of what the pane shows.
func (m *pages) previewLines(columns, room int) []string {
	if room < 1 || columns < 1 {
		return filled(nil, max(room, 0))
	}
	p, a, about := &m.preview, m.previewed(), "no pane"
	var lines []string
	switch r := m.row(); {
	case r == nil:
		lines = m.sentence("nothing is selected: "+m.goneWords(), columns)
	case a == nil:
		about = named(r)
		lines = m.sentence(r.String()+" has no pane; Enter shows its details", columns)
	default:
		about = named(r) + "  " + r.state + " " + words.Age(m.now.Sub(r.since))
		switch {
		case p.err != nil:
			lines = m.sentence(m.cfg.Explain(p.err), columns)
		case !p.read || p.agent != a.ID:
		default:
			lines = p.draw(columns, room-1)
		}
	}
	head := fit.Cut(about, max(columns-3, 1))
	rest := max(columns-fit.Width(head)-3, 0)
	out := []string{faint.Render("─ ") + bold.Render(head) + faint.Render(" "+strings.Repeat("─", rest))}
	if columns < 4 {
		out = []string{bold.Render(fit.Cut(about, columns))}
	}
	return filled(append(out, lines...), room)
}

func (m *frame) sentence(said string, columns int) []string {
	p := paper{columns: columns}
	p.styled(faint, m.cfg.Words(said))
	return p.lines
}

// draw draws the last lines of the screen, as far as there is room. It draws them once for each screen and size.
func (p *preview) draw(columns, room int) []string {
	if !p.filled || p.drawn != p.screen || p.w != columns || p.h != room {
		p.lines, p.filled, p.drawn, p.w, p.h = paneLines(p.screen, columns, room), true, p.screen, columns, room
	}
	return p.lines
}

// paneLines draws the last lines of a screen, without what is to the right of the columns. Nothing of the screen but text and
// its colours is left.
func paneLines(screen string, columns, room int) []string {
	var lines []string
	var line, run strings.Builder
	var is sgr.Style
	used, styled := 0, false
	flush := func() {
		text := words.Terminal(run.String())
		run.Reset()
		whole := fit.Width(text)
		text = fit.Head(text, columns-used)
		if used += whole; text == "" {
			return
		}
		if is != (sgr.Style{}) || styled {
			line.WriteString(is.Sequence())
			styled = is != (sgr.Style{})
		}
		line.WriteString(text)
	}
	end := func() {
		flush()
		if styled {
			line.WriteString(sgr.Style{}.Sequence())
		}
		lines = append(lines, line.String())
		line.Reset()
		used, styled = 0, false
	}
	sgr.Each(screen, func(r rune, s sgr.Style) {
		if r == '\n' {
			end()
			return
		}
		if s.Attributes &^= sgr.Blink; s != is {
			flush()
			is = s
		}
		run.WriteRune(r)
	})
	end()
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines[max(len(lines)-max(room, 0), 0):]
}
