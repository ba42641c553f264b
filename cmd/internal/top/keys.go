package top

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// press handles a key.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.form != nil:
		return m.pressForm(k)
	case m.filtering:
		m.pressFilter(k)
		return nil
	case m.screen == helpScreen:
		return m.pressHelp(name)
	case m.screen == diffScreen:
		return m.pressDiff(name)
	case m.screen == dialogScreen:
		return m.pressDialog(name)
	case m.screen == detailScreen:
		return m.pressDetail(name)
	}
	return m.pressList(name)
}

func (m *model) pressForm(k tea.KeyPressMsg) tea.Cmd {
	switch m.form.press(k) {
	case leaves:
		m.keepDraft(m.form)
		m.form = nil
	case does:
		f := m.form
		a := f.filled()
		if !f.keeps {
			m.form = nil
			return m.do(a, nil)
		}
		f.busy, f.wrong = true, ""
		return m.do(a, f)
	}
	return nil
}

func (m *model) pressFilter(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		m.filtering = false
		m.filter.Blur()
	case "esc":
		m.filtering = false
		m.filter.Blur()
		m.filter.Reset()
		m.refilter()
	default:
		typed(&m.filter, k)
		m.refilter()
	}
}

func (m *model) pressList(name string) tea.Cmd {
	if by, ok := m.moves(name, len(m.rows)); ok {
		m.move(by)
		return nil
	}
	switch name {
	case "q":
		return tea.Quit
	case "tab", "shift+tab":
		return m.jump(map[string]int{"tab": 1, "shift+tab": -1}[name])
	case "p":
		m.preview.mode = m.nextMode()
	case "/":
		m.filtering = true
		m.filter.Focus()
	case "esc":
		m.said = ""
		if m.filter.Value() != "" {
			m.filter.Reset()
			m.refilter()
		}
	case "enter":
		return m.openDetails()
	default:
		return m.pressAny(name)
	}
	return nil
}

// moves returns how many lines a key moves. all is the number of lines of the page.
func (m *frame) moves(name string, all int) (by int, ok bool) {
	screenful := max(m.h-6, 1)
	switch name {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -screenful, true
	case "pgdown", "ctrl+f", "space":
		return screenful, true
	case "home", "g":
		return -all - 1, true
	case "end", "G":
		return all + 1, true
	}
	return 0, false
}

func (m *pages) pressHelp(name string) tea.Cmd {
	if by, ok := m.moves(name, len(helpLines)); ok {
		m.scrollBy(by)
		return nil
	}
	m.leavePage()
	return nil
}

func (m *model) pressDetail(name string) tea.Cmd {
	if by, ok := m.moves(name, len(m.detailLines(m.w))); ok {
		m.scrollBy(by)
		return nil
	}
	switch name {
	case "q", "esc", "enter":
		m.screen, m.scroll, m.detail = listScreen, 0, details{}
		return nil
	}
	return m.pressAny(name)
}

// scrollBy scrolls the lines. The view corrects a position behind the last line.
func (m *pages) scrollBy(by int) { m.scroll = max(m.scroll+by, 0) }

// pressAny handles the keys that act on the selected row, both in the list and in the details.
func (m *model) pressAny(name string) tea.Cmd {
	r := m.row()
	if slices.Contains([]string{"a", "d", "h", "c", "t", "w", "o", "y", "n", "Y", "x", "m", "s", "e", "D"}, name) {
		switch {
		case r == nil:
			return m.refuse("nothing is selected: " + m.goneWords())
		case m.now.Sub(m.followedAt) < followed: // the key was meant for the agent that has just ended
			return m.refuse(fmt.Sprintf("the selection has just gone on to %s: press %s again", r.key, name))
		}
	}
	switch name {
	case "?":
		m.screen, m.scroll = helpScreen, 0
	case "a":
		return m.attach()
	case "d":
		if r.kind != agentRow {
			return m.refuse("d shows what changed in an agent's directory: select an agent")
		}
		return m.openDiff(r.id)
	case "x":
		return m.openDialog(r)
	case "h":
		switch {
		case r.kind != agentRow:
			return m.refuse("h hands off an agent: select one")
		case !r.agent.Active():
			return m.refuse(r.String() + " has ended")
		}
		m.form = handOffForm(r)
	case "c":
		if r.kind != agentRow || r.handoff == nil || !r.handoff.Open() {
			return m.refuse(r.String() + " has no open handoff that could be cancelled")
		}
		return m.do(action{verb: cancelHandoff, agent: r.handoff.AgentID, handoff: r.handoff.ID}, nil)
	case "t":
		if r.handoff == nil || !r.handoff.Retryable() {
			return m.refuse(r.String() + " has no handoff that could be retried")
		}
		return m.do(action{verb: retryHandoff, agent: r.handoff.AgentID, handoff: r.handoff.ID}, nil)
	case "w", "o":
		return m.pressLimit(r, map[string]daemon.LimitAction{"w": daemon.LimitWait, "o": daemon.LimitHandOver}[name])
	case "y", "n", "Y":
		if r.asked() != nil {
			return m.pressPermission(r, name)
		}
		switch {
		case r.need != nil && r.need.Kind == views.NeedsAnswer:
			return m.refuse("this is answered in the agent's pane: a attaches to it")
		case !r.decides() || name == "Y":
			return m.refuse("y and n answer a permission, or decide about a pipeline: select one that waits for you")
		}
		m.form = decisionForm(r, map[string]verb{"y": approve, "n": reject}[name])
	default:
		return m.pressAgents(r, name)
	}
	return nil
}

// openDetails shows the details of the selected row.
func (m *pages) openDetails() tea.Cmd {
	r := m.row()
	if r == nil {
		return m.refuse("select a row first")
	}
	m.screen, m.scroll = detailScreen, 0
	m.detail = detailsOf(r)
	return tea.Batch(m.see(r), m.readDetails(true))
}

const (
	// toRead is how long a permission must have been on the screen before a key allows it. A key that is held down is repeated
	// sooner for the first time.
	toRead = 800 * time.Millisecond
	// repeats is how soon a key that is held down comes again. Such a key allows nothing.
	repeats = 120 * time.Millisecond
)

// pressPermission answers what the row's agent asks. It allows only what the details show as a whole, and not what has come there a
// moment ago.
func (m *model) pressPermission(r *row, name string) tea.Cmd {
	p := r.asked()
	repeated := time.Since(m.pressed) < repeats
	m.pressed = time.Now()
	switch {
	case name == "n":
	case !p.Whole:
		return m.refuse("it is too long to be shown as a whole: allow it in the agent's pane, a")
	case name == "Y" && p.Rule == "":
		return m.refuse("no rule can say what it asks: allow it once, y")
	case m.screen != detailScreen:
		m.screen, m.scroll = detailScreen, 0
		m.detail = detailsOf(r)
		m.say("read what it asks, then press "+name+" again", false)
		return m.readDetails(true)
	case m.detail.read != p.ID:
		m.detail.read, m.detail.readAt = p.ID, time.Now()
		m.say("it asks this now: read it, then press "+name+" again", false)
		return nil
	case time.Since(m.detail.readAt) < toRead || repeated:
		m.say("a moment: read what it asks, then press "+name+" again", false)
		return nil
	case name == "y":
		return m.do(action{verb: allowOnce, asked: *p}, nil)
	}
	m.form = permissionForm(p, map[string]verb{"Y": allowAgent, "n": denyCall}[name])
	return nil
}

// pressLimit decides about the limit of the row's agent.
func (m *model) pressLimit(r *row, do daemon.LimitAction) tea.Cmd {
	switch {
	case r.kind != agentRow || r.agent.State != daemon.Limited:
		return m.refuse("w and o decide about a limit: select an agent that has hit one")
	case !slices.Contains(views.LimitChoices(r.agent), do):
		return m.refuse(fmt.Sprintf("%s: %s", r, views.LimitWords(r.agent)))
	}
	v := waitForReset
	if do == daemon.LimitHandOver {
		v = handOverLimited
	}
	return m.do(action{verb: v, agent: r.id}, nil)
}

// followed is how long keys that act are refused after the selection has gone on to a successor by itself.
const followed = time.Second

// goneWords says why no row is selected.
func (m *board) goneWords() string {
	switch {
	case len(m.rows) == 0 && m.gone == nil:
		return "the list is empty"
	case m.gone == nil:
		return "move to a row first"
	case m.gone.kind != agentRow:
		return fmt.Sprintf("%s does not need you any more", m.gone)
	}
	for i := range m.data.agents {
		switch a := &m.data.agents[i]; {
		case a.ID == m.gone.id:
			return fmt.Sprintf("%s is filtered out", m.gone)
		case a.PreviousAgentID != nil && *a.PreviousAgentID == m.gone.id:
			return fmt.Sprintf("%s has ended; agent %d goes on with its work", m.gone, a.ID)
		}
	}
	return fmt.Sprintf("%s has ended: r opens its session again, if it has one", m.gone)
}

// endedWords says that a row's agent has ended, and how its session is opened again if it can be.
func endedWords(r *row) string {
	if r.agent != nil && !r.agent.HasSession() {
		return fmt.Sprintf("%s has ended, and has no session to open again", r)
	}
	return fmt.Sprintf("%s has ended: r opens its session again", r)
}
