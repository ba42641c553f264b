package main

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
	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/tmux"
)

// The states of a finding.
const (
	findingOK      = "ok"
	findingWarning = "warning" // works without
	findingMissing = "missing" // nothing works without
)

// finding is what doctor says about one thing.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
	pack   string // what `doctor --fix` installs; empty: it is not a matter of packages
}

func ok(name, format string, args ...any) finding {
	return finding{Name: name, State: findingOK, Detail: fmt.Sprintf(format, args...)}
}

// checkTmux and checkPostgres find what must be installed before anything works.
func checkTmux(ctx context.Context) finding {
	f := finding{Name: "tmux", State: findingMissing, Fix: "understudy doctor --fix", pack: "tmux"}
	version, err := tmux.Check(ctx, "")
	switch {
	case err == nil:
		return ok("tmux", "version %s", version)
	case errors.Is(err, tmux.ErrMissing):
		f.Detail = "tmux is not installed or not in PATH"
	case errors.Is(err, tmux.ErrTooOld):
		f.Detail = fmt.Sprintf("tmux %s is too old, 3.2 or newer is needed", version)
	default: // it does not answer, which no installation mends
		return finding{Name: "tmux", State: findingMissing, Detail: sentence(err), Fix: "see whether `tmux -V` answers"}
	}
	return f
}

func checkPostgres() finding {
	found, err := localpg.FindBinaries()
	if err == nil {
		return ok("PostgreSQL", "version %s in %s", found.Version, found.Dir)
	}
	if !errors.Is(err, localpg.ErrMissing) { // it does not answer, which no installation mends
		return finding{Name: "PostgreSQL", State: findingMissing, Detail: sentence(err), Fix: "see whether that command answers"}
	}
	return finding{Name: "PostgreSQL", State: findingMissing, Detail: withoutHint(err), Fix: "understudy doctor --fix", pack: "postgresql"}
}

// checkGit looks for git, without which a handoff still works: what its document says about files
// is compared with the working directory alone.
func checkGit(environ []string) finding {
	if path, err := child.LookPath("git", environ); err == nil {
		return ok("git", "%s", path)
	}
	return finding{Name: "git", State: findingWarning, Detail: "not in PATH; handoffs do not know what changed and was committed", Fix: "install git"}
}

// withoutHint is a sentence less its "run `understudy doctor --fix`", which doctor says itself.
func withoutHint(err error) string {
	msg := sentence(err)
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
func installation(missing []finding, look func(string) (string, error), euid int) (commands [][]string, note string, err error) {
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

func names(list []finding) string {
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
			words = append(words, shellQuote(w))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return "`" + strings.Join(lines, " && ") + "`"
}

// require makes sure that tmux and PostgreSQL are there, and offers to install what is not. It
// returns what was found.
func (a *app) require(ctx context.Context, yes bool) ([]finding, error) {
	found := []finding{checkTmux(ctx), checkPostgres()}
	missing := lacking(found)
	for _, f := range found {
		if f.State == findingMissing && f.pack == "" {
			return nil, errors.New(f.Detail)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	for _, f := range missing {
		fmt.Fprintf(a.stderr, "understudy: %s\n", f.Detail)
	}
	if err := a.install(ctx, missing, yes); err != nil {
		return nil, err
	}
	found = []finding{checkTmux(ctx), checkPostgres()}
	for _, f := range lacking(found) {
		return nil, fmt.Errorf("%s, after the installation as before: install it by hand", f.Detail)
	}
	return found, nil
}

// lacking are the findings that an installation of packages mends.
func lacking(found []finding) []finding {
	var missing []finding
	for _, f := range found {
		if f.State == findingMissing && f.pack != "" {
			missing = append(missing, f)
		}
	}
	return missing
}

// install shows the commands that install what is missing, asks, and runs them.
func (a *app) install(ctx context.Context, missing []finding, yes bool) error {
	commands, note, err := installation(missing, exec.LookPath, os.Geteuid())
	if err != nil {
		return err
	}
	if !yes {
		if !isTerminal(a.stdin) {
			return fmt.Errorf("%s must be installed: run %s, or this command again with --yes", names(missing), inShell(commands))
		}
		fmt.Fprintf(a.stderr, "\nThis installs what is missing:\n")
		for _, c := range commands {
			fmt.Fprintf(a.stderr, "  %s\n", strings.Trim(inShell([][]string{c}), "`"))
		}
		if note != "" {
			fmt.Fprintf(a.stderr, "(%s)\n", note)
		}
		if !a.confirm(ctx, "Run it?") {
			return errors.New("nothing was installed")
		}
	}
	for _, argv := range commands {
		fmt.Fprintf(a.stderr, "+ %s\n", strings.Trim(inShell([][]string{argv}), "`"))
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a package manager killed half-way leaves locks
		cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stderr, a.stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: see its output above", inShell([][]string{argv}), err)
		}
	}
	return nil
}

// confirm asks a person; only y is yes. The end of ctx is no.
func (a *app) confirm(ctx context.Context, question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // outlives an interrupted command: a read of a terminal cannot be cancelled
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return false
	case line := <-answer:
		return line == "y" || line == "yes"
	}
}
