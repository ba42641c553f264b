package top

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// diffView is the content of the screen that shows what has changed in an agent's directory.
type diffView struct {
	agent int64
	asked int // counts the reads, so that a late answer to an earlier one is dropped
	diff  *agents.AgentDiff
	err   error
}

type diffMsg struct {
	asked int
	diff  agents.AgentDiff
	err   error
}

// openDiff opens the screen with what has changed in an agent's directory, and reads it once.
func (m *pages) openDiff(agent int64) tea.Cmd {
	m.screen, m.scroll = diffScreen, 0
	m.diff = diffView{agent: agent, asked: m.diff.asked + 1}
	asked := m.diff.asked
	return m.ask(2*worktree.DiffTime, func(ctx context.Context, c *api.Client) tea.Msg { // it may wait for the diffs of others
		diff, err := c.Diff(ctx, agent, agents.DiffRequest{})
		return diffMsg{asked, diff, slow(ctx, err)}
	})
}

func (v *diffView) took(msg diffMsg) {
	if msg.asked == v.asked {
		v.diff, v.err = &msg.diff, msg.err
	}
}

func (m *pages) pressDiff(name string) tea.Cmd {
	if by, ok := m.moves(name, len(m.diffLines(m.w))); ok {
		m.scrollBy(by)
		return nil
	}
	switch name {
	case "r":
		return m.openDiff(m.diff.agent)
	case "d", "q", "esc", "enter":
		m.screen, m.scroll = listScreen, 0
		if m.detail.key.id != 0 {
			m.screen = detailScreen
		}
	}
	return nil
}

// diffLines returns all lines of the diff, also those for which the screen has no room.
func (m *pages) diffLines(columns int) []string {
	p := paper{columns: columns, say: m.cfg.Words}
	d := m.diff.diff
	switch {
	case d == nil:
		p.line(fmt.Sprintf("reading what has changed in the directory of agent %d …", m.diff.agent))
		return p.lines
	case m.diff.err != nil:
		p.styled(red, m.cfg.Explain(m.diff.err))
		return p.lines
	}
	p.head(d.Title())
	for _, note := range d.Notes {
		p.styled(yellow, note)
	}
	for i := range d.Files {
		f := &d.Files[i]
		count := fmt.Sprintf("+%d -%d", f.Added, f.Deleted)
		if f.Binary {
			count = "binary"
		}
		p.line(fmt.Sprintf("%-9s %12s  %s", f.Status, count, words.Terminal(f.Path)))
	}
	for i := range d.Files {
		f := &d.Files[i]
		if len(f.Hunks) == 0 {
			continue
		}
		p.blank()
		p.head(f.Path)
		for _, h := range f.Hunks {
			p.lines = append(p.lines, faint.Render(fit.Cut(words.Terminal(fmt.Sprintf("@@ -%d +%d @@ %s", h.OldStart, h.NewStart, h.Section)), columns)))
			for _, line := range h.Lines {
				p.lines = append(p.lines, lineStyle(line).Render(fit.Cut(words.Terminal(strings.ReplaceAll(line, "\t", "    ")), columns)))
			}
		}
		if f.Cut {
			p.line(fmt.Sprintf("… cut: `understudy agent diff %d FILE` shows more", m.diff.agent))
		}
	}
	return p.lines
}

func lineStyle(line string) style {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return plain
}
