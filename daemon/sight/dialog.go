package sight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// errNoDialog says that the pane of an agent shows no dialog.
func errNoDialog(agentID int64) *daemon.Error {
	return daemon.Errorf(daemon.KindNotFound, daemon.CodeNoDialog, "Agent %d shows no dialog", agentID)
}

// ReadDialog looks at an agent's pane and reads the dialog in it.
func (d *Sight) ReadDialog(ctx context.Context, a *daemon.Agent) (*daemon.ShownDialog, error) {
	term, err := d.TerminalOf(a)
	if err != nil {
		return nil, err
	}
	view, err := term.Look(ctx, a.Ref())
	switch {
	case errors.Is(err, tmux.ErrGone):
		return nil, daemon.ErrAgentNoPane
	case err != nil:
		return nil, fmt.Errorf("agent %d: screen: %w", a.ID, err)
	}
	read := d.RuntimeOf(a).ReadDialog(runtimes.View{Text: view.Screen, Title: view.Title})
	if read.Name == "" || !d.InFront(a) {
		return nil, errNoDialog(a.ID)
	}
	s := &daemon.ShownDialog{Read: read, Command: view.Command, Dialog: daemon.Dialog{AgentID: a.ID, Name: read.Name, Choices: []daemon.DialogChoice{}}}
	for i, c := range read.Choices {
		s.Choices = append(s.Choices, daemon.DialogChoice{Number: i + 1, Label: words.Line(c.Label), Selected: c.Selected, Input: c.Input})
	}
	rows := read.Text
	if len(read.Below) > 0 {
		rows = append(append(slices.Clone(rows), ""), read.Below...)
	}
	s.Text = daemon.Visible(strings.Join(rows, "\n"))
	if read.Why != "" {
		s.Why = fmt.Sprintf("%s: answer it in its pane, `understudy agent attach %d`", read.Why, a.ID)
	}
	s.ID = a.Fingerprint(&read)
	return s, nil
}
