package top

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/understudyd/understudy/daemon"
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
	v.WindowTitle = "understudy top"
	return v
}

// screenLines returns the lines of the screen, exactly as many as the terminal has.
func (m *model) screenLines() []string {
	foot := m.foot()
	room := max(m.h-1-len(foot), 0)
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
		body = m.list(room)
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

// scrolled returns the lines from m.scroll on. If fewer lines follow than there is room, it lowers m.scroll.
func (m *model) scrolled(lines []string, room int) []string {
	m.scroll = max(min(m.scroll, len(lines)-room), 0)
	return lines[m.scroll:min(m.scroll+room, len(lines))]
}

// title returns a line that counts the rows of each group, or says that the daemon is away.
func (m *model) title() string {
	name := "understudy"
	if m.lost != nil {
		stale := "stale since " + m.data.at.Local().Format("15:04:05") + ", reconnecting"
		if width(stale)+width(name)+2 > m.w {
			return red.Bold(true).Render(cut(stale, m.w))
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
	left := cut(said, m.w-width(name)-2)
	gap := m.w - width(name) - 2 - width(left) - width(clock)
	if gap < 2 {
		return bold.Render(name) + "  " + left
	}
	return bold.Render(name) + "  " + left + strings.Repeat(" ", gap) + faint.Render(clock)
}

// foot returns the part below the list: the selected row, the status line and the keys.
func (m *model) foot() []string {
	if m.form != nil {
		return append([]string{m.rule()}, m.form.lines(m.w)...)
	}
	var lines []string
	if m.screen == listScreen {
		lines = m.panel()
	}
	return append(lines, m.status(), m.keys())
}

func (m *model) rule() string { return faint.Render(strings.Repeat("─", max(m.w, 0))) }

// status returns one line. It shows the filter that the operator types, the result of an action, or the filter in force.
func (m *model) status() string {
	switch {
	case m.filtering:
		const label = "filter  "
		return beside(label, drawn(&m.filter, m.w-len(label)), m.w)
	case m.said != "" && m.wrong:
		return red.Render(cut(words.Terminal(m.said), m.w))
	case m.lost != nil:
		return yellow.Render(cut(words.Terminal(m.cfg.Explain(m.lost)), m.w))
	case m.said != "":
		return green.Render(cut(words.Terminal(m.cfg.Words(m.said)), m.w))
	case m.filter.Value() != "" && m.screen == listScreen:
		return faint.Render(cut(fmt.Sprintf("filter %s: %d of %d, Esc shows all", words.Terminal(m.filter.Value()), len(m.rows), m.all), m.w))
	}
	return ""
}

// keys returns the keys that have an effect on this screen.
func (m *model) keys() string {
	switch {
	case m.filtering:
		return keysLine(m.w, "Enter", "keep", "Esc", "show all")
	case m.screen == diffScreen:
		return keysLine(m.w, "Esc", "back", "↑ ↓ PgUp PgDn", "move", "r", "read again")
	case m.screen == dialogScreen:
		return keysLine(m.w, m.dialogKeys()...)
	case m.screen == helpScreen:
		return keysLine(m.w, "any key", "back")
	}
	keys := []string{}
	if r := m.row(); r != nil {
		keys = append(keys, rowKeys(r)...)
	}
	if m.screen == detailScreen {
		return keysLine(m.w, append([]string{"Esc", "back"}, append(keys, "?", "help")...)...)
	}
	return keysLine(m.w, append(keys, "Enter", "details", "/", "filter", "?", "help", "q", "quit")...)
}

// rowKeys returns the keys that act on a row.
func rowKeys(r *row) []string {
	switch {
	case r.decides():
		return []string{"y", "approve", "n", "reject"}
	case r.asked() != nil:
		keys := []string{"y", "allow", "n", "deny"}
		if r.asked().Rule != "" {
			keys = append(keys, "Y", "allow always")
		}
		return append(keys, "a", "attach")
	case r.kind == pipelineRow, r.kind == agentRow && !r.agent.Active():
		return nil
	case r.kind == handoffRow:
		return []string{"t", "retry"}
	case r.kind == agentRow && r.agent.State == daemon.Waiting:
		return []string{"x", "dialog", "a", "attach"}
	case r.handoff != nil && r.handoff.Open():
		return []string{"a", "attach", "c", "cancel handoff", "d", "diff"}
	case r.kind == agentRow && len(r.agent.LimitChoices()) > 0:
		return append([]string{"a", "attach"}, limitKeys(r.agent.LimitChoices())...)
	case r.handoff == nil:
		return []string{"a", "attach", "h", "hand off", "d", "diff"}
	}
	return []string{"a", "attach", "t", "retry", "h", "hand off"}
}

// limitKeys returns the keys that decide about a limit.
func limitKeys(choices []daemon.LimitAction) (keys []string) {
	if slices.Contains(choices, daemon.LimitWait) {
		keys = append(keys, "w", "wait")
	}
	return append(keys, "o", "hand over")
}

// keysLine returns one line with as many keys and their effects as fit.
func keysLine(columns int, pairs ...string) string {
	var b strings.Builder
	used := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		n := width(pairs[i]) + 1 + width(pairs[i+1])
		if used > 0 {
			n += 2
		}
		if used+n > columns {
			break
		}
		if used > 0 {
			b.WriteString("  ")
		}
		b.WriteString(bold.Render(pairs[i]) + " " + faint.Render(pairs[i+1]))
		used += n
	}
	return b.String()
}

// helpLines describe all keys.
var helpLines = [][2]string{
	{"↑ ↓ j k", "move; the same row stays selected when rows move"},
	{"PgUp PgDn", "move by a screen"},
	{"Home End g G", "to the first, to the last"},
	{"Enter", "details: the handoff's phases with times, the pipeline's steps"},
	{"a", "attach to the agent's pane; leave it as tmux does (Ctrl-b d)"},
	{"d", "what has changed in the agent's directory since the agent began"},
	{"h", "hand off: asks for reason and focus"},
	{"c", "cancel the agent's open handoff; it works until the document is recorded"},
	{"t", "retry the failed handoff, from the phase that failed"},
	{"w o", "the agent has hit a limit: wait for the reset, or hand its work over"},
	{"y n", "approve or reject the pipeline, with a comment"},
	{"y Y n", "allow what the agent asks once, or from now on by the rule that is shown; deny it"},
	{"x", "the dialog in the agent's pane: what it says, and its choices"},
	{"/", "filter by name, persona, state and host; Esc shows all"},
	{"q Ctrl-C", "quit; agents and daemon go on"},
	{"", ""},
	{"! ✗", "needs you: a dialog, an approval, trouble; what failed or died"},
	{"● ○ ·", "working, idle, starting"},
}

func (m *model) help() []string {
	const keys = 14
	var out []string
	for _, l := range helpLines {
		folded := fold(l[1], m.w-keys)
		if len(folded) == 0 {
			folded = []string{""}
		}
		for i, line := range folded {
			name := l[0]
			if i > 0 {
				name = ""
			}
			out = append(out, bold.Render(pad(name, keys))+line)
		}
	}
	return out
}
