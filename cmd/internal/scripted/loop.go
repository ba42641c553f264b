package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/understudyd/understudy/daemon/actor"
)

// Measured: two C-c within 50 ms end the session, 1.5 s apart they do not.
const twice = 800 * time.Millisecond

// escapeWait is how long a lone ESC may be the beginning of a sequence.
const escapeWait = 20 * time.Millisecond

// run takes the terminal, works until the session ends and gives it back.
func (a *agent) run(stdin, stdout *os.File) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGWINCH)
	defer signal.Stop(signals)
	before, err := term.MakeRaw(int(stdin.Fd()))
	if err != nil {
		return 0, errors.New("the scripted agent wants a terminal on its standard input")
	}
	defer func() { _ = term.Restore(int(stdin.Fd()), before) }() // the terminal may be gone

	a.screen = &screen{out: stdout, Frame: actor.Frame{Header: a.header(), Footer: a.footer()}}
	if a.settings.StatusLine.Command != "" {
		a.screen.Status = statusRows("")
	}
	a.screen.write("\x1b[?2004h\x1b[2J")
	l := &loop{agent: a, stdin: stdin, stdout: stdout, before: before, signals: signals, input: make(chan []byte)}
	l.resize()
	go l.read(stdin)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.life = ctx
	a.wg.Go(func() { a.work(ctx) })
	a.wg.Go(func() {
		if address := tmuxAddress(ctx, a.env); address != "" {
			a.registry.setTmux(address)
		}
	})
	a.enqueue(job{run: a.start})
	if !a.behave().has("lost-prompt") {
		l.begin(ctx, a.opt.prompt)
	}
	q := l.loop(ctx)
	cancel()
	return l.end(q), nil
}

// header is what stands at the top of the screen for as long as the agent runs.
func (a *agent) header() []string {
	title := "✻ Scripted agent " + version + " · stands in for Claude Code, no model behind it"
	var parts []string
	if a.opt.name != "" {
		parts = append(parts, a.opt.name)
	}
	if n := len(a.opt.systemPrompt); n > 0 {
		parts = append(parts, fmt.Sprintf("%.1f kB of instructions", float64(n)/1000))
	}
	return []string{title, "  " + strings.Join(append(parts, a.cwd), " · ")}
}

func (a *agent) footer() string {
	id, _ := a.ids()
	return a.opt.permissionMode + " · session " + id[:8]
}

// loop owns the keyboard and the composer.
type loop struct {
	*agent
	stdin    *os.File
	stdout   *os.File
	before   *term.State // of the terminal
	signals  chan os.Signal
	input    chan []byte // closed when the terminal is gone
	keys     keyboard
	composer actor.Composer
	armed    string    // "c" or "d": pressed once
	armedAt  time.Time // when
}

// read passes on what is typed. It ends with the process or the terminal.
func (l *loop) read(stdin *os.File) {
	for {
		chunk := make([]byte, 64<<10)
		n, err := stdin.Read(chunk)
		if n > 0 {
			l.input <- chunk[:n]
		}
		if err != nil {
			close(l.input)
			return
		}
	}
}

// loop handles what happens until somebody ends the session.
func (l *loop) loop(ctx context.Context) quit {
	escape, disarm := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	defer escape.Stop()
	defer disarm.Stop()
	for {
		select {
		case q := <-l.quits:
			return q
		case sig := <-l.signals:
			if sig == syscall.SIGWINCH {
				l.resize()
			} else if sig != syscall.SIGTERM || !l.behave().has("ignore-term") {
				return quit{code: 143, reason: "other"}
			}
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

func (l *loop) resize() {
	width, height, err := term.GetSize(int(l.stdout.Fd()))
	if err != nil || width == 0 || height == 0 {
		width, height = 80, 24
	}
	l.screen.resize(width, height)
}

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
		if c.Pasted && l.behave().has("swallow-enter") {
			c.Pasted = false
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
		l.suspend()
	}
}

// suspend gives the terminal back and stops the process until a shell brings it to the foreground again.
func (l *loop) suspend() {
	back := make(chan os.Signal, 1)
	signal.Notify(back, syscall.SIGCONT)
	defer signal.Stop(back)
	l.screen.giveUp(func() {
		_ = term.Restore(int(l.stdin.Fd()), l.before)
		fmt.Fprintln(l.stdout, "The scripted agent has been suspended. Run `fg` to bring it back.")
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // it is this process's own
		<-back                                         // the signal may reach another thread first, and this one would run on
		_, _ = term.MakeRaw(int(l.stdin.Fd()))         // the terminal may be gone, which the next read shows
	})
	l.resize()
}

// leave is C-c or C-d: C-c interrupts a turn or empties the composer first; pressed twice within a
// moment either of them ends the session.
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

// queue is a prompt that comes while a turn runs: its UserPromptSubmit is sent at once, with the
// running turn's prompt id, and its turn begins after that turn's Stop.
func (l *loop) queue(ctx context.Context, prompt string) {
	l.screen.print(actor.BlockNote, "Queued: "+actor.Quote(prompt, 60))
	l.record("queue-operation", fields{"operation": "enqueue", "content": prompt})
	l.wg.Go(func() {
		if !l.submitted(ctx, l.behave(), prompt) || ctx.Err() != nil {
			return
		}
		l.enqueue(job{turn: true, run: func(ctx context.Context) {
			l.record("queue-operation", fields{"operation": "dequeue"})
			l.turn(ctx, prompt, queued)
		}})
	})
}

// end waits for the worker, sends SessionEnd, tidies up and returns the exit status.
func (l *loop) end(q quit) int {
	if q.reason == "" {
		return q.code
	}
	ended := make(chan struct{})
	go func() { l.wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(3 * time.Second): // a hook that outlives its signal does not hold the exit
	}
	l.hook(context.Background(), "SessionEnd", q.reason, fields{"reason": q.reason})
	if delay := l.behave().duration("exit-delay", 0); delay > 0 {
		l.linger(delay)
	}
	l.registry.remove()
	l.screen.write(fmt.Sprintf("\x1b[?2004l\x1b[?25h\x1b[%d;1H\r\n", l.screen.Height))
	return q.code
}

// linger keeps the process alive after SessionEnd, until a signal that it does not ignore.
func (l *loop) linger(delay time.Duration) {
	after := time.After(delay)
	for {
		select {
		case <-after:
			return
		case sig := <-l.signals:
			if sig != syscall.SIGWINCH && (sig != syscall.SIGTERM || !l.behave().has("ignore-term")) {
				return
			}
		}
	}
}
