// Package top is the operator's seat inside a terminal: a live list of the agents, and of the runs and
// handoffs that need a person, with a key for what can be done about each.
//
// Two goroutines share the work. The source (source.go) reads the daemon, follows its feed, and sends
// what it saw; the program's own loop changes the model (model.go) and draws it (view.go). They share no
// memory: what is sent is not written to afterwards. What the operator asks for is an action
// (action.go), which holds the ids that were shown when the key was pressed; it runs beside both.
//
// What agents wrote is shown through clean alone (text.go).
package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
)

// Config is what the program is given.
type Config struct {
	Client  *api.Client
	In      io.Reader // a terminal
	Out     io.Writer // the same
	Environ []string  // TERM and NO_COLOR count
	// Attach makes the command that shows an agent's pane on the terminal until the operator leaves it.
	Attach func(agentID int64) *exec.Cmd
	// Explain is an error of the daemon's as one sentence that names the fix.
	Explain func(error) string
	// Words has a sentence that names commands name them as they must be typed here.
	Words func(sentence string) string
}

// Run shows the list until the operator quits or ctx ends. It returns an error when there is no daemon to
// begin with; one that goes away later is waited for.
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
	stopped := ctx.Err() != nil // from outside: a signal
	cancel()
	<-ended
	if err != nil && !stopped && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}
