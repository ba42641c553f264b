package top

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// doubleClick is the longest time between the two clicks of a double click.
const doubleClick = 400 * time.Millisecond

// click is a click on a row, or on the preview.
type click struct {
	at      time.Time
	row     key
	preview bool
}

// clicked handles a click. On a row it selects the row, and a double click opens its details; a double click on the preview
// attaches; on a key in the line at the bottom it presses the key.
func (m *model) clicked(e tea.Mouse) tea.Cmd {
	switch {
	case e.Button != tea.MouseLeft:
		return nil
	case e.Y == m.h-1:
		return m.clickedHint(e.X)
	case m.form != nil || m.screen != listScreen:
		return nil
	}
	now := click{at: time.Now()}
	room := m.room()
	lines := m.listLines(room)
	at := m.firstRow(lines) + e.Y - 2 // below the title and the list's head
	switch spot := m.spot(); {
	case e.Y >= 1 && e.Y <= room && (spot == full || spot == alongside && e.X > m.listWidth() || spot == below && e.Y > lines):
		now.preview = true
	case e.Y < 2 || e.Y > lines || at >= len(m.rows):
		return nil
	default:
		m.choose(at)
		now.row = m.rows[at].key
	}
	double := now.at.Sub(m.click.at) <= doubleClick && now.row == m.click.row && now.preview == m.click.preview
	m.click = now
	switch {
	case double && now.preview:
		return m.attach()
	case double:
		return m.openDetails()
	}
	return nil
}

// clickedHint presses the key whose hint is in that column.
func (m *model) clickedHint(x int) tea.Cmd {
	special := map[string]rune{"Enter": tea.KeyEnter, "Esc": tea.KeyEscape, "Tab": tea.KeyTab}
	for _, p := range place(m.w, m.hints()) {
		letters := []rune(p.key)
		switch {
		case x < p.from || x >= p.to:
		case special[p.key] != 0:
			return m.press(tea.KeyPressMsg{Code: special[p.key]})
		case len(letters) == 1:
			return m.press(tea.KeyPressMsg{Code: letters[0], Text: p.key})
		}
	}
	return nil
}

// wheel moves in the list, or scrolls a page.
func (m *model) wheel(e tea.Mouse) {
	by := 1
	switch {
	case e.Button == tea.MouseWheelUp:
		by = -1
	case e.Button != tea.MouseWheelDown:
		return
	}
	switch {
	case m.form != nil:
	case m.screen == listScreen:
		m.move(by)
	default:
		m.scrollBy(3 * by)
	}
}
