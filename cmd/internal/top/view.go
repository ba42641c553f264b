package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// style is the look of a text. The colours are the terminal's own sixteen. A colour shows no fact that the text does not
// also say.
type style = lipgloss.Style

var (
	plain  = lipgloss.NewStyle()
	bold   = plain.Bold(true)
	faint  = plain.Faint(true)
	red    = plain.Foreground(lipgloss.Red)
	green  = plain.Foreground(lipgloss.Green)
	yellow = plain.Foreground(lipgloss.Yellow)
	cyan   = plain.Foreground(lipgloss.Cyan)
)

// View implements [tea.Model].
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.screenLines(), "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "understudy top"
	return v
}

// screenLines returns the lines of the screen, exactly as many as the terminal has.
func (m *model) screenLines() []string {
	foot := m.foot()
	room := m.room()
	var body []string
	switch m.screen {
	case helpScreen:
		body = m.scrolled(m.help(), room)
	case diffScreen:
		body = m.scrolled(m.diffLines(m.w), room)
	case dialogScreen:
		body = m.scrolled(m.dialogLines(m.w), room)
	case detailScreen:
		body = m.scrolled(m.detailLines(m.w), room)
	default:
		body = m.listBody(room)
	}
	for len(body) < room {
		body = append(body, "")
	}
	lines := append([]string{m.title()}, body...)
	lines = append(lines, foot...)
	if len(lines) > m.h { // keep the last lines, because the form is there
		lines = lines[len(lines)-m.h:]
	}
	return lines
}

// room returns how many lines are between title and foot.
func (m *model) room() int { return max(m.h-1-len(m.foot()), 0) }

// scrolled returns the lines from m.scroll on. If fewer lines follow than there is room, it lowers m.scroll.
func (m *pages) scrolled(lines []string, room int) []string {
	m.scroll = max(min(m.scroll, len(lines)-room), 0)
	return lines[m.scroll:min(m.scroll+room, len(lines))]
}

// title returns a line that counts the rows of each group, or says that the daemon is away.
func (m *board) title() string {
	name := "understudy"
	if m.lost != nil {
		stale := "stale since " + m.data.at.Local().Format("15:04:05") + ", reconnecting"
		if fit.Width(stale)+fit.Width(name)+2 > m.w {
			return red.Bold(true).Render(fit.Cut(stale, m.w))
		}
		return bold.Render(name) + "  " + red.Bold(true).Render(stale)
	}
	var parts []string
	for g, word := range []string{"need you", "finished", "working", "idle", "starting"} {
		if n := m.counts[group(g)]; n > 0 {
			if group(g) == needsYou && n == 1 {
				word = "needs you"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	said := strings.Join(parts, ", ")
	if len(parts) == 0 {
		said = "no agents"
	}
	clock := m.now.Local().Format("15:04:05 MST")
	if used := usedWords(m.data.usage.total, " tokens"); used != "" && fit.Width(name)+fit.Width(said)+fit.Width(used)+fit.Width(clock)+12 <= m.w {
		clock = "today " + used + " · " + clock
	}
	left := fit.Cut(said, m.w-fit.Width(name)-2)
	gap := m.w - fit.Width(name) - 2 - fit.Width(left) - fit.Width(clock)
	if gap < 2 {
		return bold.Render(name) + "  " + left
	}
	return bold.Render(name) + "  " + left + strings.Repeat(" ", gap) + faint.Render(clock)
}

// foot returns the lines at the bottom: the form or the status line, and the keys.
func (m *model) foot() []string {
	bar := barLine(m.w, m.hints())
	if m.form == nil {
		return []string{m.status(), bar}
	}
	lines := append([]string{m.rule(m.w)}, m.form.lines(m.w, max(m.h*2/3, 6))...)
	return append(lines, bar)
}

func (m *frame) rule(columns int) string { return faint.Render(strings.Repeat("─", max(columns, 0))) }

// status returns one line. It shows the filter that the operator types, the result of an action, or the filter in force.
func (m *model) status() string {
	switch {
	case m.filtering:
		const label = "filter  "
		return beside(label, drawn(&m.filter, m.w-len(label)), m.w)
	case m.said != "" && m.wrong:
		return red.Render(fit.Cut(words.Terminal(m.said), m.w))
	case m.lost != nil:
		return yellow.Render(fit.Cut(words.Terminal(m.cfg.Explain(m.lost)), m.w))
	case m.said != "":
		return green.Render(fit.Cut(words.Terminal(m.cfg.Words(m.said)), m.w))
	case m.filter.Value() != "" && m.screen == listScreen:
		return faint.Render(fit.Cut(fmt.Sprintf("filter %s: %d of %d, Esc shows all", words.Terminal(m.filter.Value()), len(m.rows), m.all), m.w))
	}
	return ""
}
