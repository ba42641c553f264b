package commands

import (
	"bytes"
	"errors"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

func TestTellEnd(t *testing.T) {
	t.Parallel()
	hinted := &daemon.Failure{
		Phase: daemon.Generating, Code: "generation_empty", Message: "Handoff failed: generation produced no content",
		Hint: "the agent goes on as it was: `understudy handoff retry 3` asks once more",
	}
	for name, c := range map[string]struct {
		h              daemon.Handoff
		stdout, stderr string
	}{
		"a failure with a hint": {
			h:      daemon.Handoff{ID: 3, Phase: daemon.Failed, Mode: daemon.ModeGenerate, Error: hinted},
			stderr: "Handoff failed: generation produced no content\nThe agent goes on as it was: `understudy handoff retry 3 --data /d` asks once more.\n",
		},
		"a cancel in mode generate": {
			h:      daemon.Handoff{ID: 3, Phase: daemon.Cancelled, Mode: daemon.ModeGenerate, Error: &daemon.Failure{Phase: daemon.Generating, Message: "Handoff cancelled"}},
			stdout: "Handoff cancelled\n",
		},
	} {
		var stdout, stderr bytes.Buffer
		a := &cli.App{Getenv: cmdtest.NoEnv, DataFlag: "/d", Stdout: &stdout, Stderr: &stderr}
		err := tellEnd(a, show.NewWatcher(a.UI(a.Stdout)), c.h)
		if !errors.Is(err, cli.ErrSilent) || stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%s: %v, %q, %q", name, err, &stdout, &stderr)
		}
	}
}

func TestUIDeliveryNote(t *testing.T) {
	t.Parallel()
	queued := &daemon.Delivery{State: daemon.DeliveryQueued}
	for _, c := range []struct {
		d    *daemon.Delivery
		g    daemon.Agent
		want string
	}{
		{queued, daemon.Agent{ID: 12, State: daemon.Waiting, Note: "old"}, "a dialog is open in agent 12's pane: answer it with `understudy agent attach 12`"},
		{queued, daemon.Agent{ID: 12, State: daemon.Working}, "agent 12 is in a turn; it gets the text when the turn ends"},
		{queued, daemon.Agent{ID: 12, State: daemon.Starting, Hold: &daemon.Hold{Kind: daemon.HoldNotRegistered}, Note: "it did not register"}, "it did not register"},
		{queued, daemon.Agent{ID: 12, State: daemon.Idle, Note: "its composer holds a draft"}, "its composer holds a draft"},
		{&daemon.Delivery{State: daemon.DeliveryTyping}, daemon.Agent{State: daemon.Working}, ""},
	} {
		equal(t, "views.QueuedWords(c.d, &c.g)", views.QueuedWords(c.d, &c.g), c.want)
	}
}
