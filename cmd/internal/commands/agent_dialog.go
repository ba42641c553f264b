package commands

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
)

func agentDialog(a *cli.App) *cobra.Command {
	var choose int
	var dialog string
	c := a.WithJSON(&cobra.Command{
		Use:   "dialog AGENT",
		Short: "Show the dialog in an agent's pane and its choices, or take one",
		Long: `Show the dialog that stands in an agent's pane: whether a folder is trusted, how to log in, what to
do at a limit. With --choose a choice is taken, if that very dialog is still open: the daemon
selects the choice, and presses Enter when the screen shows that. A dialog is answered once. If its
choices are not understood, it is answered in the pane. An agent can't answer dialogs.`,
		Example: `  understudy agent dialog 7
  understudy agent dialog developer-con-1 --choose 2`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case c.Flags().Changed("choose") && choose < 1:
				return cli.Usagef("--choose takes the number of a choice")
			case dialog != "" && choose == 0:
				return cli.Usagef("--dialog goes with --choose")
			}
			return showDialog(c.Context(), a, args[0], dialog, choose)
		},
	})
	c.Flags().IntVar(&choose, "choose", 0, "take the choice with that `number`")
	c.Flags().StringVar(&dialog, "dialog", "", "with --choose: the `id` of the dialog that you have seen (default the one that the command shows)")
	return c
}

// showDialog shows the dialog of an agent, and takes a choice of what it has shown; 0: none.
func showDialog(ctx context.Context, a *cli.App, word, dialog string, choose int) error {
	c, agent, err := findAgent(ctx, a, word)
	if err != nil {
		return err
	}
	if dialog == "" {
		d, err := c.Dialog(ctx, agent.ID)
		if err != nil {
			return err
		}
		if dialog = d.ID; choose == 0 && a.JSON {
			return a.PrintJSON(d)
		}
		if !a.JSON {
			printDialog(a, &d, choose == 0)
		}
	}
	if choose == 0 {
		return nil
	}
	in, err := c.AnswerDialog(ctx, agent.ID, dialog, choose)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(in); err != nil {
			return err
		}
	} else if err := say(a, "agent %d, %s", agent.ID, words.Terminal(in.Words())); err != nil {
		return err
	}
	switch in.State {
	case daemon.DialogGone, daemon.DialogOther:
		return nil
	}
	return fmt.Errorf("the dialog of agent %d is not answered: %s", agent.ID, cmp.Or(in.Note, "the daemon has not pressed it yet"))
}

// printDialog prints what a dialog says and offers.
func printDialog(a *cli.App, d *sight.Dialog, next bool) {
	u := a.UI(a.Stdout)
	u.Fields("agent", fmt.Sprint(d.AgentID), "asks", words.Terminal(d.Name))
	u.Printf("\n")
	u.Block(d.Text)
	u.Printf("\n")
	for _, c := range d.Choices {
		mark, input := " ", ""
		if c.Selected {
			mark = "›"
		}
		if c.Input {
			input = " (it asks for a text: answer it in the pane)"
		}
		u.Printf("%s %d. %s%s\n", mark, c.Number, words.Terminal(c.Label), input)
	}
	switch {
	case d.Why != "":
		u.Printf("\nit can't be answered from here: %s\n", words.Terminal(a.WithData(d.Why)))
	case next:
		u.Printf("\n%s\n", a.WithData(fmt.Sprintf("take one: `understudy agent dialog %d --choose N`", d.AgentID)))
	}
	u.Printf("\n")
}
