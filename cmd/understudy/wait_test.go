package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// seat is a command that runs in front of a person: on a terminal of its own, or with pipes. In memory it runs in
// the story's own process.
type seat struct {
	r        *rig
	cmd      *exec.Cmd
	keyboard *os.File // of the terminal; nil: pipes
	tty      *os.File
	ended    chan struct{}
	code     int // of its exit, once it has ended

	mu     sync.Mutex
	output bytes.Buffer
}

// Write takes what a command prints to a pipe.
func (s *seat) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.Write(b)
}

// sit runs understudy with the rig's data directory.
func (r *rig) sit(terminal bool, args ...string) *seat {
	r.t.Helper()
	s := &seat{r: r, ended: make(chan struct{})}
	args = append(args, "--data", r.root)
	if r.memory != nil {
		return s.runs(args)
	}
	s.cmd = exec.Command(mainProgram(r.t), args...)
	s.cmd.Env = append([]string{"TERM=xterm-256color", "NO_COLOR=1"}, r.cfg.Environ...)
	var read sync.WaitGroup
	if terminal {
		var err error
		if s.keyboard, s.tty, err = pty.Open(); err != nil {
			r.t.Fatal(err)
		}
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 50, Cols: 100}); err != nil {
			r.t.Fatal(err)
		}
		s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		read.Go(func() {
			buf := make([]byte, 4096)
			for {
				n, err := s.keyboard.Read(buf)
				_, _ = s.Write(buf[:n])
				if err != nil {
					return
				}
			}
		})
	} else {
		s.cmd.Stdout, s.cmd.Stderr = s, s
	}
	if err := s.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // its exit code tells
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

// runs has the command run here.
func (s *seat) runs(args []string) *seat {
	ctx, cancel := context.WithCancel(context.Background())
	a := &app{
		getenv: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: s, stderr: s,
		connect: func(string) *api.Client { return api.NewClientOver(s.r.memory) },
	}
	go func() {
		s.code = a.run(ctx, args)
		close(s.ended)
	}()
	s.r.t.Cleanup(func() {
		cancel()
		<-s.ended
	})
	return s
}

// shown is all that was printed.
func (s *seat) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

// sees waits until so many places of what was printed match.
func (s *seat) sees(pattern string, times int) {
	s.r.t.Helper()
	re := regexp.MustCompile(pattern)
	s.r.await(fmt.Sprintf("%q", pattern), func() (bool, string) {
		return len(re.FindAllString(s.shown(), -1)) >= times, s.shown()
	})
}

func (s *seat) types(keys string) {
	s.r.t.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.r.t.Fatal(err)
	}
}

func (s *seat) signal(sig os.Signal) {
	s.r.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.r.t.Fatal(err)
	}
}

// exits waits for the end and checks the exit code.
func (s *seat) exits(code int) {
	s.r.t.Helper()
	s.r.await("its end", func() (bool, string) {
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

// ends is exits, and checks the last lines.
func (s *seat) ends(code int, last ...string) {
	s.r.t.Helper()
	s.exits(code)
	s.sees(regexp.QuoteMeta(last[len(last)-1]), 1) // a terminal hands it on a little later
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s.shown(), "\r\n", "\n"), "\n"), "\n")
	tail := lines[max(len(lines)-len(last), 0):]
	for i := range tail {
		tail[i] = tail[i][strings.LastIndex(tail[i], "\x1b[J")+1:] // what was drawn before is not there any more
		tail[i] = strings.TrimPrefix(tail[i], "[J")
	}
	if strings.Join(tail, "\n") != strings.Join(last, "\n") {
		s.r.t.Errorf("last lines %q, want %q", tail, last)
	}
}

// spokenTo is an agent with something to hand off.
func (r *rig) spokenTo() daemon.Agent {
	r.t.Helper()
	a := r.agent(con)
	r.awaitVerdict(a.ID, r.send(a.ID, "Find out why the tests are slow").ID, daemon.Submitted)
	return r.awaitState(a.ID, daemon.Idle)
}

// generates starts a handoff in mode generate whose document takes long.
func generates(t *testing.T, terminal bool) (*rig, *seat, daemon.Agent) {
	t.Helper()
	r := newRig(t).start()
	a := r.spokenTo()
	r.misbehave("think=1h")
	s := r.sit(terminal, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
	s.sees(regexp.QuoteMeta(generatingLabel), 1)
	r.await("the fork", func() (bool, string) {
		h, err := r.client.LatestHandoff(t.Context(), a.ID)
		return err == nil && h.Phase == daemon.Generating && h.Note != "", h.Note
	})
	return r, s, a
}

func (r *rig) wantCancelled(a daemon.Agent) {
	r.t.Helper()
	h, err := r.client.LatestHandoff(r.t.Context(), a.ID)
	if err != nil || h.Status != daemon.StatusCancelled {
		r.t.Errorf("handoff is %s, %v; want it cancelled", h.Status, err)
	}
	if now := r.getAgent(a.ID); !now.Active() {
		r.t.Errorf("agent %+v did not live on", now)
	}
}

func TestGenerateEscCancels(t *testing.T) {
	t.Parallel()
	r, s, a := generates(t, true)
	s.types("\x1b[A\x1bOP#\x1bx") // an arrow, a function key, a letter, another with Alt
	frames := strings.Count(s.shown(), generatingLabel)
	s.sees(regexp.QuoteMeta(generatingLabel), frames+8)
	if h := r.latest(a.ID); h.Phase != daemon.Generating {
		t.Fatalf("handoff is %s; want it generating", h.Phase)
	}
	if strings.Contains(s.shown(), "^[") || strings.Contains(s.shown(), "#") {
		t.Errorf("what was typed is shown: %q", s.shown())
	}
	s.types("\x1b")
	s.ends(exitFailed, "Handoff cancelled")
	r.wantCancelled(a)
}

// TestGenerateRestoresTheTerminal: however the watching ends.
func TestGenerateRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*seat){
		"Esc":     func(s *seat) { s.types("\x1b") },
		"Ctrl-C":  func(s *seat) { s.types("\x03") },
		"SIGTERM": func(s *seat) { s.signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s, a := generates(t, true)
			fresh, other, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer fresh.Close()
			defer other.Close()
			before := terminalMode(t, other)
			r.await("single keys", func() (bool, string) { return terminalMode(t, s.tty) != before, "lines" })
			end(s)
			if name == "SIGTERM" {
				h := r.latest(a.ID)
				s.ends(exitFailed, r.notWatched(h))
				if h.Phase != daemon.Generating {
					t.Errorf("handoff is %s, want it to go on", h.Phase)
				}
			} else {
				s.ends(exitFailed, "Handoff cancelled")
				r.wantCancelled(a)
			}
			if after := terminalMode(t, s.tty); after != before {
				t.Errorf("mode %+v, was %+v", after, before)
			}
		})
	}
}

func TestGenerateInterruptCancelsInAPipe(t *testing.T) {
	t.Parallel()
	r, s, a := generates(t, false)
	s.signal(os.Interrupt)
	s.ends(exitFailed, "Handoff cancelled")
	r.wantCancelled(a)
	if n := strings.Count(s.shown(), generatingLabel+"\n"); n != 1 || strings.Contains(s.shown(), "\x1b") {
		t.Errorf("said %d times in %q", n, s.shown())
	}
}

// TestGenerateRecorded: what is recorded goes on. Esc does nothing then, and Ctrl-C ends the
// watching alone.
func TestGenerateRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.spokenTo()
	r.misbehave("ignore-exit,ignore-term")
	s := r.sit(true, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
	s.sees(". shutting down ", 1)
	s.types("\x1b")
	s.sees(". shutting down ", 8)
	s.types("\x03")
	h := r.latest(a.ID)
	s.ends(exitFailed, r.notWatched(h))
	if h.RecordedAt == nil || h.Status == daemon.StatusCancelled {
		t.Errorf("handoff is %s", h.Phase)
	}
}

// notWatched is what is said of a handoff that nobody watches any more.
func (r *rig) notWatched(h daemon.Handoff) string {
	return fmt.Sprintf("understudy: no longer watched; handoff %d goes on: `understudy handoff cancel %[1]d --data %s` cancels it until its document is recorded", h.ID, r.root)
}

func TestGenerateCompletes(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		r := newRig(t).start()
		a := r.spokenTo()
		s := r.sit(terminal, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
		s.exits(exitDone)
		s.ends(exitDone, fmt.Sprintf("look at it: `understudy agent attach %d --data %s`", *r.latest(a.ID).SuccessorID, r.root), "New session started with handoff context")
		if shown := s.shown(); !strings.Contains(shown, generatingLabel) || !strings.Contains(shown, "✓ generating ") {
			t.Errorf("terminal %t: %s", terminal, shown)
		}
	}
}

// TestAgentModeIsNotCancelled: while the agent itself writes, Esc does nothing and Ctrl-C ends the
// watching alone.
func TestAgentModeIsNotCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.agent(con)
	r.misbehave("think=1h")
	s := r.sit(true, "handoff", fmt.Sprint(a.ID), "--force", "--wait")
	s.sees(". awaiting document ", 1)
	s.types("\x1b")
	s.sees(". awaiting document ", 8)
	s.types("\x03")
	h := r.latest(a.ID)
	s.sees(regexp.QuoteMeta(r.notWatched(h)), 1)
	if h.Phase != daemon.AwaitingDocument {
		t.Errorf("handoff is %s, want it to go on", h.Phase)
	}
}

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
		a := &app{getenv: noEnv, dataFlag: "/d", stdout: &stdout, stderr: &stderr}
		err := a.tellEnd(&progress{ui: a.ui(a.stdout)}, c.h)
		if !errors.Is(err, errSilent) || stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%s: %v, %q, %q", name, err, &stdout, &stderr)
		}
	}
}
