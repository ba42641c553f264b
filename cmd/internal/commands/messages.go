package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// allMessages is the value of --cancel that stands for all that is queued.
const allMessages = "all"

func agentMessages(a *cli.App) *cobra.Command {
	var cancel []string
	o := api.ListOptions{}
	c := a.WithJSON(&cobra.Command{
		Use:   "messages AGENT",
		Short: "Show what is queued for an agent and what it was given, and cancel what is queued",
		Long: `Show what is queued for an agent and what it was given lately, the newest first: messages and
commands, and the texts of the daemon itself. What became of each text is its verdict.

With --cancel a message or command that is still queued is not typed. What is being typed can't be
cancelled any more. The messages of an agent that hands over are passed on to its successor.`,
		Example: `  understudy agent messages developer-con-1
  understudy agent messages 7 --cancel 42 --cancel 43
  understudy agent messages 7 --cancel all`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(cancel) > 0 {
				return cancelMessages(c.Context(), a, args[0], cancel)
			}
			return listMessages(c.Context(), a, args[0], o)
		},
	})
	c.Flags().StringSliceVar(&cancel, "cancel", nil, "cancel the queued message with this `ID`, or all; several times for several")
	c.Flags().IntVar(&o.Limit, "limit", 20, "at most this `number`")
	c.Flags().Int64Var(&o.Before, "before", 0, "only texts before this `id`")
	cli.CompleteFlag(c, "cancel", cli.OneOf(allMessages))
	return c
}

func listMessages(ctx context.Context, a *cli.App, word string, o api.ListOptions) error {
	c, agent, err := findAgent(ctx, a, word)
	if err != nil {
		return err
	}
	queued := 0
	list, err := c.Messages(ctx, agent.ID, o)
	err = printList(a, list, err, fmt.Sprintf("agent %d was given no text yet: `understudy agent send %[1]d TEXT` sends one", agent.ID),
		[]string{"ID", "AGE", "KIND", "FROM", "STATE", "TEXT"}, func(d *daemon.Delivery) []string {
			if d.Open() && d.State == daemon.DeliveryQueued && (d.Kind == daemon.KindMessage || d.Kind == daemon.KindCommand) {
				queued++
			}
			state := deliveryWords(d)
			if d.AgentID != agent.ID {
				state = fmt.Sprintf("%s, by agent %d", state, d.AgentID)
			}
			return []string{fmt.Sprint(d.ID), words.Age(time.Since(d.CreatedAt)), string(d.Kind), senderOf(d), words.Clip(state, 60), words.FirstLine(d.Text, 60)}
		})
	if err != nil || queued == 0 || a.JSON {
		return err
	}
	return say(a, "%s queued: `understudy agent messages %d --cancel ID` cancels one, with all in place of ID it cancels all", words.Count(queued, "text"), agent.ID)
}

// senderOf says who sent a text.
func senderOf(d *daemon.Delivery) string {
	switch {
	case d.FromAgentID != nil:
		return fmt.Sprintf("agent %d", *d.FromAgentID)
	case d.Kind == daemon.KindMessage, d.Kind == daemon.KindCommand:
		return "operator"
	}
	return "daemon"
}

// cancelMessages cancels the named messages, or all. One that can't be cancelled does not keep the others from it.
func cancelMessages(ctx context.Context, a *cli.App, word string, which []string) error {
	ids := make([]int64, len(which))
	for i, name := range which {
		if name == allMessages && len(which) == 1 {
			continue // the id 0 stands for all
		}
		id, err := parseID("message", name)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	c, agent, err := findAgent(ctx, a, word)
	if err != nil {
		return err
	}
	cancelled := []daemon.Delivery{}
	for _, id := range ids {
		list, failed := c.CancelMessages(ctx, agent.ID, id)
		cancelled = append(cancelled, list...)
		err = errors.Join(err, failed)
	}
	switch {
	case a.JSON:
		if failed := a.PrintJSON(cancelled); failed != nil {
			return failed
		}
	case len(cancelled) == 0 && err == nil:
		return say(a, "nothing is queued for agent %d", agent.ID)
	default:
		for i := range cancelled {
			if failed := say(a, "delivery %d to agent %d is cancelled: %s", cancelled[i].ID, cancelled[i].AgentID, words.Terminal(words.FirstLine(cancelled[i].Text, 60))); failed != nil {
				return failed
			}
		}
	}
	return err
}
