package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/understudyd/understudy/cmd/internal/doctor"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/warden"
)

// demoPlace is the folder that holds everything that a demo makes.
type demoPlace struct {
	top     string
	data    string // data directory
	claude  string // files of the scripted agents
	project string // the agents' working directory
	binary  string // a copy of this program
	warden  *warden.Warden
}

// newDemoPlace makes the folder. Its path is short enough for unix sockets. If root runs the demo, PostgreSQL's account
// can reach the path.
func newDemoPlace() (*demoPlace, error) {
	parents := []string{os.TempDir(), "/tmp", "/var/tmp"}
	root := os.Geteuid() == 0
	var problems []error
	for _, parent := range slices.Compact(parents) {
		parent, err := filepath.EvalSymlinks(parent)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if len(parent)+len("/understudy-0123456789")+doctor.LongestSocket > 103 {
			problems = append(problems, fmt.Errorf("%s is too long a path for sockets", parent))
			continue
		}
		if root && !doctor.Passable(parent) {
			problems = append(problems, fmt.Errorf("%s cannot be reached by PostgreSQL's account", parent))
			continue
		}
		top, err := os.MkdirTemp(parent, "understudy-")
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if root {
			if err := os.Chmod(top, 0o711); err != nil {
				return nil, errors.Join(err, os.Remove(top))
			}
		}
		place := &demoPlace{
			top: top, data: filepath.Join(top, "d"), claude: filepath.Join(top, "claude"),
			project: filepath.Join(top, "parcels"), binary: filepath.Join(top, "understudy"),
		}
		if err := place.guard(); err != nil {
			problems = append(problems, err)
			continue
		}
		return place, nil
	}
	return nil, fmt.Errorf("no folder for the demo: set TMPDIR to a short path that others may pass: %w", errors.Join(problems...))
}

// guard starts a warden. If the demo is killed, the warden ends all processes of the folder and removes the folder.
func (p *demoPlace) guard() error {
	var err error
	if p.warden, err = warden.Start(); err == nil {
		err = p.warden.Watch(p.top)
	}
	if err != nil {
		return errors.Join(err, os.Remove(p.top))
	}
	return nil
}

func (p *demoPlace) tmuxSocket() string { return data.At(p.data).TmuxSocket() }

// fill puts a project into the folder, and a copy of this program, because `go run` would remove the original.
func (p *demoPlace) fill() error {
	own, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	if err := linkOrCopy(own, p.binary); err != nil {
		return fmt.Errorf("copy of this program: %w", err)
	}
	if err := proc.Executable(p.binary); err != nil {
		return fmt.Errorf("programs in %s may not be run (%w): set TMPDIR to a folder whose programs may be run", p.top, err)
	}
	if err := os.Mkdir(p.project, 0o700); err != nil {
		return fmt.Errorf("project of the demo: %w", err)
	}
	for name, content := range demoProject {
		if err := os.WriteFile(filepath.Join(p.project, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("project of the demo: %w", err)
		}
	}
	return nil
}

// remove removes the folder. It tries several times, because agents and PostgreSQL may still write to the folder while
// they end.
func (p *demoPlace) remove() error {
	defer p.warden.End()
	var err error
	for range 20 {
		if err = os.RemoveAll(p.top); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("folder of the demo, remove it yourself: %w", err)
}

// EndAgents ends the tmux server at a socket, and returns when its agents have ended. Until their end they write to
// their files.
func EndAgents(ctx context.Context, socket string) error {
	server, err := tmux.New(tmux.Config{Socket: socket})
	if err != nil {
		return err
	}
	panes, err := server.List(ctx)
	if err != nil {
		return err
	}
	var agents []tmux.Process
	for _, pane := range panes {
		if p, err := tmux.FindProcess(pane.PID); err == nil && !pane.Dead {
			agents = append(agents, p)
		}
	}
	if err := server.KillServer(ctx); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, p := range agents { // tmux has sent them SIGHUP
		if p.Wait(patient) != nil {
			_ = p.Signal(syscall.SIGKILL) // an error only means that the process has ended
		}
	}
	return nil
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// demoProject holds the files that the demo's agents work on.
var demoProject = map[string]string{
	"README.md": `# parcels

Keeps the history of each parcel: where it was scanned, and when.
`,
	"history.py": `"""The history of a parcel."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scan:
    depot: str
    second: int


def merge(scans):
    """Return the scans in order, without those that were sent twice."""
    return sorted(set(scans), key=lambda scan: scan.second)
`,
	"TODO": "history.merge loses scans: two real ones within a second look like one that was sent twice\n",
}
