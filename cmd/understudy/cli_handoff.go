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

func (a *app) handoffCommand() *cobra.Command {
	var in daemon.HandoffRequest
	var wait bool
	c := a.withJSON(&cobra.Command{
		Use:   "handoff AGENT",
		Short: "Hand an agent's work to its successor",
		Long: `Hand an agent's work to its successor: the agent is asked for a document, shut down once the
document is there, and a fresh agent of the same persona takes over with it. An agent that does
not deliver stays alive.`,
		Example: `  understudy handoff 7 --wait
  understudy handoff developer-con-1 --reason "context nearly full" --focus "the failing migration"
  understudy handoff list --status failed
  understudy handoff retry 12 --wait`,
		Args:              exactArgs("AGENT"),
		ValidArgsFunction: a.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			return a.handOff(c.Context(), args[0], in, wait)
		},
	})
	c.Flags().StringVar(&in.Reason, "reason", "", "`why`, in a few words (default manual)")
	c.Flags().StringVar(&in.Focus, "focus", "", "`what` the document should dwell on")
	c.Flags().StringVar(&in.Mode, "mode", "agent", "`who` writes the document: agent")
	c.Flags().BoolVar(&wait, "wait", false, "wait for its end, and show how it goes")
	c.AddCommand(a.handoffList(), a.handoffShow(), a.handoffCancel(), a.handoffRetry())
	return c
}

func (a *app) handOff(ctx context.Context, word string, in daemon.HandoffRequest, wait bool) error {
	if in.Mode != "agent" {
		return usagef("mode %q is not known: it must be agent", in.Mode)
	}
	c, agent, err := a.agent(ctx, word)
	if err != nil {
		return err
	}
	answer, err := c.RequestHandoff(ctx, agent.ID, in)
	if hasCode(err, "agent_no_persona") {
		return fmt.Errorf("%w: give it one with `understudy agent assign %d PERSONA`", err, agent.ID)
	}
	if err != nil {
		return err
	}
	if wait {
		return a.watchHandoff(ctx, c, answer.HandoffID, 0)
	}
	if a.json {
		return a.printJSON(answer)
	}
	return a.say("handoff %d of agent %d initiated: `understudy handoff show %[1]d` tells how it goes", answer.HandoffID, agent.ID)
}

// watchHandoff shows a handoff's progress after the move numbered seq, until its end.
func (a *app) watchHandoff(ctx context.Context, c *api.Client, id, seq int64) error {
	out := a.stdout
	if a.json {
		out = a.stderr
	}
	p := &progress{ui: a.ui(out)}
	p.printf("handoff %d\n", id)
	h, err := p.watch(ctx, c, id, seq)
	if err != nil {
		if ctx.Err() != nil {
			said := fmt.Sprintf("no longer watched; handoff %d goes on: `understudy handoff cancel %[1]d` cancels it until its document is recorded", id)
			fmt.Fprintf(a.stderr, "understudy: %s\n", a.withData(said))
			return errSilent
		}
		return err
	}
	if a.json {
		if err := a.printJSON(h); err != nil {
			return err
		}
	}
	if err := p.verdict(h); err != nil {
		return err
	}
	p.printf("%s\n", a.withData(fmt.Sprintf("look at it: `understudy agent attach %s`", number(h.SuccessorID))))
	return nil
}

// verdict says how a handoff ended; an end that is not completion is an error.
func (p *progress) verdict(h daemon.Handoff) error {
	if h.Phase == daemon.Completed {
		p.printf("%s in %s: agent %d handed over to agent %s\n", p.green("completed"), seconds(total(&h)), h.AgentID, number(h.SuccessorID))
		return nil
	}
	switch {
	case h.Error == nil:
		return fmt.Errorf("handoff %d is %s", h.ID, h.Phase)
	case h.Phase == daemon.Cancelled:
		return fmt.Errorf("handoff %d was cancelled in phase %s", h.ID, h.Error.Phase)
	}
	return fmt.Errorf("handoff %d %s in phase %s: %s", h.ID, h.Phase, h.Error.Phase, h.Error.Message)
}

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
	c.Flags().StringVar(&o.Status, "status", "", "only those with a `status`: pending, in_progress, completed, failed or cancelled")
	c.Flags().IntVar(&o.Limit, "limit", 100, "at most so `many`")
	c.Flags().Int64Var(&o.Before, "before", 0, "only those before an `id`")
	return c
}

func (a *app) listHandoffs(ctx context.Context, o api.ListOptions) error {
	get := func(c *api.Client) ([]daemon.Handoff, error) { return c.Handoffs(ctx, o) }
	columns := []string{"ID", "PERSONA", "AGENT", "SUCCESSOR", "PHASE", "TIME", "STARTED", "REASON"}
	return printList(a, get, "no handoffs", columns, func(h daemon.Handoff) []string {
		took := "-"
		if !h.Open() {
			took = seconds(total(&h))
		}
		successor := "-"
		if h.SuccessorID != nil {
			successor = number(h.SuccessorID)
		}
		return []string{fmt.Sprint(h.ID), h.Persona, fmt.Sprint(h.AgentID), successor, words(h.Phase), took, ago(h.CreatedAt), h.Reason}
	})
}

func (a *app) handoffShow() *cobra.Command {
	var document, contextFile bool
	c := a.withJSON(&cobra.Command{
		Use:     "show ID",
		Short:   "Show one handoff with its times, or its document",
		Example: "  understudy handoff show 12\n  understudy handoff show 12 --document | less",
		Args:    exactArgs("ID"),
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
	a.describeHandoff(&h, moves)
	return nil
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

func (a *app) describeHandoff(h *daemon.Handoff, moves []daemon.Transition) {
	u := a.ui(a.stdout)
	phase, failure := words(h.Phase), ""
	if h.Error != nil {
		phase += " in " + words(h.Error.Phase)
		if h.Phase != daemon.Cancelled { // which says it all
			phase += " (" + h.Error.Code + ")"
			failure = h.Error.Message
		}
	}
	took := ""
	if !h.Open() {
		took = seconds(total(h))
	}
	u.fields(
		"handoff", fmt.Sprint(h.ID), "phase", phase, "waits for", h.Note, "error", failure,
		"persona", h.Persona, "agent", fmt.Sprint(h.AgentID), "successor", number(h.SuccessorID),
		"reason", h.Reason, "focus", h.Focus, "document", h.FilePath, "context", text(h.ContextPath),
		"started", stamp(&h.CreatedAt), "recorded", stamp(h.RecordedAt), "ended", stamp(h.CompletedAt), "total", took,
	)
	p := &progress{ui: u}
	last := h.CreatedAt
	for _, m := range moves {
		p.phase(m, h, m.At.Sub(last))
		last = m.At
	}
}

func (a *app) handoffCancel() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:     "cancel ID",
		Short:   "Cancel a handoff; the agent lives on. It works until the document is recorded",
		Example: "  understudy handoff cancel 12",
		Args:    exactArgs("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("handoff", args[0])
			if err != nil {
				return err
			}
			return a.cancelHandoff(c.Context(), id)
		},
	})
}

func (a *app) cancelHandoff(ctx context.Context, id int64) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	h, err := c.Handoff(ctx, id)
	if err != nil {
		return err
	}
	latest, err := c.LatestHandoff(ctx, h.AgentID)
	switch {
	case err != nil:
		return err
	case latest.ID != id: // the API cancels an agent's newest
		return fmt.Errorf("handoff %d has ended: it is %s", id, h.Status)
	}
	if h, err = c.CancelHandoff(ctx, h.AgentID); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(h)
	}
	_, err = fmt.Fprintf(a.stdout, "handoff %d is cancelled; agent %d lives on\n", h.ID, h.AgentID)
	return err
}

func (a *app) handoffRetry() *cobra.Command {
	var wait bool
	c := a.withJSON(&cobra.Command{
		Use:     "retry ID",
		Short:   "Go on with a failed handoff, from the phase that failed",
		Example: "  understudy handoff retry 12 --wait",
		Args:    exactArgs("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("handoff", args[0])
			if err != nil {
				return err
			}
			return a.retryHandoff(c.Context(), id, wait)
		},
	})
	c.Flags().BoolVar(&wait, "wait", false, "wait for its end, and show how it goes")
	return c
}

func (a *app) retryHandoff(ctx context.Context, id int64, wait bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	before, err := c.Transitions(ctx, id)
	if err != nil {
		return err
	}
	h, err := c.RetryHandoff(ctx, id)
	if err != nil {
		return err
	}
	if wait {
		seq := int64(0)
		if len(before) > 0 {
			seq = before[len(before)-1].Seq
		}
		return a.watchHandoff(ctx, c, id, seq)
	}
	if a.json {
		return a.printJSON(h)
	}
	return a.say("handoff %d goes on: `understudy handoff show %[1]d` tells how", id)
}
