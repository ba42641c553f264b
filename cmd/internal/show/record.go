package show

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// DescribeRecord prints what a handoff passed on beside its document: decisions, todos, files and messages.
func DescribeRecord(u *term.UI, r *api.Record) {
	u.Fields("handoff", fmt.Sprint(r.HandoffID), "agent", fmt.Sprintf("%d (%s)", r.AgentID, r.Agent), "persona", r.Persona,
		"recorded", term.Stamp(&r.At), "progress", term.YesOrNo(r.Progress))
	heading := func(what string, n int) {
		if n > 0 {
			u.Printf("\n%s\n", u.Bold(words.Count(n, what)))
		}
	}
	heading("decision", len(r.Decisions))
	for _, d := range r.Decisions {
		u.Printf("  %s\n", u.Hang(d.Summary))
		below(u, d.Rationale)
		if len(d.RelatedArtifacts) > 0 {
			below(u, "files: "+strings.Join(d.RelatedArtifacts, ", "))
		}
	}
	heading("open todo", len(r.Todos))
	for _, t := range r.Todos {
		status := ""
		if t.Status == string(runtimes.TodoInProgress) {
			status = " (" + words.Of(t.Status) + ")"
		}
		u.Printf("  %s\n", u.Hang(t.Text+status))
	}
	heading("file", len(r.References))
	for _, f := range r.References {
		u.Printf("  %s\n", u.Hang(words.Join(": ", f.Path, f.Note)))
	}
	heading("message", len(r.Messages))
	for _, m := range r.Messages {
		u.Printf("  %s\n", u.Dim(words.Join(", ", m.Role, term.Stamp(&m.At))))
		u.Block(strings.TrimSpace(m.Text))
	}
}

// below prints a text, if there is one, indented under the line before it.
func below(u *term.UI, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	for _, part := range u.Fold(words.Terminal(text), len(term.Margin)+1) {
		u.Printf("%s\n", u.Dim(term.Margin+part))
	}
}
