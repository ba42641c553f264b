package top

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// column is a column of the list.
type column struct {
	title string
	least int // with less room than this, the list leaves the column out
	most  int // the column is never wider than this
	cell  func(r *row) (text string, s style)
}

// list draws the rows below a head.
func (m *pages) list(room int) []string {
	if room < 2 {
		return nil
	}
	if len(m.rows) == 0 {
		said := "no agents: N starts one"
		if m.all > 0 {
			said = "nothing here matches the filter"
		}
		p := paper{columns: m.listWidth()}
		p.styled(faint, said)
		return p.lines
	}
	t := m.table()
	head := strings.Repeat(" ", 2+m.gap())
	for i, c := range t.columns {
		if t.widths[i] > 0 {
			head += fit.Pad(c.title, t.widths[i]) + strings.Repeat(" ", m.gap())
		}
	}
	out := []string{faint.Render(fit.Cut(strings.TrimRight(head, " "), m.listWidth()))}
	first := m.firstRow(room)
	for i := first; i < min(first+room-1, len(m.rows)); i++ {
		out = append(out, m.line(&m.rows[i], t.cells[i], t.widths))
	}
	return out
}

// firstRow returns the index of the first row that is shown in a list of so many lines.
func (m *board) firstRow(room int) int { return max(min(m.at-(room-1)/2, len(m.rows)-(room-1)), 0) }

// gap is the space between two columns.
func (m *pages) gap() int {
	if m.listWidth() < 60 {
		return 1
	}
	return 2
}

// line draws a row. It marks the selected row with a sign and in reverse colours.
func (m *pages) line(r *row, cells []cell, widths []int) string {
	selected := m.selected != nil && *m.selected == r.key
	paint := func(s style, text string) string {
		if selected {
			s = s.Reverse(true)
		}
		return s.Render(text)
	}
	mark := " "
	if selected {
		mark = "▸"
	}
	gap := strings.Repeat(" ", m.gap())
	var b strings.Builder
	b.WriteString(paint(plain, mark) + paint(groupStyle(r), r.sign()))
	used := 2
	for i, c := range cells {
		if widths[i] == 0 {
			continue
		}
		b.WriteString(paint(plain, gap) + paint(c.style, fit.Pad(c.text, widths[i])))
		used += len(gap) + widths[i]
	}
	if rest := m.listWidth() - used; rest > 0 && selected {
		b.WriteString(paint(plain, strings.Repeat(" ", rest)))
	}
	return b.String()
}

func groupStyle(r *row) style {
	switch {
	case r.failed():
		return red.Bold(true)
	case r.group == needsYou:
		return yellow.Bold(true)
	case r.group == finished:
		return cyan.Bold(true)
	case r.group == atWork:
		return green
	}
	return faint
}

// cell is the text in one row and column, without control characters.
type cell struct {
	text  string
	style style
}

// table holds the cells of the list and the widths of its columns.
type table struct {
	columns []column
	cells   [][]cell // by row, then by column
	wanted  []int    // the width that each column needs; 0 if all its cells are empty
	asked   int      // the width that what rows wait for needs, without what was said last
	widths  []int    // the width that each column gets; 0 if it is left out
}

func (m *pages) table() *table {
	t := &table{columns: m.allColumns()}
	t.wanted, t.widths = make([]int, len(t.columns)), make([]int, len(t.columns))
	for i := range m.rows {
		line := make([]cell, len(t.columns))
		for j, c := range t.columns {
			text, s := c.cell(&m.rows[i])
			line[j] = cell{words.Terminal(text), s}
			t.wanted[j] = max(t.wanted[j], fit.Width(line[j].text))
		}
		if m.rows[i].asks != "" {
			t.asked = max(t.asked, fit.Width(line[asksColumn].text))
		}
		t.cells = append(t.cells, line)
	}
	for j, c := range t.columns {
		if t.wanted[j] > 0 {
			t.wanted[j] = max(t.wanted[j], fit.Width(c.title))
		}
	}
	t.share(m.listWidth()-2, m.gap())
	for i := range t.cells {
		if c := &t.cells[i][whereColumn]; t.widths[whereColumn] > 0 && fit.Width(c.text) > t.widths[whereColumn] {
			c.text = fit.Where(c.text, t.widths[whereColumn]) // from the left, so that the branch stays
		}
	}
	return t
}

// share divides the width among the columns. First, as many columns as possible get their least width, in the order
// byWorth. Then the columns that need more get the rest. Columns with sentences come last, since sentences fill any
// width.
func (t *table) share(left, gap int) {
	for _, j := range byWorth {
		if w := min(t.wanted[j], t.columns[j].least); w > 0 && w+gap <= left {
			t.widths[j] = w
			left -= w + gap
		}
	}
	// A name, and what somebody waits for, are worth more than where they work, which the panel says of the selected row.
	left = t.grow(nameColumn, 16, left, gap)               // columns, of "developer-con-1" and the like
	left = t.grow(asksColumn, min(t.asked, 34), left, gap) // columns, of "approval of step 2 of 2, reviewer" and the like
	for _, j := range append(slices.DeleteFunc(slices.Clone(byWorth), func(j int) bool { return j == asksColumn }), asksColumn) {
		if more := min(min(t.wanted[j], t.columns[j].most)-t.widths[j], left); more > 0 && t.widths[j] > 0 {
			t.widths[j] += more
			left -= more
		}
	}
}

// grow widens a column up to a width, if need be with the room of the column that says where agents work. It returns what is
// left of the width.
func (t *table) grow(column, to, left, gap int) int {
	lacks := min(t.wanted[column], to) - t.widths[column]
	if lacks <= 0 || t.widths[column] == 0 {
		return left
	}
	if where := &t.widths[whereColumn]; lacks > left && *where > 0 {
		left += *where + gap
		*where = 0
	}
	lacks = min(lacks, left)
	t.widths[column] += lacks
	return left - lacks
}

// The columns, in the order in which a row shows them.
const (
	idColumn = iota
	nameColumn
	personaColumn
	stateColumn
	asksColumn
	whereColumn
	contextColumn
	generationColumn
	handoffColumn
	usedColumn
	hostColumn
)

// byWorth is the order in which the columns get room.
var byWorth = []int{idColumn, nameColumn, stateColumn, contextColumn, asksColumn, whereColumn, handoffColumn, generationColumn, personaColumn, hostColumn, usedColumn}

func (m *pages) allColumns() []column {
	bar, several := m.listWidth() >= 90, m.severalHosts()
	atMost := math.MaxInt
	return []column{
		idColumn:   {"ID", 2, 8, func(r *row) (string, style) { return r.label(), plain }},
		nameColumn: {"NAME", 10, 28, func(r *row) (string, style) { return r.name(), bold }},
		personaColumn: {"PERSONA", 10, 24, func(r *row) (string, style) {
			if r.persona() == r.name() {
				return "", plain
			}
			return r.persona(), plain
		}},
		stateColumn: {"STATE", 14, 16, func(r *row) (string, style) {
			return r.state + " " + words.Age(m.now.Sub(r.since)), groupStyle(r)
		}},
		whereColumn: {"WHERE", 12, 40, func(r *row) (string, style) { return r.where(m.cfg.Home), plain }},
		asksColumn: {"WAITS FOR / LAST", 16, atMost, func(r *row) (string, style) {
			if r.asks == "" {
				return r.last(), faint
			}
			return m.cfg.Words(r.asks), plain
		}},
		contextColumn: {"CONTEXT", 18, 18, func(r *row) (string, style) {
			if r.agent == nil {
				return "", plain
			}
			said := views.ContextWords(r.agent.Context)
			if bar {
				said = contextBar(r.agent.Context) + said
			}
			return said, tierStyle(r.agent.Context)
		}},
		generationColumn: {"GEN", 3, 3, func(r *row) (string, style) {
			if r.agent == nil {
				return "", plain
			}
			return fmt.Sprint(r.agent.Generation), plain
		}},
		handoffColumn: {"HANDOFF", 12, 26, func(r *row) (string, style) {
			if r.handoff == nil {
				return "", plain
			}
			return fmt.Sprintf("%d %s", r.handoff.ID, words.Of(r.handoff.Phase)), plain
		}},
		usedColumn: {"TODAY", 6, 14, func(r *row) (string, style) {
			if r.agent == nil {
				return "", plain
			}
			return usedWords(m.data.usage.agents[r.agent.ID], ""), plain
		}},
		hostColumn: {"HOST", 6, 16, func(r *row) (string, style) {
			if !several {
				return "", plain
			}
			return r.host(), plain
		}},
	}
}

func (m *board) severalHosts() bool {
	first := ""
	for i := range m.rows {
		switch h := m.rows[i].host(); {
		case h == "" || h == first:
		case first == "":
			first = h
		default:
			return true
		}
	}
	return false
}

// contextBar draws a bar that shows how full a context window is.
func contextBar(u *daemon.ContextUse) string {
	if u == nil || u.Percent == nil {
		return ""
	}
	const cells = 8
	full := int(math.Round(max(min(*u.Percent, 100), 0) * cells / 100))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " "
}

func tierStyle(u *daemon.ContextUse) style {
	if u == nil {
		return plain
	}
	switch u.Tier {
	case daemon.TierHigh:
		return red
	case daemon.TierWarn:
		return yellow
	case daemon.TierNormal:
		return green
	}
	return plain
}

// panel shows the details of the selected row below the list, unless a form is there.
func (m *model) panel() []string {
	room := 0 // lines below the rule
	switch {
	case m.form != nil:
		return nil
	case m.h >= 24:
		room = 6
	case m.h >= 18:
		room = 4
	case m.h >= 12:
		room = 2
	default:
		return nil
	}
	p := paper{columns: m.listWidth(), say: m.cfg.Words}
	if r := m.row(); r != nil {
		m.describe(&p, r)
	} else if len(m.rows) > 0 || m.gone != nil {
		p.styled(faint, m.goneWords())
	}
	lines := p.lines
	if len(lines) > room {
		lines = append(lines[:room-1:room-1], faint.Render(fit.Cut("… Enter shows all", m.listWidth())))
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	return append([]string{m.rule(m.listWidth())}, lines...)
}

// toDo says what the operator does next: by a key, where there is one for it.
func (r *row) toDo() string {
	switch p := r.asked(); {
	case p != nil && p.Whole:
		return "y shows all of it, and y once more allows it; n denies it"
	case p == nil && r.kind == agentRow && r.need.Kind == views.NeedsAnswer && r.agent.HasPane() && views.AnswersDialog(r.agent):
		return "x shows the dialog and its choices; a leads to the pane"
	}
	return r.need.Next
}

func (m *pages) describe(p *paper, r *row) {
	about := []string{named(r)}
	if r.agent != nil {
		about = append(about, r.where(m.cfg.Home), fmt.Sprintf("generation %d", r.agent.Generation), r.agent.Runtime)
	}
	p.head(strings.Join(about, " · "))
	if r.need != nil {
		p.field("why", r.need.Why)
		p.field("to do", r.toDo())
	} else {
		p.field("note", r.asks)
	}
	switch {
	case r.agent != nil:
		p.field("asked", words.Clip(r.agent.Asked, max(m.listWidth()-fieldWidth, 40)))
		p.field("said", r.agent.LastMessage)
	case r.pipeline != nil:
		p.field("request", r.pipeline.Prompt)
	}
}
