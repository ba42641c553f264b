package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func agentSend(a *cli.App) *cobra.Command {
	var command, wait bool
	c := a.WithJSON(&cobra.Command{
		Use:   "send AGENT TEXT",
		Short: "Type a text to an agent, as soon as it is idle",
		Example: `  understudy agent send 7 "Run the tests once more"
  understudy agent send developer-con-1 --wait - < task.md
  understudy agent send 7 --command /compact`,
		RunE: func(c *cobra.Command, args []string) error {
			return sendText(c.Context(), a, args[0], args[1], command, wait)
		},
	})
	c.Flags().BoolVar(&command, "command", false, "the text is a command of the runtime, such as /compact")
	c.Flags().BoolVar(&wait, "wait", false, "wait for the verdict: whether the runtime took the text")
	return c
}

func sendText(ctx context.Context, a *cli.App, word, message string, command, wait bool) error {
	message, err := textOrStdin(a, message)
	if err != nil {
		return err
	}
	c, agent, err := findAgent(ctx, a, word)
	if err != nil {
		return err
	}
	d, err := c.SendMessage(ctx, agent.ID, message, command)
	switch {
	case hasCode(err, daemon.CodeTextIsCommand): // the daemon's sentence names the field of the API, not the flag
		return errors.New("the agent's runtime would take the text for a command: send it with --command if you mean that")
	case err != nil:
		return err
	case wait:
		if d, err = awaitDelivery(ctx, a, c, d); err != nil {
			return err
		}
		if now, err := c.Agent(ctx, d.AgentID); err == nil { // the verdict counts even if this fails
			warnTrouble(a, &now)
		}
	}
	return tellDelivery(a, d)
}

// awaitDelivery waits for a delivery's verdict. Meanwhile it shows what the delivery waits for.
func awaitDelivery(ctx context.Context, a *cli.App, c *api.Client, d daemon.Delivery) (daemon.Delivery, error) {
	p := &term.Progress{UI: a.UI(a.Stderr)}
	defer p.Clear()
	began, to := time.Now(), d.AgentID // also if it is passed on
	err := show.Await(ctx, c, p.Idle, func(ctx context.Context) (bool, error) {
		list, err := c.Messages(ctx, to, api.ListOptions{Before: d.ID + 1, Limit: 1})
		if err == nil && len(list) == 1 && list[0].ID == d.ID {
			d = list[0]
		}
		if err != nil || !d.Open() {
			return !d.Open(), err
		}
		agent, err := c.Agent(ctx, d.AgentID)
		if err == nil {
			p.Start(fmt.Sprintf("delivery %d", d.ID), began)
			p.Wait(views.QueuedWords(&d, &agent))
		}
		return false, err
	})
	return d, err
}

// deliveryWords says whether a delivery was typed and taken.
func deliveryWords(d *daemon.Delivery) string {
	state := string(d.State)
	if d.Verdict != nil {
		state = words.Of(*d.Verdict)
	}
	if d.Evidence != "" {
		state += " (" + d.Evidence + ")"
	}
	return state
}

// tellDelivery prints a delivery. It fails if the verdict says that the runtime did not take the text.
func tellDelivery(a *cli.App, d daemon.Delivery) error {
	if a.JSON {
		if err := a.PrintJSON(d); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Stdout, "delivery %d to agent %d: %s\n", d.ID, d.AgentID, words.Terminal(deliveryWords(&d)))
	}
	if d.Verdict != nil && *d.Verdict != daemon.Submitted {
		return fmt.Errorf("delivery %d was not confirmed: look at the agent with `understudy agent attach %d`", d.ID, d.AgentID)
	}
	return nil
}
