package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

func total(h *daemon.Handoff) time.Duration {
	return time.Duration(h.Metrics.TotalMS) * time.Millisecond
}

func (a *app) handoffList() *cobra.Command {
	o := api.ListOptions{}
	c := a.withJSON(&cobra.Command{
		Use:     "list",
		Short:   "List handoffs, the newest first",
		Example: "  understudy handoff list --persona developer-con-1\n  understudy handoff list --status failed --json",
		Args:    exactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.listHandoffs(c.Context(), o) },
	})
	c.Flags().StringVar(&o.Persona, "persona", "", "only those of this `persona`")
	c.Flags().StringVar(&o.Status, "status", "", "only those with this `status`: pending, in_progress, completed, failed or cancelled")
	c.Flags().IntVar(&o.Limit, "limit", 100, "at most this `number`")
	c.Flags().Int64Var(&o.Before, "before", 0, "only those before this `id`")
	completeFlag(c, "persona", anyArgs(a.completePersonas))
	completeFlag(c, "status", oneOf(handoffStatuses...))
	completeFlag(c, "before", anyArgs(a.completeHandoffs(anyHandoff)))
	return c
}

func (a *app) listHandoffs(ctx context.Context, o api.ListOptions) error {
	get := func(c *api.Client) ([]daemon.Handoff, error) { return c.Handoffs(ctx, o) }
	columns := []string{"ID", "PERSONA", "GEN", "AGENT", "SUCCESSOR", "PHASE", "TIME", "CONTEXT", "WARN", "STARTED", "REASON"}
	return printList(a, get, "no handoffs", columns, func(h daemon.Handoff) []string {
		successor := "-"
		if h.SuccessorID != nil {
			successor = number(h.SuccessorID)
		}
		return []string{
			fmt.Sprint(h.ID), h.Persona, fmt.Sprint(h.Generation), fmt.Sprint(h.AgentID), successor, words(h.Phase), tookOrDash(&h),
			contextWords(h.ContextUse), countOrDash(len(h.Warnings)), ago(h.CreatedAt), h.Reason,
		}
	})
}

// tookOrDash is how long a handoff took that has ended.
func tookOrDash(h *daemon.Handoff) string {
	if h.Open() {
		return "-"
	}
	return seconds(total(h))
}

func countOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func (a *app) handoffShow() *cobra.Command {
	var document, contextFile bool
	c := a.withJSON(&cobra.Command{
		Use:               "show ID",
		Short:             "Show one handoff with its times and its line, or its document",
		Example:           "  understudy handoff show 12\n  understudy handoff show 12 --document | less",
		Args:              exactArgs("ID"),
		ValidArgsFunction: a.completeHandoffs(anyHandoff),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("handoff", args[0])
			if err != nil {
				return err
			}
			if document && contextFile || a.json && (document || contextFile) {
				return usagef("--document, --context and --json do not go together")
			}
			return a.showHandoff(c.Context(), id, document, contextFile)
		},
	})
	c.Flags().BoolVar(&document, "document", false, "print the document that the agent wrote")
	c.Flags().BoolVar(&contextFile, "context", false, "print the file that the successor was given")
	return c
}

func (a *app) showHandoff(ctx context.Context, id int64, document, contextFile bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	if document || contextFile {
		get := c.Document
		if contextFile {
			get = c.ContextFile
		}
		b, err := get(ctx, id)
		if err != nil {
			return err
		}
		_, err = io.WriteString(a.stdout, a.safeText(string(b)))
		return err
	}
	h, err := c.Handoff(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(h)
	}
	moves, err := c.Transitions(ctx, id)
	if err != nil {
		return err
	}
	line, err := c.Line(ctx, id)
	if err != nil {
		return err
	}
	rows, err := generations(ctx, c, line, id)
	if err != nil {
		return err
	}
	u := a.ui(a.stdout)
	describeHandoff(u, &h, moves)
	return describeLine(u, rows)
}

// safeText is a document as it is, but on a terminal, which could be told things by it.
func (a *app) safeText(s string) string {
	if !isTerminal(a.stdout) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// passedOn says how much the context file holds.
func passedOn(m daemon.Metrics) string {
	return fmt.Sprintf("%s, %s, %s, %s in all", counted(m.MessagesTransferred, "message"), counted(m.DecisionsTransferred, "decision"),
		counted(m.MemoryRefsTransferred, "file"), counted(int(m.ContextSizeBytes), "byte"))
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// describeHandoff prints a handoff, its warnings one per line, and its phases.
func describeHandoff(u *ui, h *daemon.Handoff, moves []daemon.Transition) {
	phase, failure, hint := words(h.Phase), "", ""
	if h.Error != nil {
		phase += " in " + words(h.Error.Phase)
		if h.Phase != daemon.Cancelled { // which says it all
			phase += " (" + h.Error.Code + ")"
			failure, hint = h.Error.Message, h.Error.Hint
		}
	}
	took, used, structured, validated, degraded, passed := "", "", "", "", "", ""
	if !h.Open() {
		took = seconds(total(h))
	}
	if h.RecordedAt != nil { // before, nothing has been looked at
		used, passed = contextInFull(h.ContextUse), passedOn(h.Metrics)
		structured, validated, degraded = yesOrNo(h.Structured != nil), yesOrNo(h.ContextValidated), yesOrNo(h.Degraded)
	}
	pairs := []string{
		"handoff", fmt.Sprint(h.ID), "phase", phase, "waits for", h.Note, "error", failure, "hint", hint,
		"persona", h.Persona, "generation", fmt.Sprint(h.Generation), "agent", fmt.Sprint(h.AgentID), "successor", number(h.SuccessorID),
		"reason", h.Reason, "focus", h.Focus, "mode", h.Mode, "document", h.FilePath, "structured", structured,
		"context file", text(h.ContextPath), "passed on", passed, "validated", validated, "degraded", degraded, "context used", used,
		"started", stamp(&h.CreatedAt), "recorded", stamp(h.RecordedAt), "ended", stamp(h.CompletedAt), "total", took,
	}
	for _, w := range h.Warnings {
		pairs = append(pairs, "warning", w)
	}
	u.fields(pairs...)
	p := &progress{ui: u}
	last := h.CreatedAt
	for _, m := range moves {
		p.phase(m, h, m.At.Sub(last))
		last = m.At
	}
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
