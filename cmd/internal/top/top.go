// Package top is the operator's view in a terminal: a live list of the agents, and of the pipelines and
// handoffs that need a person, with keys that act on the selected row.
//
// Two goroutines share the work. The source (source.go) reads the daemon, follows its feed and sends snapshots. The
// program's loop changes the model (model.go) and draws it (view.go). The goroutines share no memory, because nobody
// changes a snapshot after it has been sent. An action (action.go) runs in a goroutine of its own and holds the ids that
// the screen showed when the operator pressed the key.
//
// Texts that agents wrote reach the screen only through [words.Terminal].
package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// Config is the input of Run.
type Config struct {
	Client  *api.Client
	In      io.Reader // a terminal
	Out     io.Writer // the same terminal
	Environ []string  // the program reads TERM and NO_COLOR
	Home    string    // the operator's home directory, which is shown as ~; "": none is
	// Directory is where new agents work unless the operator says otherwise.
	Directory string
	// Behind reports whether attaching to an agent shows its pane behind this program, so that the program must end. nil: never.
	Behind func(*daemon.Agent) bool
	// Attach returns the command that shows an agent's pane on the terminal until the operator leaves the pane.
	Attach func(agentID int64) *exec.Cmd
	// Explain turns a daemon's error into one sentence that names the fix.
	Explain func(error) string
	// Words completes the commands in a sentence so that they can be typed in this place. For example, it adds --data.
	Words func(sentence string) string
}

// Run shows the list until the operator quits or ctx ends. If it reaches no daemon at its start, it returns an error.
// Later it waits for a daemon that is away.
func Run(ctx context.Context, cfg Config) error {
	src := newSource(cfg.Client)
	first, err := src.begin(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	program := tea.NewProgram(newModel(ctx, cfg, first), tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out),
		tea.WithEnvironment(cfg.Environ))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		src.run(ctx, program.Send)
	}()
	_, err = program.Run()
	stopped := ctx.Err() != nil // a signal has ended ctx
	cancel()
	<-ended
	if err != nil && !stopped && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}
