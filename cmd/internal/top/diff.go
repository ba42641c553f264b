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

// openDiff opens the page with what has changed in an agent's directory.
func (m *pages) openDiff(agent int64) tea.Cmd {
	return openPage(m, diffScreen, &m.diff, agent, 2*worktree.DiffTime, func(ctx context.Context, c *api.Client) (agents.AgentDiff, error) { // it may wait for the diffs of others
		return c.Diff(ctx, agent, agents.DiffRequest{})
	})
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
		m.leavePage()
	}
	return nil
}

// diffLines returns all lines of the diff, also those for which the screen has no room.
func (m *pages) diffLines(columns int) []string {
	p := paper{columns: columns, say: m.cfg.Words}
	d := m.diff.said
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
