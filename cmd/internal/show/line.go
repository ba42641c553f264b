package show

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

// generation is one agent of a line, with the handoff in which its work was passed on.
type generation struct {
	n       int
	agent   int64
	end     string // when it handed over, or what it does instead
	context *daemon.ContextUse
	handoff *daemon.Handoff // nil: it has not been asked for one
	shown   bool            // it is the one that was asked for
}

// Generations are those of a line's handoffs, which come newest first, the oldest first; with the
// successor of the newest, whose work goes on.
func Generations(ctx context.Context, c *api.Client, line []daemon.Handoff, shown int64) ([]generation, error) {
	var rows []generation
	at := map[int64]int{} // where an agent's row is
	for _, h := range slices.Backward(line) {
		row := generation{n: h.Generation, agent: h.AgentID, end: PhaseWords(h.Phase), context: h.ContextUse, handoff: &h, shown: h.ID == shown}
		if h.RecordedAt != nil {
			row.end = term.Ago(*h.RecordedAt)
		}
		i, again := at[h.AgentID]
		switch {
		case !again:
			at[h.AgentID] = len(rows)
			rows = append(rows, row)
		case !rows[i].shown: // of several attempts the last counts, unless another was asked for
			rows[i] = row
		}
	}
	for _, h := range line {
		if h.SuccessorID == nil {
			continue
		}
		if _, known := at[*h.SuccessorID]; !known {
			g, err := c.Agent(ctx, *h.SuccessorID)
			if err != nil {
				return nil, err
			}
			rows = append(rows, generation{n: g.Generation, agent: g.ID, end: string(g.State), context: g.Context})
		}
		break
	}
	slices.SortStableFunc(rows, func(a, b generation) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.agent, b.agent)) })
	return rows, nil
}

// DescribeLine prints the generations of a line, each with its longest phases and its document.
func DescribeLine(u *term.UI, rows []generation) error {
	folder := commonFolder(rows)
	title := u.Bold("line of generations")
	if u.Terminal && folder != "" { // in a pipe the paths are whole
		title += u.Dim(", documents in " + term.Printable(u.Tilde(folder)))
	} else {
		folder = ""
	}
	u.Printf("\n%s\n", title)
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, " \tGEN\tAGENT\tHANDED OVER\tCONTEXT\tTOTAL\tWARN")
	for _, g := range rows {
		mark, took, warnings := " ", "-", "-"
		if g.shown {
			mark = "▸"
		}
		if g.handoff != nil {
			took, warnings = TookOrDash(g.handoff), CountOrDash(len(g.handoff.Warnings))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", mark, g.n, g.agent, term.Printable(g.end), ContextWords(g.context), took, warnings)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	u.Printf("%s\n", u.Dim(lines[0]))
	for i, g := range rows {
		u.Printf("%s\n", u.Fit(lines[i+1]))
		if g.handoff != nil {
			describeDocument(u, g.handoff, folder)
		}
	}
	return nil
}

// describeDocument prints, below a handoff's row, what took longest and where the document is: on one
// line if the terminal is wide enough.
func describeDocument(u *term.UI, h *daemon.Handoff, folder string) {
	parts := []string{term.Printable(u.Tilde(h.FilePath))}
	if folder != "" {
		parts[0] = term.Printable(filepath.Base(h.FilePath))
	}
	if longest := longestPhases(h.Metrics.Phases, 2); longest != "" {
		parts = []string{longest, parts[0]}
	}
	if one := strings.Join(parts, "  "); !u.Terminal || len(term.Margin)+utf8.RuneCountInString(one) <= u.Width() {
		parts = []string{one}
	}
	for _, part := range parts {
		u.Printf("%s%s\n", term.Margin, u.Dim(part))
	}
}

// longestPhases names the phases that took most time, at most so many.
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
		out = append(out, PhaseWords(p.name)+" "+term.Seconds(time.Duration(p.ms)*time.Millisecond))
	}
	return strings.Join(out, ", ")
}

// commonFolder is where all documents of a line are; empty if they are in several folders.
func commonFolder(rows []generation) string {
	folder := ""
	for _, g := range rows {
		if g.handoff == nil {
			continue
		}
		dir := filepath.Dir(g.handoff.FilePath)
		if folder != "" && dir != folder {
			return ""
		}
		folder = dir
	}
	return folder
}
