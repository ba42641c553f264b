package commands

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// watched is a handoff that a command watches until the handoff ends.
type watched struct {
	id    int64
	agent int64 // the outgoing agent
	mode  daemon.Mode
	seq   int64 // the number of the last move before the command
}

// watchHandoff shows a handoff's progress until the handoff ends. In mode generate, Esc and Ctrl-C cancel the handoff as
// long as a cancel is possible. Otherwise Ctrl-C ends only the command, and the handoff goes on.
func watchHandoff(ctx context.Context, a *cli.App, c *api.Client, w watched) error {
	out := a.Stdout
	if a.JSON {
		out = a.Stderr
	}
	p := show.NewWatcher(a.UI(out))
	p.Printf("handoff %d\n", w.id)
	watching := ctx
	if w.mode != daemon.ModeAgent {
		var release func()
		watching, release = cancellable(ctx, a, c, w)
		defer release()
	}
	h, err := p.Watch(watching, c, w.id, w.seq)
	if err != nil {
		if ctx.Err() != nil {
			said := fmt.Sprintf("no longer watched; handoff %d goes on: `understudy handoff cancel %[1]d` cancels it until its document is recorded", w.id)
			fmt.Fprintf(a.Stderr, "understudy: %s\n", a.WithData(said))
			return cli.ErrSilent
		}
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(h); err != nil {
			return err
		}
	}
	return tellEnd(a, p, h)
}

// tellEnd prints how a handoff ended. A handoff that was cancelled in mode generate has its own sentence.
func tellEnd(a *cli.App, p *show.Watcher, h daemon.Handoff) error {
	switch {
	case h.Phase == daemon.Cancelled && h.Mode != daemon.ModeAgent:
		p.Printf("Handoff cancelled\n")
		return cli.ErrSilent
	case h.Phase == daemon.Failed && h.Error != nil && h.Error.Hint != "":
		fmt.Fprintf(a.Stderr, "%s\n%s.\n", p.Sentence(h.Error.Message), p.Sentence(words.Capital(h.Error.Hint)))
		return cli.ErrSilent
	}
	if err := p.Verdict(h); err != nil {
		return err
	}
	if h.HeirsFirst() {
		p.Printf("%s\n", a.WithData(fmt.Sprintf("look at them: `understudy handoff show %d`", h.ID)))
		return nil
	}
	p.Printf("%s\n", a.WithData(fmt.Sprintf("look at it: `understudy agent attach %s`", term.Number(h.SuccessorID))))
	p.Printf("New session started with handoff context\n")
	return nil
}

const (
	cancelLimit = 10 * time.Second // for the daemon to take a cancel, and for the watcher to see the handoff's end
	// After its context has ended, a command still looks for an interrupt for signalGrace. A signal reaches one channel
	// after the other, and the context's channel may be the first.
	signalGrace = 100 * time.Millisecond
)

// cancellable returns a context in which to watch a handoff. Esc at the terminal cancels the handoff, and so does an
// interrupt. When the handoff can no longer be cancelled, Esc does nothing, and an interrupt ends the context, as other
// signals do. While a cancel takes effect, the context outlives ctx. The returned function waits for the goroutines that
// cancellable starts, and restores the mode of the terminal.
func cancellable(ctx context.Context, a *cli.App, c *api.Client, w watched) (context.Context, func()) {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	cancel := func() error {
		ctx, done := context.WithTimeout(watching, cancelLimit)
		defer done()
		_, err := c.CancelHandoff(ctx, w.agent, w.id)
		return err
	}
	var work sync.WaitGroup
	work.Go(func() {
		defer stop()
		select {
		case <-watching.Done():
			return
		case <-ctx.Done():
		}
		select {
		case <-interrupts:
		case <-time.After(signalGrace):
			return
		}
		if cancel() != nil {
			return
		}
		select { // wait until the watcher has seen the handoff's end
		case <-watching.Done():
		case <-time.After(cancelLimit):
		}
	})
	work.Go(func() {
		// Ignore the error: the watcher sees whether the handoff was cancelled.
		term.OnEscape(watching, a.Stdin, func() { _ = cancel() })
	})
	return watching, func() {
		stop()
		work.Wait()
		signal.Stop(interrupts)
	}
}
