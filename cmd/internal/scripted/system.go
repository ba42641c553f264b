package scripted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/understudyd/understudy/daemon/fit"
)

// Main runs the scripted agent until its session ends, and returns the exit status. args are the arguments after the
// program's name or, in a program with subcommands, after the subcommand.
func Main(args []string, environ []string, stdin *os.File, stdout, stderr *os.File) int {
	return OnSystem(args, environ, stdin, stdout, stderr, func(ctx context.Context, p Process) int { return Run(ctx, p, Script{}) })
}

// OnSystem is Main for agents with a script. It calls run with a Process that stands for this process of the operating
// system.
func OnSystem(args []string, environ []string, stdin *os.File, stdout, stderr *os.File, run func(context.Context, Process) int) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(stderr, "error: working directory: %v\n", err)
		return 1
	}
	tty := &tty{in: stdin, out: stdout}
	defer tty.restore()
	return run(context.Background(), Process{
		Args: args, Environ: environ, Dir: dir, PID: os.Getpid(),
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Terminal: tty, Run: runCommand,
		Signals: func(which ...os.Signal) <-chan os.Signal {
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, which...)
			return signals
		},
	})
}

// runCommand runs a command of the operating system. When ctx ends, runCommand ends the command's whole process group,
// so that the children of a shell also end.
func runCommand(ctx context.Context, c Command) Result {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Environ, &stdout, &stderr
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Code: cmd.ProcessState.ExitCode(), Err: err}
}

// tty is the terminal on a program's standard input and output.
type tty struct {
	in, out *os.File
	before  *term.State // nil before Open

	last  string // the frame that the terminal shows
	title string
}

func (t *tty) Open() (<-chan []byte, error) {
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return nil, errors.New("the scripted agent wants a terminal on its standard input")
	}
	t.before = before
	t.write("\x1b[?2004h\x1b[2J")
	keys := make(chan []byte)
	go t.read(keys)
	return keys, nil
}

// read sends the typed bytes to keys. It ends with the process or the terminal.
func (t *tty) read(keys chan<- []byte) {
	defer close(keys)
	for {
		chunk := make([]byte, 64<<10)
		n, err := t.in.Read(chunk)
		if n > 0 {
			keys <- chunk[:n]
		}
		if err != nil {
			return
		}
	}
}

// restore sets the terminal to the mode that it had before Open.
func (t *tty) restore() {
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before) // the terminal may be gone
	}
}

func (t *tty) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width == 0 || height == 0 {
		return 80, 24
	}
	return width, height
}

func (t *tty) write(text string) {
	_, _ = t.out.WriteString(text) // the reader notices that a terminal is gone
}

// Draw draws a frame in one write. It draws nothing if the frame equals the last one.
func (t *tty) Draw(f Frame) {
	var b strings.Builder
	b.WriteString("\x1b[?25l\x1b[H")
	for i, l := range f.Lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if l.Style != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", l.Style, l.Text)
		} else {
			b.WriteString(l.Text)
		}
		if fit.Width(l.Text) < f.Width { // erasing in the last column would erase the last cell
			b.WriteString("\x1b[K")
		}
	}
	b.WriteString("\x1b[J")
	if f.Cursor {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", f.Row+1, f.Col+1)
	}
	if frame := b.String(); frame != t.last || f.Anew {
		t.last = frame
		t.write(frame)
	}
	if f.Title != t.title {
		t.title = f.Title
		t.write("\x1b]2;" + f.Title + "\a")
	}
}

// Suspend restores the terminal and stops the process until a shell brings the process back to the foreground.
func (t *tty) Suspend() {
	back := make(chan os.Signal, 1)
	signal.Notify(back, syscall.SIGCONT)
	defer signal.Stop(back)
	t.write("\x1b[?2004l\x1b[2J\x1b[H")
	t.restore()
	t.write("The scripted agent has been suspended. Run `fg` to bring it back.\n")
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the process may stop itself
	<-back                                         // otherwise this thread would run on until the signal stops it
	_, _ = term.MakeRaw(int(t.in.Fd()))            // the terminal may be gone; the next read notices that
	t.write("\x1b[?2004h\x1b[2J")
}

func (t *tty) Close() {
	_, height := t.Size()
	t.write(fmt.Sprintf("\x1b[?2004l\x1b[?25h\x1b[%d;1H\r\n", height))
}
