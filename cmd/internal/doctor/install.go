// Package doctor looks at what understudy needs on this machine, says how to mend what is wrong, and installs what is
// missing if it may.
package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/tmux"
)

// The states of a finding.
const (
	FindingOK      = "ok"
	FindingWarning = "warning" // works without
	FindingMissing = "missing" // nothing works without
)

// Finding is what doctor says about one thing.
type Finding struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
	pack   string // what `doctor --fix` installs; empty: it is not a matter of packages
}

func OK(name, format string, args ...any) Finding {
	return Finding{Name: name, State: FindingOK, Detail: fmt.Sprintf(format, args...)}
}

// CheckTmux and checkPostgres find what must be installed before anything works.
func CheckTmux(ctx context.Context) Finding {
	f := Finding{Name: "tmux", State: FindingMissing, Fix: "understudy doctor --fix", pack: "tmux"}
	version, err := tmux.Check(ctx, "")
	switch {
	case err == nil:
		return OK("tmux", "version %s", version)
	case errors.Is(err, tmux.ErrMissing):
		f.Detail = "tmux is not installed or not in PATH"
	case errors.Is(err, tmux.ErrTooOld):
		f.Detail = fmt.Sprintf("tmux %s is too old, 3.2 or newer is needed", version)
	default: // it does not answer, which no installation mends
		return Finding{Name: "tmux", State: FindingMissing, Detail: cli.Sentence(err), Fix: "see whether `tmux -V` answers"}
	}
	return f
}

func CheckPostgres() Finding {
	found, err := localpg.FindBinaries()
	if err == nil {
		return OK("PostgreSQL", "version %s in %s", found.Version, found.Dir)
	}
	if !errors.Is(err, localpg.ErrMissing) { // it does not answer, which no installation mends
		return Finding{Name: "PostgreSQL", State: FindingMissing, Detail: cli.Sentence(err), Fix: "see whether that command answers"}
	}
	return Finding{Name: "PostgreSQL", State: FindingMissing, Detail: withoutHint(err), Fix: "understudy doctor --fix", pack: "postgresql"}
}

// CheckGit looks for git, without which a handoff still works: what its document says about files
// is compared with the working directory alone.
func CheckGit(environ []string) Finding {
	if path, err := child.LookPath("git", environ); err == nil {
		return OK("git", "%s", path)
	}
	return Finding{Name: "git", State: FindingWarning, Detail: "not in PATH; handoffs do not know what changed and was committed", Fix: "install git"}
}

// withoutHint is a sentence less its "run `understudy doctor --fix`", which doctor says itself.
func withoutHint(err error) string {
	msg := cli.Sentence(err)
	if i := strings.LastIndexAny(msg, ":;"); i > 0 && strings.Contains(msg[i:], "doctor --fix") {
		msg = msg[:i]
	}
	return msg
}

// manager is a package manager.
type manager struct {
	name     string
	packages map[string]string // by finding.pack
	update   []string          // before an install; nil: not needed
	install  []string
	root     bool // needs to be root
	note     string
}

var managers = []manager{
	{
		name: "apt-get", root: true, packages: map[string]string{"tmux": "tmux", "postgresql": "postgresql"},
		update:  []string{"apt-get", "update"},
		install: []string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends"},
		note:    "the package may start a PostgreSQL of its own, which understudy does not use",
	},
	{
		name: "dnf", root: true, packages: map[string]string{"tmux": "tmux", "postgresql": "postgresql-server"},
		install: []string{"dnf", "install", "-y"},
	},
	{
		name: "brew", packages: map[string]string{"tmux": "tmux", "postgresql": "postgresql@17"},
		install: []string{"brew", "install"},
	},
}

// installation returns the commands that install what the findings lack, and a note about them.
// look finds a program, as exec.LookPath does.
func installation(missing []Finding, look func(string) (string, error), euid int) (commands [][]string, note string, err error) {
	for _, m := range managers {
		if _, err := look(m.name); err != nil {
			continue
		}
		install := slices.Clone(m.install)
		for _, f := range missing {
			install = append(install, m.packages[f.pack])
			if f.pack == "postgresql" {
				note = m.note
			}
		}
		if m.update != nil {
			commands = append(commands, m.update)
		}
		commands = append(commands, install)
		if !m.root || euid == 0 {
			return commands, note, nil
		}
		if _, err := look("sudo"); err != nil {
			return nil, "", fmt.Errorf("installing needs root: run as root %s", inShell(commands))
		}
		for i := range commands {
			commands[i] = append([]string{"sudo"}, commands[i]...)
		}
		return commands, note, nil
	}
	return nil, "", fmt.Errorf("no apt-get, dnf or brew was found: install %s by hand (tmux 3.2 or newer, PostgreSQL 14 or newer)", names(missing))
}

func names(list []Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Name)
	}
	return strings.Join(out, " and ")
}

// inShell is the commands as one would type them.
func inShell(commands [][]string) string {
	var lines []string
	for _, c := range commands {
		var words []string
		for _, w := range c {
			words = append(words, proc.ShellQuote(w))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return "`" + strings.Join(lines, " && ") + "`"
}

// Require makes sure that tmux and PostgreSQL are there, and offers to install what is not. It
// returns what was found.
func Require(ctx context.Context, a *cli.App, yes bool) ([]Finding, error) {
	found := []Finding{CheckTmux(ctx), CheckPostgres()}
	missing := Lacking(found)
	for _, f := range found {
		if f.State == FindingMissing && f.pack == "" {
			return nil, errors.New(f.Detail)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	for _, f := range missing {
		fmt.Fprintf(a.Stderr, "understudy: %s\n", f.Detail)
	}
	if err := Install(ctx, a, missing, yes); err != nil {
		return nil, err
	}
	found = []Finding{CheckTmux(ctx), CheckPostgres()}
	for _, f := range Lacking(found) {
		return nil, fmt.Errorf("%s, after the installation as before: install it by hand", f.Detail)
	}
	return found, nil
}

// Lacking are the findings that an installation of packages mends.
func Lacking(found []Finding) []Finding {
	var missing []Finding
	for _, f := range found {
		if f.State == FindingMissing && f.pack != "" {
			missing = append(missing, f)
		}
	}
	return missing
}

// Install shows the commands that install what is missing, asks, and runs them.
func Install(ctx context.Context, a *cli.App, missing []Finding, yes bool) error {
	commands, note, err := installation(missing, exec.LookPath, os.Geteuid())
	if err != nil {
		return err
	}
	if !yes {
		if !term.IsTerminal(a.Stdin) {
			return fmt.Errorf("%s must be installed: run %s, or this command again with --yes", names(missing), inShell(commands))
		}
		fmt.Fprintf(a.Stderr, "\nThis installs what is missing:\n")
		for _, c := range commands {
			fmt.Fprintf(a.Stderr, "  %s\n", strings.Trim(inShell([][]string{c}), "`"))
		}
		if note != "" {
			fmt.Fprintf(a.Stderr, "(%s)\n", note)
		}
		if !confirm(ctx, a, "Run it?") {
			return errors.New("nothing was installed")
		}
	}
	for _, argv := range commands {
		fmt.Fprintf(a.Stderr, "+ %s\n", strings.Trim(inShell([][]string{argv}), "`"))
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a package manager killed half-way leaves locks
		cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stderr, a.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: see its output above", inShell([][]string{argv}), err)
		}
	}
	return nil
}

// confirm asks a person; only y is yes. The end of ctx is no.
func confirm(ctx context.Context, a *cli.App, question string) bool {
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // outlives an interrupted command: a read of a terminal cannot be cancelled
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return false
	case line := <-answer:
		return line == "y" || line == "yes"
	}
}

// CheckHookProgram says which program agents run at every turn.
func CheckHookProgram() Finding {
	f := Finding{Name: "hook program", State: FindingWarning, Fix: proc.GetHookProgram}
	own, err := proc.OwnBinary()
	if err == nil {
		var path string
		if path, err = proc.FindHookProgram(own); err == nil {
			return OK(f.Name, "%s, of the same build as this program", path)
		}
	}
	f.Detail = fmt.Sprintf("agents run %s, which takes several times as long to start: %s", own, cli.Sentence(err))
	return f
}
