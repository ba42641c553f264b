package show

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// Generations makes the rows of a line from its handoffs. It asks the daemon for the agents at the line's ends. The handoffs
// come newest first, the rows oldest first. shown is the handoff that a person asked for.
func Generations(ctx context.Context, c *api.Client, line []daemon.Handoff, shown int64) ([]views.Generation, error) {
	var agents []daemon.Agent
	for _, id := range views.LineEnds(line) {
		g, err := c.Agent(ctx, id)
		if err != nil {
			return nil, err
		}
		agents = append(agents, g)
	}
	return views.Generations(agents, line, shown), nil
}

// handedOn says when an agent handed over. Before that, it returns the agent's state or the phase of its handoff.
func handedOn(g *views.Generation) string {
	switch {
	case g.Handoff == nil:
		return string(g.Agent.State)
	case g.Handoff.RecordedAt != nil:
		return words.Ago(*g.Handoff.RecordedAt)
	}
	return words.Of(g.Handoff.Phase)
}

// DescribeLine prints the generations of a line, each with its longest phases and its document. It marks the handoff
// shown, which a person asked for.
func DescribeLine(u *term.UI, rows []views.Generation, shown int64) error {
	folder := commonFolder(rows)
	title := u.Bold("line of generations")
	if u.Terminal && folder != "" { // in a pipe, print the full paths
		title += u.Dim(", documents in " + words.Terminal(u.Tilde(folder)))
	} else {
		folder = ""
	}
	u.Printf("\n%s\n", title)
	head, descent := []string{" ", "GEN", "AGENT"}, descentOf(rows)
	if descent != nil {
		head = append(head, "FROM", "PERSONA")
	}
	table := [][]string{append(head, "HANDED OVER", "CONTEXT", "TOTAL", "WARN")}
	for i, g := range rows {
		mark, took, warnings := " ", "-", "-"
		if h := g.Handoff; h != nil {
			took, warnings = TookOrDash(h), CountOrDash(len(h.Warnings))
			if h.ID == shown {
				mark = "▸"
			}
		}
		row := []string{mark, fmt.Sprint(g.N), fmt.Sprint(g.AgentID)}
		if descent != nil {
			row = append(row, descent[i]...)
		}
		table = append(table, append(row, words.Terminal(handedOn(&g)), cmp.Or(views.ContextWords(g.ContextUse()), "-"), took, warnings))
	}
	lines := fit.Rows(table)
	u.Printf("%s\n", u.Dim(lines[0]))
	for i, g := range rows {
		u.Printf("%s\n", u.Fit(lines[i+1]))
		if g.Handoff != nil {
			describeDocument(u, g.Handoff, folder)
		}
	}
	return nil
}

// descentOf returns, for each row, the cells that say from which agent it comes and what persona it plays. It returns nil
// for a line of one persona that does not branch, which needs no such cells.
func descentOf(rows []views.Generation) [][]string {
	from := map[int64]int64{}
	for _, g := range rows {
		if g.Handoff == nil {
			continue
		}
		for _, id := range g.Handoff.SuccessorIDs() {
			from[id] = g.AgentID
		}
	}
	cells := make([][]string, len(rows))
	needed, generations, personas := false, map[int]bool{}, map[string]bool{}
	for i, g := range rows {
		persona, before := "-", "-"
		if g.Agent != nil {
			persona = cmp.Or(g.Agent.PersonaSlug(), persona)
			if p := g.Agent.PreviousAgentID; p != nil {
				before = fmt.Sprint(*p)
			}
		} else if g.Handoff != nil {
			persona = g.Handoff.Persona
		}
		if p := from[g.AgentID]; p != 0 {
			before = fmt.Sprint(p)
		}
		personas[persona] = true
		needed = needed || generations[g.N] || len(personas) > 1
		generations[g.N] = true
		cells[i] = []string{before, words.Terminal(persona)}
	}
	if !needed {
		return nil
	}
	return cells
}

// describeDocument prints a handoff's longest phases and the path of its document. It uses one line if the terminal is
// wide enough.
func describeDocument(u *term.UI, h *daemon.Handoff, folder string) {
	parts := []string{words.Terminal(u.Tilde(h.FilePath))}
	if folder != "" {
		parts[0] = words.Terminal(filepath.Base(h.FilePath))
	}
	if longest := longestPhases(h.Metrics.Phases, 2); longest != "" {
		parts = []string{longest, parts[0]}
	}
	if one := strings.Join(parts, "  "); !u.Terminal || len(term.Margin)+fit.Width(one) <= u.Width() {
		parts = []string{one}
	}
	for _, part := range parts {
		u.Printf("%s%s\n", term.Margin, u.Dim(part))
	}
}

// longestPhases names the phases that took longest. It names at most that many.
func longestPhases(phases map[daemon.Phase]int64, most int) string {
	type phase struct {
		name daemon.Phase
		ms   int64
	}
	var all []phase
	for name, ms := range phases {
		all = append(all, phase{name, ms})
	}
	slices.SortFunc(all, func(a, b phase) int { return cmp.Or(cmp.Compare(b.ms, a.ms), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, p := range all[:min(most, len(all))] {
		out = append(out, words.Of(p.name)+" "+words.Took(time.Duration(p.ms)*time.Millisecond))
	}
	return strings.Join(out, ", ")
}

// commonFolder returns the folder that holds all documents of a line. It returns "" if they are in several folders.
func commonFolder(rows []views.Generation) string {
	folder := ""
	for _, g := range rows {
		if g.Handoff == nil {
			continue
		}
		dir := filepath.Dir(g.Handoff.FilePath)
		if folder != "" && dir != folder {
			return ""
		}
		folder = dir
	}
	return folder
}
