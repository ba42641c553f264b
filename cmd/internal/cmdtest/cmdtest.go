// Package cmdtest is what the tests of several packages of cmd share: the programs, built once, a git repository, a
// session bus, and a pipeline to draw.
package cmdtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/daemon"
)

// NoEnv is an empty environment.
func NoEnv(string) string { return "" }

// NotificationService is the bus name of every desktop's notification service, by the Desktop Notifications
// Specification.
const NotificationService = "org.freedesktop.Notifications"

// SessionBus is a session bus of one test.
type SessionBus struct {
	t       *testing.T
	Address string
	Process *exec.Cmd
}

// StartBus starts a session bus, which ends with the test.
func StartBus(t *testing.T) SessionBus {
	t.Helper()
	bin, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Fatal("dbus-daemon is missing: install it with `apt-get install dbus` (brew install dbus, dnf install dbus-daemon)")
	}
	cmd := exec.Command(bin, "--session", "--nofork", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("dbus-daemon: %v", err)
	}
	return SessionBus{t, strings.TrimSpace(line), cmd}
}

// Hostile is a message with text of an agent that attacks the reader's terminal.
const Hostile = "an <agent> & more\x1b[31m\u202e\nnext: `understudy agent attach 7`."

// Printed collects the output of a program or a log. A test may read it meanwhile.
type Printed struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *Printed) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Printed) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Tests that run these programs do not need the race detector in them: the packages of the programs are tested with it,
// and the stories in memory run the agent with it.
var (
	mainPrograms  = childtest.NewPrograms("github.com/understudyd/understudy/cmd/understudy", "github.com/understudyd/understudy/cmd/understudy-hook")
	agentPrograms = childtest.NewPrograms("github.com/understudyd/understudy/cmd/understudy-hook", "github.com/understudyd/understudy/cmd/internal/scripted/scriptedtest/testdata/agent")
)

// MainProgram builds understudy, with understudy-hook beside it, and returns its path.
func MainProgram(t testing.TB) string { return mainPrograms.Path(t, "understudy") }

// HookProgram builds the real understudy-hook and returns its path.
func HookProgram(t testing.TB) string { return agentPrograms.Path(t, "understudy-hook") }

// AgentProgram builds the scripted agent and returns its path.
func AgentProgram(t testing.TB) string { return agentPrograms.Path(t, "agent") }

// Eventually is how long a test waits for what must happen. Only a failing test waits that long.
const Eventually = 2 * time.Minute

// Getenv is the environment of a program whose session bus this is.
func (b SessionBus) Getenv(name string) string {
	return map[string]string{"DBUS_SESSION_BUS_ADDRESS": b.Address}[name]
}

// Seen is what a terminal finally shows of the text written to it. It knows only the control sequences that package term
// uses for progress.
func Seen(written string) string {
	lines, row := []string{""}, 0
	for written != "" {
		switch {
		case strings.HasPrefix(written, "\r\x1b[1A"), strings.HasPrefix(written, "\r\x1b[2A"):
			row -= int(written[3] - '0')
			written = written[5:]
		case strings.HasPrefix(written, "\r"):
			written = written[1:]
		case strings.HasPrefix(written, "\x1b[J"):
			lines, written = append(lines[:row], ""), written[3:]
		case written[0] == '\n':
			row++
			lines, written = append(lines, ""), written[1:]
		default:
			n := strings.IndexAny(written, "\r\n\x1b")
			if n < 0 {
				n = len(written)
			}
			if n == 0 {
				return fmt.Sprintf("unknown to the test: %q", written)
			}
			lines[row], written = lines[row]+written[:n], written[n:]
		}
	}
	return strings.Join(lines, "\n")
}

// Pipeline is a pipeline of three steps: the first is done, the second waits for approval, the third is pending.
func Pipeline() daemon.Pipeline {
	created := time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *time.Time {
		t := created.Add(after)
		return &t
	}
	return daemon.Pipeline{
		ID: 7, Title: "Mend the login", Template: "full_feature", Prompt: "Mend the login\nIt times out.\n", Cwd: "/srv/app",
		Status: daemon.PipelineWaiting, CreatedAt: created, UpdatedAt: *at(time.Minute), StartedAt: at(time.Second),
		Steps: []daemon.Step{
			{
				ID: 1, AgentName: "designer", Status: daemon.StepDone, AgentIDs: []int64{12, 15}, StartedAt: at(time.Second), FinishedAt: at(13500 * time.Millisecond),
				LatestHandoff: &daemon.StepHandoff{ContentMD: "## What was done\n\n- Drew the new form\x1b[2J\n"},
			},
			{ID: 2, AgentName: "developer", OrderIndex: 1, Status: daemon.StepPending, Approval: true},
			{ID: 3, AgentName: "senior-reviewer-ada-1", OrderIndex: 2, Status: daemon.StepPending, Description: "looks at\x1b[31m it"},
		},
	}
}

// Approved is the pipeline after the approval of its second step, which now runs.
func Approved(p daemon.Pipeline, comment string) daemon.Pipeline {
	began := p.CreatedAt.Add(2 * time.Minute)
	p.Status = daemon.PipelineRunning
	p.Steps = append([]daemon.Step(nil), p.Steps...)
	s := &p.Steps[1]
	s.Status, s.ApprovedAt, s.StartedAt, s.Comment, s.AgentIDs = daemon.StepRunning, &began, &began, comment, []int64{16}
	return p
}

// Failed is the pipeline after its second step has failed.
func Failed(p daemon.Pipeline, why string) daemon.Pipeline {
	end := p.CreatedAt.Add(5 * time.Minute)
	p.Status, p.Error, p.ErrorCode, p.FinishedAt = daemon.PipelineFailed, &why, "step_timeout", &end
	p.Hint = "go on with `understudy pipeline resume 7`"
	p.Steps = append([]daemon.Step(nil), p.Steps...)
	s := &p.Steps[1]
	s.Status, s.Error, s.FinishedAt = daemon.StepFailed, &why, &end
	return p
}

// WantNarrow fails for each line that does not fit into 80 columns.
func WantNarrow(t *testing.T, printed string) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("a line of %d characters: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// Repo is a git repository in a folder of its own.
type Repo struct {
	T   testing.TB
	Dir string
}

// RepoAt is a folder that may hold a repository.
func RepoAt(t testing.TB, dir string) Repo { return Repo{t, dir} }

func NewRepo(t testing.TB) Repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as git names it
	if err != nil {
		t.Fatal(err)
	}
	r := RepoAt(t, dir)
	r.Git("init", "-q")
	return r
}

// GitTestEnv is an environment that hides the git configuration of the person who runs the tests.
func GitTestEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func (r Repo) Git(args ...string) {
	r.T.Helper()
	r.gitAt(time.Now(), args...)
}

// gitAt runs git with this time as the time of the commit.
func (r Repo) gitAt(at time.Time, args ...string) {
	r.T.Helper()
	cmd := exec.CommandContext(r.T.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
	date := fmt.Sprintf("@%d +0000", at.Unix())
	cmd.Dir, cmd.Env = r.Dir, append(GitTestEnv(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.T.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r Repo) Write(name, text string) {
	r.T.Helper()
	path := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.T.Fatal(err)
	}
}

func (r Repo) Commit(at time.Time) {
	r.T.Helper()
	r.Git("add", "-A")
	r.gitAt(at, "commit", "-qm", "message")
}

func (r Repo) Remove(name string) {
	r.T.Helper()
	if err := os.Remove(filepath.Join(r.Dir, name)); err != nil {
		r.T.Fatal(err)
	}
}
