package commands

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
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

// hooksReports returns a report on the settings that a flag names or, without it, on those of this shell and then on those of the
// accounts of agents that live, which may have a folder of their own.
func hooksReports(ctx context.Context, a *cli.App, flag string) ([]hooksReport, error) {
	own, err := settingsPath(a, flag)
	if err != nil {
		return nil, err
	}
	paths := []string{own}
	if flag == "" {
		paths = append(paths, accountSettings(ctx, a)...)
	}
	var all []hooksReport
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue
		}
		r, err := reportHooks(path)
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil { // a folder of somebody else's account hides nothing of the others
			r.Problem = cli.Sentence(err)
		}
		all = append(all, r)
	}
	return all, nil
}

// accountSettings returns the settings files in the folders of the accounts of agents, as far as this machine has those folders.
// Without a daemon there are none.
func accountSettings(ctx context.Context, a *cli.App) (paths []string) {
	c := a.Client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	agents, err := c.Agents(ctx, api.ListOptions{State: "active", Limit: 500})
	if err != nil {
		return nil
	}
	for i := range agents {
		if agents[i].Account == nil {
			continue
		}
		dir := agents[i].Account.Variables["CLAUDE_CONFIG_DIR"]
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			paths = append(paths, filepath.Join(dir, "settings.json"))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func reportHooks(path string) (hooksReport, error) {
	r := hooksReport{Settings: path, Events: []string{}, Missing: []string{}, Broken: []string{}}
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
	r.Missing = append(r.Missing, without(hooks.Events, r.Events)...)
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

func hooksStatus(ctx context.Context, a *cli.App, f hooksFlags) error {
	all, err := hooksReports(ctx, a, f.settings)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			hooksReport
			Accounts []hooksReport `json:"accounts"` // of agents with a folder of their own
		}{all[0], append([]hooksReport{}, all[1:]...)})
	}
	for i, r := range all {
		events := strings.Join(r.Events, " ")
		if events == "" {
			events = "none: `understudy hooks install" + ofSettings(r, i) + "` installs them"
		}
		if i > 0 {
			a.UI(a.Stdout).Printf("\nof the account of an agent:\n")
		}
		a.UI(a.Stdout).Fields("settings", r.Settings, "events", events, "missing", strings.Join(r.Missing, " "),
			"command", r.Command, "binary", r.Binary, "data", r.Data, "broken", strings.Join(r.Broken, "; "), "problem", strings.ReplaceAll(r.Problem, "hooks install`", "hooks install"+ofSettings(r, i)+"`"))
	}
	return nil
}

// ofSettings returns the flag that names the settings of a report; "": they are those of this shell.
func ofSettings(r hooksReport, i int) string {
	if i == 0 {
		return ""
	}
	return " --settings " + proc.ShellQuote(r.Settings)
}
