package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
)

// watching is a model with the preview of agent 7, whose pane shows a screen.
func watching(t *testing.T, screen string) *model {
	t.Helper()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(7, daemon.Working, 1), agent(8, daemon.Working, 1)}})
	m.preview.mode = previewAuto
	m.Update(tickMsg(noon))
	m.Update(previewTick{m.preview.asked})
	m.Update(previewMsg{asked: m.preview.asked, screen: screen})
	return m
}

// The preview is beside the list where there is room, else below it when p asks for that; p then shows it alone, and hides it.
// What p has chosen stays when the terminal changes.
func TestPreviewPlaces(t *testing.T) {
	t.Parallel()
	m := watching(t, "first\n\n\x1b[31mlast\n\n")
	for _, c := range []struct {
		columns int
		key     string
		want    spot
	}{
		{120, "", alongside}, {119, "", nowhere}, {80, "p", below}, {80, "p", full}, {120, "", full}, {120, "p", nowhere}, {200, "", nowhere},
		{200, "p", alongside}, {80, "", below}, {80, "p", full}, {80, "p", nowhere}, {120, "", nowhere},
	} {
		m.Update(tea.WindowSizeMsg{Width: c.columns, Height: 24})
		pressed(m, c.key)
		equal(t, fmt.Sprint(c.columns, " columns after ", c.key), m.spot(), c.want)
		wantFits(t, "the preview", m)
		if m.spot() != nowhere && m.preview.agent == 7 && m.preview.read && !strings.Contains(m.bare(), "last") {
			t.Errorf("%d columns after %q show no pane:\n%s", c.columns, c.key, m.bare())
		}
		m.Update(previewTick{m.preview.asked})
		m.Update(previewMsg{asked: m.preview.asked, screen: "first\n\n\x1b[31mlast\n\n"})
	}
	pressed(m, "p", "enter")
	equal(t, "the preview is read while details are shown", m.spot(), nowhere)
}

// Only the selected agent's pane is read, while it is shown, more seldom while nothing changes, and at once when the agent
// changes its state.
func TestPreviewReads(t *testing.T) {
	t.Parallel()
	m := watching(t, "one")
	p := &m.preview
	wantShown(t, m, "─ agent 7 (agent-7)  working 60 s", "one")
	for range 9 {
		m.Update(previewTick{p.asked})
		m.Update(previewMsg{asked: p.asked, screen: "one"})
	}
	equal(t, "reads in a row changed nothing", p.still, 9)
	before := p.asked
	idle := agent(7, daemon.Idle, 0)
	_, cmd := m.Update(freshMsg(seen(snapshot{agents: []daemon.Agent{idle, agent(8, daemon.Working, 1)}})))
	if cmd == nil || p.asked == before || !p.reading || p.still != 0 {
		t.Error("a new state of the agent does not lead to a read")
	}
	m.Update(previewMsg{asked: before, screen: "late"})
	if strings.Contains(m.bare(), "late") {
		t.Error("a late answer is shown")
	}
	m.Update(previewMsg{asked: p.asked, err: errors.New("agent 7 is on host two")})
	wantShown(t, m, "agent 7 is on host two")
	late := p.asked
	pressed(m, "up") // to agent 8, which works and so stands first
	m.Update(previewMsg{asked: late, screen: "of agent 7"})
	if p.agent != 8 || p.reading || strings.Contains(m.bare(), "of agent 7") {
		t.Errorf("agent %d is previewed:\n%s", p.agent, m.bare())
	}
	if _, cmd := m.Update(previewTick{late}); cmd != nil {
		t.Error("an old tick reads")
	}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	if _, cmd := m.Update(previewTick{p.asked}); cmd != nil || p.agent != 0 {
		t.Error("a pane is read that is not shown")
	}
}

// Of what an agent prints only text and colours reach the terminal, cut to the room there is, from the bottom.
func TestPaneLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		screen        string
		columns, room int
		want          string
	}{
		{"one\ntwo\nthree\n\n", 10, 2, "two|three"},
		{"abcdef\n日本語", 3, 5, "abc|日"},
		{"\x1b[1;32mgreen\x1b[m plain", 20, 5, "\x1b[0;1;32mgreen\x1b[0m plain"},
		{"\x1b[1;32mgreen\x1b[m plain", 3, 5, "\x1b[0;1;32mgre\x1b[0m"},
		{"\x1b[5mblink\x1b]0;t\x07\x1b[2J\x1b[?1049l\u202e!", 20, 5, "blink!"},
		{"\x1b[44mblue\nblue too", 20, 5, "\x1b[0;44mblue\x1b[0m|\x1b[0;44mblue too\x1b[0m"},
		{"e" + strings.Repeat("\u0301", 9), 20, 5, "e\u0301\u0301"},
		{"", 20, 5, ""}, {"x", 20, 0, ""},
	} {
		equal(t, c.screen, strings.Join(paneLines(c.screen, c.columns, c.room), "|"), c.want)
	}
}

// The preview counts as a look at what an agent has finished only if the operator moved there afterwards and stayed.
func TestPreviewIsALook(t *testing.T) {
	t.Parallel()
	finished := agent(7, daemon.Idle, 1)
	finished.Unread, finished.FinishedAt = true, &finished.StateAt
	m := opened(t, snapshot{agents: []daemon.Agent{finished, agent(8, daemon.Idle, 1)}})
	m.preview.mode = previewAuto
	look := func(at time.Duration) bool {
		m.Update(previewTick{m.preview.asked})
		m.Update(previewMsg{asked: m.preview.asked, screen: "x"})
		m.now = noon.Add(at)
		return m.looked() != nil
	}
	m.chosenAt = finished.FinishedAt.Add(-time.Second)
	if look(time.Minute) {
		t.Error("it finished in front of an operator who may be away")
	}
	pressed(m, "down", "up")
	if m.now = noon.Add(time.Minute); look(time.Minute + time.Second) {
		t.Error("a glance counts")
	}
	m.chosenAt = noon.Add(time.Minute)
	if !look(time.Minute + lookedAfter) {
		t.Error("a look does not count")
	}
	if look(time.Minute + 2*lookedAfter) {
		t.Error("it is told twice")
	}
}

// TestPreviewOfAStillPaneIsReadSeldom: also after hours without a change.
func TestPreviewOfAStillPaneIsReadSeldom(t *testing.T) {
	p := preview{asked: 1, agent: 1}
	last := p.pace()
	for n := range 100_000 {
		p.took(previewMsg{asked: 1, screen: "still"})
		if pace := p.pace(); pace < last || pace > previewSlow {
			t.Fatalf("after %d reads the next one comes in %s, and before in %s", n, pace, last)
		} else {
			last = pace
		}
	}
	equal(t, "at last a read each", last, previewSlow)
}
