package commands

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/hooks"
)

// hooksReport says which hooks are installed, and what is wrong with them.
type hooksReport struct {
	Settings string   `json:"settings"`
	Events   []string `json:"events"`
	Missing  []string `json:"missing"` // events that the installed CLI knows and that have no hook
	Command  string   `json:"command"` // the file of the command /handoff, if understudy wrote it
	Binary   string   `json:"binary"`
	Data     string   `json:"data"`     // empty for the default
	Disabled bool     `json:"disabled"` // by disableAllHooks
	Broken   []string `json:"broken"`   // hooks of others that the CLI refuses
	Problem  string   `json:"problem"`
}

func (a *app) hooksReport(ctx context.Context, f hooksFlags) (hooksReport, error) {
	r := hooksReport{Events: []string{}, Missing: []string{}, Broken: []string{}}
	var err error
	if r.Settings, err = a.settingsPath(f.settings); err != nil {
		return r, err
	}
	text, err := hooks.ReadSettings(r.Settings)
	if err != nil {
		return r, err
	}
	found, err := hooks.Status(text)
	if err != nil {
		return r, err
	}
	broken, err := hooks.Broken(text)
	if err != nil {
		return r, err
	}
	r.Broken = append(r.Broken, broken...)
	r.Binary, r.Data = found.Bin, found.DataDir
	r.Events = append(r.Events, found.Events...)
	if r.Disabled = allDisabled(text); r.Disabled {
		r.Problem = "no hook runs until you take out " + disableAll
	}
	command, err := hooks.ReadSlash(r.Settings)
	if err != nil {
		return r, err
	}
	if command.Ours() {
		r.Command = command.Path
	}
	if len(r.Events) == 0 {
		if r.Command != "" && !r.Disabled {
			r.Problem = "/handoff is there without its hooks: run `understudy hooks install` again"
		}
		return r, nil
	}
	known, _ := a.eventsToHook(ctx)
	r.Missing = append(r.Missing, without(known, r.Events)...)
	switch _, err := os.Stat(r.Binary); {
	case r.Disabled:
	case err != nil:
		r.Problem = "the hooks run a program that is not there: run `understudy hooks install` again"
	case found.Mixed:
		r.Problem = "the hooks do not all run the same program: run `understudy hooks install` again"
	case len(r.Missing) > 0:
		r.Problem = "some hooks are missing: run `understudy hooks install` again"
	case slowHooks(r.Binary):
		r.Problem = proc.HookName + " does the same and starts faster: run `understudy hooks install` again"
	default:
		r.Problem = commandProblem(command, found)
	}
	return r, nil
}

// slowHooks reports whether the installed hooks run this program although understudy-hook, which is faster, could run
// them.
func slowHooks(bin string) bool {
	own, err := proc.OwnBinary()
	return err == nil && bin == own && proc.HookProgramOf(own) != own
}

// commandProblem says how the file of /handoff differs from the file that an installation would write. It returns "" if
// there is no difference.
func commandProblem(command hooks.SlashFile, found hooks.Report) string {
	bin := found.Bin
	if own, err := proc.OwnBinary(); err == nil && filepath.Base(bin) == proc.HookName {
		bin = filepath.Join(filepath.Dir(bin), filepath.Base(own)) // the program in the same folder installed the hooks
	}
	plan, err := hooks.PlanSlash(command, hooks.InstallOptions{Bin: bin, DataDir: found.DataDir})
	switch {
	case plan.Foreign:
		return foreignCommand(plan.Path) + ": move it away and run `understudy hooks install` again"
	case command.Text == nil:
		return "/handoff is missing: run `understudy hooks install` again"
	case err != nil || plan.Changed:
		return "/handoff is outdated: run `understudy hooks install` again"
	}
	return ""
}

func (a *app) hooksStatus(ctx context.Context, f hooksFlags) error {
	r, err := a.hooksReport(ctx, f)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	events := strings.Join(r.Events, " ")
	if events == "" {
		events = "none: `understudy hooks install` installs them"
	}
	a.UI(a.Stdout).Fields("settings", r.Settings, "events", events, "missing", strings.Join(r.Missing, " "),
		"command", r.Command, "binary", r.Binary, "data", r.Data, "broken", strings.Join(r.Broken, "; "), "problem", r.Problem)
	return nil
}
