// Package proc runs other programs, and finds this program and its hook program. The commands that it runs end with
// their context and leave no processes behind. It also asks the agents' CLIs for their versions. Its functions are safe
// for concurrent use. [Run] says what remains of a command when this process is killed.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unicode/utf8"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/daemon/engine"
)

const (
	oneShotStdout = 16 << 20 // bytes
	stderrTail    = 4 << 10  // bytes
)

// OneShot implements daemon.Config.OneShot. It ends a command that prints more than oneShotStdout, and then returns an
// error. It keeps the last stderrTail bytes of stderr. If a command fails, OneShot returns its exit code and no error.
// If a signal ends the command, the code is 128 plus the signal's number.
func OneShot(ctx context.Context, job engine.OneShot) (engine.OneShotResult, error) {
	out := Limited{Max: oneShotStdout}
	stderr, exit, err := Run(ctx, job, &out)
	switch {
	case errors.Is(err, ErrTooMuch):
		return engine.OneShotResult{}, fmt.Errorf("%s printed more than %d MB and was ended: see what it prints in a terminal", job.Argv[0], oneShotStdout>>20)
	case err != nil:
		return engine.OneShotResult{}, err
	}
	return engine.OneShotResult{Stdout: out.Bytes(), Stderr: stderr, Exit: exit}, nil
}

// Run runs a command to its end, in a process group of its own. When ctx ends, or a write to stdout fails, the group
// gets SIGTERM and, after child.EndGrace, SIGKILL; the error is the context's cause or the error of stdout. When the
// command ends, Run ends all other processes of the group.
//
// If this process is killed, Linux kills the command as well (see [child.Tie]). On other systems the command stays, with
// closed pipes.
func Run(ctx context.Context, job engine.OneShot, stdout io.Writer) (stderr string, exit int, err error) {
	return run(ctx, job, stdout, child.Tie)
}

// RunOut does what [Run] does, but if this process is killed, the command goes on to its end. It is for a command that would leave
// files in between two states.
func RunOut(ctx context.Context, job engine.OneShot, stdout io.Writer) (stderr string, exit int, err error) {
	return run(ctx, job, stdout, func(*syscall.SysProcAttr) {})
}

func run(ctx context.Context, job engine.OneShot, stdout io.Writer, tie func(*syscall.SysProcAttr)) (stderr string, exit int, err error) {
	if len(job.Argv) == 0 {
		return "", 0, errors.New("one-shot: no command")
	}
	bin, err := child.LookPath(job.Argv[0], job.Env)
	if err != nil {
		return "", 0, err
	}
	if fi, err := os.Stat(job.Dir); job.Dir != "" && (err != nil || !fi.IsDir()) {
		return "", 0, fmt.Errorf("the working directory %s is gone: make it again", job.Dir)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Lock the thread: the kernel ends the child when the thread that forks it ends, so the thread must last as long as
	// the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var complaints tail
	cmd := child.InGroup(ctx, bin)
	tie(cmd.SysProcAttr)
	cmd.Args, cmd.Dir, cmd.Env = job.Argv, job.Dir, job.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(job.Stdin), refusing{stdout, stop}, &complaints
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return "", 0, context.Cause(ctx)
		}
		return "", 0, fmt.Errorf("%w: name a program that runs in config.yaml (runtimes: command)", err)
	}
	err = cmd.Wait()
	child.SignalGroup(cmd.Process, syscall.SIGKILL)
	if ctx.Err() != nil {
		return "", 0, context.Cause(ctx)
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) {
		return "", 0, fmt.Errorf("%s: %w", bin, err)
	}
	return complaints.String(), child.ExitCode(cmd.ProcessState), nil
}

// refusing is a writer that ends the command when a write fails. The error of the write is the cause.
type refusing struct {
	io.Writer
	stop context.CancelCauseFunc
}

func (r refusing) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if err != nil {
		r.stop(err)
	}
	return n, err
}

// ErrTooMuch is the error of a [Limited] that gets more than Max bytes.
var ErrTooMuch = errors.New("too much output")

// Limited is a buffer that refuses more than Max bytes. It does not embed its buffer, because bytes.Buffer.ReadFrom
// knows no limit.
type Limited struct {
	buf bytes.Buffer
	Max int
}

func (l *Limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > l.Max {
		return 0, ErrTooMuch
	}
	return l.buf.Write(p)
}

func (l *Limited) Bytes() []byte { return l.buf.Bytes() }

// tail keeps the last stderrTail bytes that are written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - stderrTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String returns the kept bytes, from the first complete character on.
func (t *tail) String() string {
	b := t.kept
	for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}
