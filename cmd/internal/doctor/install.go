package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
)

// manager is a package manager.
type manager struct {
	name     string
	packages map[string]string // the manager's names, by Finding.pack
	update   []string          // the command to run before install; nil if none is needed
	install  []string
	root     bool // the commands must run as root
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

// installation returns the commands that install the packages that the findings name, and a note about them. look finds
// a program, as exec.LookPath does.
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

// inShell returns the commands as a person would type them.
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

// Lacking returns the findings that `doctor --fix` can mend by installing a package.
func Lacking(found []Finding) []Finding {
	var missing []Finding
	for _, f := range found {
		if f.State == FindingMissing && f.pack != "" {
			missing = append(missing, f)
		}
	}
	return missing
}

// Install shows the commands that install the missing packages, asks for permission, and runs the commands.
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
		if !a.Confirm(ctx, "Run it?") {
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
