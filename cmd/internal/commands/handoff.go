package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

func handoffCommand(a *cli.App) *cobra.Command {
	var in handoffs.HandoffRequest
	var heir daemon.Heir
	var to []string
	var wait, inPlace bool
	c := a.WithJSON(&cobra.Command{
		Use:   "handoff AGENT...",
		Short: "Hand agents' work to their successors",
		Long: `Hand agents' work to their successors. The agent writes a document; once the document is recorded,
the daemon shuts the agent down and starts a fresh agent of the same persona, which goes on from the
document. If no document is written the agent stays alive.

In mode agent the agent itself writes the document, in its pane. In mode generate a fork of its
session writes it, and nothing is typed into the pane; with --wait, Esc or Ctrl-C then cancels the
handoff.

Messages that are queued for the agent are passed on to its successor, after its briefing.

With --to the successor plays another persona; --runtime, --model and --permission-mode say how it
runs. With several --to, all of them get the same document, and the agent ends once all have their
briefing. With --keep the agent lives on beside them. With --in-place the one successor takes the
agent's very pane: who is attached there stays attached.

Inside an agent, the word self stands for that agent.`,
		Example: `  understudy handoff 7 --wait
  understudy handoff developer-con-1 --reason "context nearly full" --focus "the failing migration"
  understudy handoff developer-con-1 --mode generate --focus - --wait < focus.txt
  understudy handoff developer-con-1 --to reviewer-max-1 --wait
  understudy handoff 7 --to reviewer-max-1 --to tester-eva-1 --keep
  understudy handoff 3 4 developer-con-1
  understudy handoff self --mode generate
  understudy handoff list --status failed
  understudy handoff retry 12 --wait`,
		ValidArgsFunction: completeHandingOver(a),
		RunE: func(c *cobra.Command, args []string) error {
			in.Heirs = heirsOf(to, heir)
			if c.Flags().Changed("in-place") {
				in.InPlace = &inPlace
			}
			return handOff(c.Context(), a, args, in, wait)
		},
	})
	c.Flags().StringVar(&in.Reason, "reason", "", "`why` the work is handed over, in a few words (default manual)")
	c.Flags().StringVar(&in.Focus, "focus", "", "`what` the document should dwell on; - reads it from stdin")
	c.Flags().StringVar((*string)(&in.Mode), "mode", string(daemon.ModeAgent), "`who` writes the document: agent, generate or transcript")
	c.Flags().StringArrayVar(&to, "to", nil, "the `persona` that takes over; several times for several heirs (default the agent's own)")
	c.Flags().StringVar(&heir.Runtime, "runtime", "", "the `runtime` of the heirs (default that of their persona, else the agent's)")
	c.Flags().StringVar(&heir.Model, "model", "", "the `model` of the heirs (default that of their persona, else the agent's)")
	c.Flags().StringVar(&heir.PermissionMode, "permission-mode", "", "the `mode` in which the heirs ask for permission, in the runtime's words (default the agent's)")
	c.Flags().BoolVar(&in.Keep, "keep", false, "let the agent live on beside its heirs")
	c.Flags().BoolVar(&inPlace, "in-place", false, "the successor takes the agent's very pane (default as handoff.in_place says)")
	c.Flags().BoolVar(&in.DropMessages, "drop-messages", false, "drop the messages that are queued for the agent, instead of passing them on to its successor")
	c.Flags().BoolVar(&in.Force, "force", false, "hand over even if there is nothing to hand off yet, a generated document says next to nothing, or a document seems to have secrets")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the handoff ends, and show its phases")
	cli.CompleteFlag(c, "mode", cli.OneOf(handoffModes...))
	cli.CompleteFlag(c, "to", completePersonas(a))
	cli.CompleteFlag(c, "runtime", completeRuntimes(a))
	c.AddCommand(handoffList(a), handoffShow(a), handoffRecord(a), handoffCancel(a), handoffRetry(a))
	return c
}

// heirsOf returns an heir for each persona, each with the other choices; nil, if nothing was chosen.
func heirsOf(to []string, others daemon.Heir) (heirs []daemon.Heir) {
	if len(to) == 0 && others != (daemon.Heir{}) {
		to = []string{""}
	}
	for _, persona := range to {
		heir := others
		heir.Persona = persona
		heirs = append(heirs, heir)
	}
	return heirs
}

// handOff asks for the handoffs of all the named agents, and then watches or tells of each.
func handOff(ctx context.Context, a *cli.App, named []string, in handoffs.HandoffRequest, wait bool) error {
	if err := checkMode(in.Mode); err != nil {
		return err
	}
	switch {
	case wait && slices.Contains(named, selfWord):
		return cli.Usagef("an agent cannot wait for its own handoff, which ends it: leave out --wait")
	case wait && a.JSON && len(named) > 1:
		return cli.Usagef("--wait with --json takes one agent")
	}
	focus, err := textOrStdin(a, in.Focus)
	if err != nil {
		return err
	}
	in.Focus = strings.TrimSpace(focus)
	asked := map[string]askedHandoff{}
	for _, word := range named {
		if _, twice := asked[word]; !twice {
			asked[word] = askHandoff(ctx, a, word, in)
		}
	}
	if wait && len(named) == 1 && asked[named[0]].err == nil { // it prints the handoff by itself
		return watchAsked(ctx, a, asked[named[0]], in.Mode)
	}
	return forEach(a, named, func(word string) (any, error) {
		h := asked[word]
		switch {
		case h.err != nil:
			return nil, h.err
		case wait:
			return nil, watchAsked(ctx, a, h, in.Mode)
		case a.JSON:
			return h.answer, nil
		case word == selfWord: // an agent's own socket cannot show the handoff, but can cancel it
			return nil, say(a, "handoff %d of agent %d initiated: `understudy handoff cancel self` cancels it until its document is recorded", h.answer.HandoffID, h.agent)
		}
		return nil, say(a, "handoff %d of agent %d initiated: `understudy handoff show %[1]d` tells how it goes", h.answer.HandoffID, h.agent)
	})
}

// askedHandoff is the answer to the request for one handoff.
type askedHandoff struct {
	client *api.Client
	agent  int64
	answer api.Initiated
	err    error
}

func askHandoff(ctx context.Context, a *cli.App, word string, in handoffs.HandoffRequest) (h askedHandoff) {
	if h.client, h.agent, h.err = agentOrSelf(ctx, a, word); h.err != nil {
		return h
	}
	h.answer, h.err = h.client.RequestHandoff(ctx, h.agent, in)
	switch {
	case hasCode(h.err, daemon.CodeAgentNoPersona):
		h.err = fmt.Errorf("%w: give it one with `understudy agent assign %d PERSONA`", h.err, h.agent)
	case hasCode(h.err, daemon.CodeNothingToHandOff):
		h.err = fmt.Errorf("%w: --force hands it over all the same", h.err)
	}
	return h
}

func watchAsked(ctx context.Context, a *cli.App, h askedHandoff, mode daemon.Mode) error {
	return watchHandoff(ctx, a, h.client, watched{id: h.answer.HandoffID, agent: h.agent, mode: mode})
}

func checkMode(mode daemon.Mode) error {
	if mode != daemon.ModeAgent && mode != daemon.ModeGenerate && mode != daemon.ModeTranscript {
		return cli.Usagef("mode %q is not known: it must be agent, generate or transcript", mode)
	}
	return nil
}

func handoffCancel(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:               "cancel ID",
		Short:             "Cancel a handoff whose document is not recorded yet; the agent lives on",
		Long:              "Cancel a handoff; the agent lives on. A handoff can be cancelled until its document is recorded.\nInside an agent, the word self stands for that agent's handoff.",
		Example:           "  understudy handoff cancel 12\n  understudy handoff cancel self",
		ValidArgsFunction: completeHandoffs(a, (*daemon.Handoff).Open),
		RunE: func(c *cobra.Command, args []string) error {
			return cancelHandoff(c.Context(), a, args[0])
		},
	})
}

// cancelHandoff cancels the handoff with that id, or the newest one of the agent that runs this command.
func cancelHandoff(ctx context.Context, a *cli.App, word string) error {
	c, agentID, id, err := handoffNamed(ctx, a, word)
	if err != nil {
		return err
	}
	h, err := c.CancelHandoff(ctx, agentID, id)
	return answer(a, h, err, "handoff %d is cancelled; agent %d lives on", h.ID, h.AgentID)
}

// handoffNamed returns the agent and the id of the handoff that a word names. For selfWord the id is 0: that agent's newest one.
func handoffNamed(ctx context.Context, a *cli.App, word string) (c *api.Client, agentID, id int64, err error) {
	if word == selfWord {
		c, agentID, err = ownAgent(ctx, a)
		return c, agentID, 0, err
	}
	if id, err = parseID("handoff", word); err != nil {
		return nil, 0, 0, err
	}
	c = a.Client()
	h, err := c.Handoff(ctx, id)
	return c, h.AgentID, id, err
}

func handoffRetry(a *cli.App) *cobra.Command {
	var in handoffs.Retry
	var wait bool
	c := a.WithJSON(&cobra.Command{
		Use:               "retry ID",
		Short:             "Go on with a failed handoff; it asks for a new document if the agent has worked since",
		Example:           "  understudy handoff retry 12 --wait\n  understudy handoff retry 12 --mode agent\n  understudy handoff retry 12 --force\n  understudy handoff retry 12 --runtime codex --permission-mode edits",
		ValidArgsFunction: completeHandoffs(a, (*daemon.Handoff).Retryable),
		RunE: onID(a, "handoff", func(ctx context.Context, c *api.Client, id int64) error {
			if in.Mode != "" {
				if err := checkMode(in.Mode); err != nil {
					return err
				}
			}
			return retryHandoff(ctx, a, c, id, in, wait)
		}),
	})
	c.Flags().StringVar((*string)(&in.Mode), "mode", "", "`who` writes the document if none is recorded yet: agent, generate or transcript (default as before)")
	cli.CompleteFlag(c, "mode", cli.OneOf(handoffModes...))
	c.Flags().BoolVar(&in.Force, "force", false, "take the document as it is, although it says next to nothing or seems to have secrets")
	c.Flags().StringVar(&in.Runtime, "runtime", "", "the `CLI` of the successor, if none works yet (default as before)")
	cli.CompleteFlag(c, "runtime", completeRuntimes(a))
	c.Flags().StringVar(&in.PermissionMode, "permission-mode", "", "the permission `mode` of the successor, in the words of its CLI, if none works yet (default as before)")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the handoff ends, and show its phases")
	return c
}

func retryHandoff(ctx context.Context, a *cli.App, c *api.Client, id int64, in handoffs.Retry, wait bool) error {
	before, err := c.Transitions(ctx, id)
	if err != nil {
		return err
	}
	h, err := c.RetryHandoffAs(ctx, id, in)
	if wait && err == nil {
		seq := int64(0)
		if len(before) > 0 {
			seq = before[len(before)-1].Seq
		}
		return watchHandoff(ctx, a, c, watched{id: id, agent: h.AgentID, mode: h.Mode, seq: seq})
	}
	return answer(a, h, err, "handoff %d goes on: `understudy handoff show %[1]d` tells how", id)
}
