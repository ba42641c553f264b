package stories

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// seat is a command in front of a person: on a terminal of its own, or with pipes.
type seat struct {
	cmdtest.Printed
	r        *rig
	cmd      *exec.Cmd
	keyboard *os.File // that of the terminal; nil: pipes
	tty      *os.File
	ended    chan struct{}
	code     int // its exit code, once it has ended
}

// sit runs understudy with the rig's data directory.
func sit(r *rig, terminal bool, args ...string) *seat {
	r.t.Helper()
	s := &seat{r: r, ended: make(chan struct{})}
	args = append(args, "--data", r.root)
	s.cmd = exec.Command(cmdtest.MainProgram(r.t), args...)
	s.cmd.Env = append([]string{"TERM=xterm-256color", "NO_COLOR=1"}, r.cfg.Environ...)
	var read sync.WaitGroup
	if terminal {
		var err error
		if s.keyboard, s.tty, err = pty.Open(); err != nil {
			r.t.Fatal(err)
		}
		must(r.t, pty.Setsize(s.tty, &pty.Winsize{Rows: 50, Cols: 100}))
		s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		read.Go(func() { _, _ = io.Copy(s, s.keyboard) })
	} else {
		s.cmd.Stdout, s.cmd.Stderr = s, s
	}
	must(r.t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait() // Its exit code tells.
		s.code = s.cmd.ProcessState.ExitCode()
		close(s.ended)
	}()
	r.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		if terminal {
			_ = s.tty.Close()
			read.Wait()
			_ = s.keyboard.Close()
		}
	})
	return s
}

// shown is everything that the command has printed.
func (s *seat) shown() string { return s.String() }

// awaitPrinted waits until the printed text has this many matches.
func (s *seat) awaitPrinted(pattern string, times int) {
	s.r.t.Helper()
	re := regexp.MustCompile(pattern)
	s.r.await(fmt.Sprintf("%q", pattern), func() (bool, string) {
		return len(re.FindAllString(s.shown(), -1)) >= times, s.shown()
	})
}

func (s *seat) typeKeys(keys string) {
	s.r.t.Helper()
	value(s.keyboard.WriteString(keys))(s.r.t)
}

// wantExit waits until the command ends, and checks its exit code.
func (s *seat) wantExit(code int) {
	s.r.t.Helper()
	s.r.await("the end of the command", func() (bool, string) {
		select {
		case <-s.ended:
			return true, ""
		default:
			return false, s.shown()
		}
	})
	if got := s.code; got != code {
		s.r.t.Errorf("exit code %d, want %d:\n%s", got, code, s.shown())
	}
}

// wantEnd is wantExit; it also checks the last lines.
func (s *seat) wantEnd(code int, last ...string) {
	s.r.t.Helper()
	s.wantExit(code)
	s.awaitPrinted(regexp.QuoteMeta(last[len(last)-1]), 1) // A terminal hands output on a little later.
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s.shown(), "\r\n", "\n"), "\n"), "\n")
	tail := lines[max(len(lines)-len(last), 0):]
	for i := range tail {
		tail[i] = tail[i][strings.LastIndex(tail[i], "\x1b[J")+1:] // The terminal has erased what was drawn before.
		tail[i] = strings.TrimPrefix(tail[i], "[J")
	}
	equal(s.r.t, "last lines", strings.Join(tail, "\n"), strings.Join(last, "\n"))
}

// startSpokenTo is an agent that has something to hand off.
func startSpokenTo(r *rig) daemon.Agent {
	r.t.Helper()
	a := r.startAgent(con)
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Find out why the tests are slow").ID, daemon.Submitted)
	return r.awaitState(a.ID, daemon.Idle)
}
