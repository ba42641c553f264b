package scripted

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// Measured: two C-c within 50 ms end the session, 1.5 s apart they do not.
const twice = 800 * time.Millisecond

// escapeWait is how long the agent waits after a lone ESC, which may be the beginning of a sequence.
const escapeWait = 20 * time.Millisecond

// run opens the terminal, works until the session ends, and closes the terminal.
func (a *Agent) run() (int, error) {
	input, err := a.Terminal.Open()
	if err != nil {
		return 0, err
	}
	a.screen = &screen{terminal: a.Terminal, alive: a.alive, Frame: actor.Frame{Header: header(a), Footer: footer(a)}}
	if a.settings.StatusLine.Command != "" {
		a.screen.Status = statusRows("")
	}
	l := &loop{Agent: a, input: input, signals: a.Signals(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGWINCH)}
	l.resize()

	ctx, cancel := context.WithCancel(a.alive)
	defer cancel()
	a.life = ctx
	a.wg.Go(func() { a.work(ctx) })
	a.enqueue(job{run: a.start})
	l.begin(ctx, a.opt.Prompt)
	q := l.loop(ctx)
	if q.reason == "" { // a crash: stop the goroutines that would write at the session's end
		l.kill()
	}
	cancel()
	return l.end(q), nil
}

// header returns the lines at the top of the screen.
func header(a *Agent) []string {
	title := "✻ Scripted agent " + Version + " · stands in for Claude Code, no model behind it"
	var parts []string
	if a.opt.Name != "" {
		parts = append(parts, a.opt.Name)
	}
	if n := len(a.opt.SystemPrompt); n > 0 {
		parts = append(parts, fmt.Sprintf("%.1f kB of instructions", float64(n)/1000))
	}
	return []string{title, "  " + strings.Join(append(parts, a.Dir), " · ")}
}

func footer(a *Agent) string {
	id, _ := a.ids()
	return a.opt.permissionMode + " · session " + id[:8]
}

// loop owns the keyboard and the composer.
type loop struct {
	*Agent
	signals  <-chan os.Signal
	input    <-chan []byte // closed when the terminal is gone
	keys     keyboard
	composer actor.Composer
	armed    string    // "c" or "d" after that key was pressed once
	armedAt  time.Time // when armed was set
}

// loop handles keys, signals and requests until the session ends.
func (l *loop) loop(ctx context.Context) quit {
	escape, disarm := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	defer escape.Stop()
	defer disarm.Stop()
	for {
		select {
		case <-ctx.Done(): // the agent was killed
			return quit{code: 137}
		case q := <-l.quits:
			return q
		case sig := <-l.signals:
			if l.ends(sig) {
				return quit{code: 143, reason: "other"}
			}
			l.resize() // after SIGWINCH
		case chunk, ok := <-l.input:
			if !ok {
				return quit{code: 143, reason: "other"}
			}
			l.press(ctx, l.keys.feed(chunk))
			escape.Reset(time.Hour)
			if l.keys.waiting() {
				escape.Reset(escapeWait)
			}
			if l.armed != "" {
				disarm.Reset(twice)
			}
		case <-escape.C:
			l.press(ctx, l.keys.flush())
		case <-disarm.C:
			l.armed = ""
			l.screen.setHint("")
		case text := <-l.giveBack:
			l.composer.Text = join(text, l.composer.Text)
			l.screen.setComposer(l.composer)
		}
	}
}

func (l *loop) resize() { l.screen.resize(l.Terminal.Size()) }

func (l *loop) press(ctx context.Context, keys []key) {
	for _, k := range keys {
		if !l.dialogKey(k) {
			l.edit(ctx, k)
		}
	}
	if len(keys) > 0 {
		l.screen.setComposer(l.composer)
	}
}

// edit gives one key to the composer.
func (l *loop) edit(ctx context.Context, k key) {
	c := &l.composer
	switch k.kind {
	case keyText:
		c.Text += k.text
	case keyPaste:
		c.Paste(k.text)
	case keyNewline:
		c.Text += "\n"
	case keyBackspace:
		c.Backspace()
	case keyEsc:
		l.interruptTurn()
	case keyEnter:
		if rest, ok := strings.CutSuffix(c.Text, `\`); ok {
			c.Text = rest + "\n"
			return
		}
		if strings.TrimSpace(c.Text) != "" {
			prompt := c.Take()
			l.screen.setComposer(*c)
			l.submit(ctx, prompt)
		}
	case keyControl:
		l.control(k.text)
	}
}

func (l *loop) control(letter string) {
	c := &l.composer
	switch letter {
	case "s":
		c.PutAway()
	case "u":
		c.KillLine()
	case "w":
		c.KillWord()
	case "c", "d":
		l.leave(letter)
	case "z":
		l.screen.suspend()
		l.resize()
	}
}

// leave handles C-c and C-d. The first C-c interrupts a turn or empties the composer. If a person presses either key two
// times within [twice], the session ends.
func (l *loop) leave(letter string) {
	if letter == "c" && (l.interruptTurn() || l.composer.Text != "") {
		l.composer.Clear()
		l.armed = ""
		return
	}
	if l.composer.Text != "" {
		return
	}
	if l.armed == letter && time.Since(l.armedAt) < twice {
		l.stop(quit{reason: "prompt_input_exit"})
		return
	}
	l.armed, l.armedAt = letter, time.Now()
	l.screen.setHint("Press Ctrl-" + strings.ToUpper(letter) + " again to exit")
}

// queue takes a prompt that was typed while a turn runs. It sends UserPromptSubmit at once, with the prompt id of the
// running turn. The turn of the queued prompt begins after the running turn's Stop.
func (l *loop) queue(ctx context.Context, prompt string) {
	l.screen.print(actor.BlockNote, "Queued: "+actor.Quote(prompt, 60))
	l.record("queue-operation", fields{"operation": "enqueue", "content": prompt})
	l.wg.Go(func() {
		if !l.submitted(ctx, prompt) || ctx.Err() != nil {
			return
		}
		l.enqueue(job{turn: true, run: func(ctx context.Context) {
			l.record("queue-operation", fields{"operation": "dequeue"})
			l.turn(ctx, prompt, queued)
		}})
	})
}

// end waits for the worker, sends SessionEnd, cleans up and returns the exit status.
func (l *loop) end(q quit) int {
	if q.reason == "" {
		l.wg.Wait()
		return q.code
	}
	ended := make(chan struct{})
	go func() { l.wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(3 * time.Second): // do not wait longer for a hook that outlives its signal
	}
	l.hook(l.alive, "SessionEnd", q.reason, l.hooks().SessionEnd(q.reason))
	l.registry.remove()
	l.screen.close()
	return q.code
}
