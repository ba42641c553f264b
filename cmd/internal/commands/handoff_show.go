package commands

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func handoffList(a *cli.App) *cobra.Command {
	o := api.ListOptions{}
	c := a.WithJSON(&cobra.Command{
		Use:     "list",
		Short:   "List handoffs, the newest first",
		Example: "  understudy handoff list --persona developer-con-1\n  understudy handoff list --status failed --json",
		RunE:    func(c *cobra.Command, _ []string) error { return listHandoffs(c.Context(), a, o) },
	})
	c.Flags().StringVar(&o.Persona, "persona", "", "only handoffs of this `persona`")
	c.Flags().StringVar(&o.Status, "status", "", "only handoffs with this `status`: pending, in_progress, completed, failed or cancelled")
	pageFlags(c, &o, "handoffs", completeHandoffs(a, nil))
	cli.CompleteFlag(c, "persona", completePersonas(a))
	cli.CompleteFlag(c, "status", cli.OneOf(handoffStatuses...))
	return c
}

func listHandoffs(ctx context.Context, a *cli.App, o api.ListOptions) error {
	list, err := a.Client().Handoffs(ctx, o)
	columns := []string{"ID", "PERSONA", "GEN", "AGENT", "SUCCESSOR", "PHASE", "TIME", "CONTEXT", "WARN", "STARTED", "REASON"}
	return printList(a, list, err, "no handoffs", columns, func(h *daemon.Handoff) []string {
		return []string{
			fmt.Sprint(h.ID), h.Persona, fmt.Sprint(h.Generation), fmt.Sprint(h.AgentID), cmp.Or(show.Successors(h), "-"), words.Of(h.Phase), show.TookOrDash(h),
			cmp.Or(views.ContextWords(h.ContextUse), "-"), show.CountOrDash(len(h.Warnings)), words.Ago(h.CreatedAt), h.Reason,
		}
	})
}

func handoffShow(a *cli.App) *cobra.Command {
	var document, contextFile bool
	c := a.WithJSON(&cobra.Command{
		Use:               "show ID",
		Short:             "Show one handoff with its phases and its line, or its document",
		Example:           "  understudy handoff show 12\n  understudy handoff show 12 --document | less",
		ValidArgsFunction: completeHandoffs(a, nil),
		RunE: onID(a, "handoff", func(ctx context.Context, c *api.Client, id int64) error {
			switch {
			case document && contextFile || a.JSON && (document || contextFile):
				return cli.Usagef("--document, --context and --json do not go together")
			case document:
				return printText(ctx, a, id, c.Document)
			case contextFile:
				return printText(ctx, a, id, c.ContextFile)
			}
			return showHandoff(ctx, a, c, id)
		}),
	})
	c.Flags().BoolVar(&document, "document", false, "print the document that the agent wrote")
	c.Flags().BoolVar(&contextFile, "context", false, "print the context file that the successor was given")
	return c
}

// printText prints a text of a handoff.
func printText(ctx context.Context, a *cli.App, id int64, get func(context.Context, int64) ([]byte, error)) error {
	b, err := get(ctx, id)
	if err == nil {
		_, err = io.WriteString(a.Stdout, safeText(a, string(b)))
	}
	return err
}

func showHandoff(ctx context.Context, a *cli.App, c *api.Client, id int64) error {
	h, err := c.Handoff(ctx, id)
	if err != nil || a.JSON {
		return told(a, h, err, nil)
	}
	moves, err := c.Transitions(ctx, id)
	if err != nil {
		return err
	}
	line, err := c.Line(ctx, id)
	if err != nil {
		return err
	}
	rows, err := show.Generations(ctx, c, line, id)
	if err != nil {
		return err
	}
	took, err := c.Durations(ctx, id)
	if err != nil {
		took = pictures.Durations{} // the comparison cannot be told now; the handoff can
	}
	u := a.UI(a.Stdout)
	show.DescribeHandoff(u, &h, moves)
	if err := show.DescribeDurations(u, &took); err != nil {
		return err
	}
	return show.DescribeLine(u, rows, id)
}

func handoffRecord(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "record ID",
		Short: "Print what a handoff passed on beside its document",
		Long: `Print what a handoff passed on beside its document: the decisions that the document names, the
open todos of the outgoing session, the files that it touched, and the end of its conversation.`,
		Example:           "  understudy handoff record 12 | less\n  understudy handoff record 12 --json",
		ValidArgsFunction: completeHandoffs(a, func(h *daemon.Handoff) bool { return h.RecordedAt != nil }),
		RunE: onID(a, "handoff", func(ctx context.Context, c *api.Client, id int64) error {
			r, err := c.Record(ctx, id)
			return told(a, r, err, func(u *term.UI) error {
				show.DescribeRecord(u, &r)
				return nil
			})
		}),
	})
}

// safeText returns the text of a document that an agent wrote. For a terminal it drops control characters, because they
// could steer the terminal. In a pipe it returns the text unchanged.
func safeText(a *cli.App, s string) string {
	if !term.IsTerminal(a.Stdout) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = words.Terminal(lines[i])
	}
	return strings.Join(lines, "\n")
}
