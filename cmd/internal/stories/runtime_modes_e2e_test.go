//go:build e2e

package stories

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/cmd/internal/realcli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

var modesOf = flag.String("modes", "", "with TestModes: try every mode of these runtimes (\"codex,omp\", or \"all\") with every kind of settings of a user's, and write down what it asks")

const asksFile = "../../../daemon/runtimes/testdata/asks.json"

// ownSettings are settings of a user's own, by runtime and kind: the file below the CLI's own folder, and what is put into it. Of the
// kind none there is nothing. With a defaultMode Claude Code would open a dialog once, which offers another one.
var ownSettings = map[string]map[string]string{
	"claude": {
		"file":     "settings.json",
		"none":     `{}`,
		"looser":   `{"permissions": {"allow": ["Bash", "Write", "Edit"]}}`,
		"narrower": `{"permissions": {"ask": ["Bash"], "deny": ["Write", "Edit"]}}`,
		"patterns": `{"permissions": {"allow": ["Bash(echo:*)"], "deny": ["Write(wall.md)", "Edit(wall.md)"]}}`,
	},
	"codex": {
		"file":     "config.toml",
		"none":     "",
		"looser":   "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n",
		"narrower": "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n",
		"patterns": "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n",
	},
	"opencode": {
		"file":     "opencode.json",
		"none":     `{"permission": null}`,
		"looser":   `{"permission": {"*": "allow", "bash": "allow", "edit": "allow"}, "agent": {"build": {"permission": {"bash": "allow", "edit": "allow"}}}}`,
		"narrower": `{"permission": {"bash": "ask", "edit": "deny"}}`,
		"patterns": `{"permission": {"bash": {"*": "ask", "echo *": "allow"}, "edit": {"*": "allow", "*wall.md": "deny"}}}`,
	},
	"omp": {
		"file":     "config.yml",
		"none":     `{}`,
		"looser":   `{"tools": {"approvalMode": "yolo", "approval": {"bash": "allow", "write": "allow"}}}`,
		"narrower": `{"tools": {"approvalMode": "always-ask", "approval": {"bash": "prompt", "write": "deny"}}}`,
		"patterns": `{"tools": {"approval": {"write": "deny"}}}`,
	},
	"gemini": {
		"file":     "settings.json",
		"none":     `{}`,
		"looser":   `{"general": {"defaultApprovalMode": "auto_edit"}, "tools": {"allowed": ["run_shell_command", "write_file"]}}`,
		"narrower": `{"general": {"defaultApprovalMode": "default"}, "tools": {"exclude": ["write_file"]}}`,
		"patterns": `{"tools": {"allowed": ["run_shell_command(echo)"], "exclude": ["write_file"]}}`,
	},
}

// settingsKinds are the kinds in the order in which the table shows them.
var settingsKinds = []string{"none", "looser", "narrower", "patterns"}

// aliases are modes that are only other names of modes that are tried, or that cannot be played: Claude Code asks its own API about a
// call in auto and plan, and root cannot choose bypassPermissions.
var aliases = map[string][]string{
	"claude": {"manual", "auto", "plan", "bypassPermissions"}, "codex": {"read-only", "workspace-write", "on-request", "never"}, "opencode": {"build"},
	"omp": {"always-ask", "write", "yolo"}, "gemini": {"default", "auto_edit", "yolo"},
}

// TestModes: every runtime has settings of each kind to be tried with. With -modes it tries every mode with them, and writes the
// table's data and the version of the CLI. TestRecordedVersions of daemon/runtimes wants that of the pinned version.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, name := range catalog.Names() {
		rt := value(catalog.For(name))(t)
		for _, kind := range settingsKinds {
			if _, ok := ownSettings[name][kind]; !ok {
				t.Errorf("%s has no settings that are %s", name, kind)
			}
			if *modesOf != "all" && !slices.Contains(strings.Split(*modesOf, ","), name) {
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				r := newRuntimeRig(t, modesCase(name, kind))
				for _, mode := range append([]string{""}, rt.Modes...) {
					if slices.Contains(aliases[name], mode) {
						continue
					}
					t.Run("mode "+mode, func(t *testing.T) {
						whole := r.t
						r.t = t
						defer func() { r.t = whole }()
						writeAsks(t, rt, kind, mode, r.tryMode(mode))
					})
				}
			})
		}
	}
}

// modesCase is a runtime's case in which the user's own settings are of the kind.
func modesCase(name, kind string) runtimeCase {
	c := runtimeCases[slices.IndexFunc(runtimeCases, func(c runtimeCase) bool { return c.name == name })]
	c.place = func(t testing.TB, script claudetest.Script) runtimePlace {
		own := ownSettings[name]
		if name == "claude" {
			api := claudetest.NewFakeAPI(t, script)
			home := claudetest.Env(t, api)
			putSettings(t, filepath.Join(home.ConfigDir, own["file"]), own[kind])
			return runtimePlace{api: api, environ: home.Environ, work: home.Workdir, command: []string{claudetest.Install(t)}}
		}
		p, home := realPlace(t, realcli.CLI(name), script)
		if name == "omp" {
			p.command = append(p.command, "--model", realcli.Pi.Model(), "--no-lsp")
		}
		if name == "gemini" {
			p.data = home.SystemDir
		}
		putSettings(t, filepath.Join(home.ConfigDir, own["file"]), own[kind])
		return p
	}
	return c
}

// putSettings puts settings into a file, which may be there.
func putSettings(t testing.TB, path, more string) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	text := []byte(more + string(was)) // the first lines of a TOML file are its top
	if filepath.Ext(path) != ".toml" {
		all, add := map[string]any{}, map[string]any{}
		if len(was) > 0 {
			must(t, json.Unmarshal(was, &all))
		}
		must(t, json.Unmarshal([]byte(more), &add))
		for key, value := range add {
			inner, isMap := value.(map[string]any)
			have, _ := all[key].(map[string]any)
			if isMap && have != nil && key != "permission" {
				maps.Copy(have, inner)
				continue
			}
			if all[key] = value; value == nil {
				delete(all, key)
			}
		}
		text = value(json.MarshalIndent(all, "", "  "))(t)
	}
	must(t, os.WriteFile(path, text, 0o600))
}

// tryMode starts an agent in a mode whose model runs a command and then writes a file in its working directory, and sees what each
// needs. A person allows whatever is asked.
func (r *runtimeRig) tryMode(mode string) (got runtimes.Asks) {
	r.t.Helper()
	task := "lay the bricks and build the wall of house " + strconv.FormatInt(houses.Add(1), 10) + "." // no other agent of the rig has it
	bricks, wall := filepath.Join(r.rig.work, "bricks"), filepath.Join(r.rig.work, "wall.md")
	for _, path := range []string{bricks, wall} {
		_ = os.Remove(path) // of the mode before
	}
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		calls := 0
		for _, m := range req.Messages {
			for _, b := range m.Content {
				if b.Type == "tool_result" {
					calls++
				}
			}
		}
		switch {
		case !strings.Contains(strings.Join(req.UserTexts(), "\n"), task):
			return complies(req)
		case calls == 0:
			return claudetest.Bash("echo 42 >bricks", false)
		case calls == 1:
			return claudetest.Write(wall, "# Wall\n")
		}
		return claudetest.Reply{Text: "Built."}
	})
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.rig.work, Runtime: r.name, PermissionMode: mode})
	a = r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() || a.State == daemon.Ended })
	if a.State == daemon.Ended {
		r.t.Fatalf("mode %q: the agent ended: %s", mode, *a.EndReason)
	}
	asked := map[string]bool{}
	var pressed time.Time
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, task).ID, daemon.Submitted)
	r.awaitEvery(tickOfScreens, "the end of the work", func() (bool, string) {
		if shown := r.rt.ReadScreen(runtimes.View{Text: r.shown(a.ID)}); shown.Dialog != "" && time.Since(pressed) > 3*time.Second {
			if _, err := os.Stat(bricks); err == nil || r.answered(task) > 0 {
				asked["write"] = true
			} else {
				asked["command"] = true
			}
			r.personPresses(a.ID, tmux.Enter)
			pressed = time.Now()
		}
		now := r.getAgent(a.ID)
		// Claude Code ends the turn without a Stop where a dialog of its plan mode is left.
		left := !pressed.IsZero() && time.Since(pressed) > 10*time.Second
		return now.State == daemon.Idle && (left || r.answered(task) >= 2 || len(r.tap.of(a.ID, hooks.Stop)) > 0), now.Note
	})
	r.stopAgent(a.ID, true)
	r.awaitState(a.ID, daemon.Ended)
	says := func(what, path string) string {
		_, err := os.Stat(path)
		switch {
		case asked[what] && err == nil:
			return "asks"
		case err == nil:
			return "runs"
		}
		return "refused"
	}
	return runtimes.Asks{Command: says("command", bricks), Write: says("write", wall)}
}

// answered returns how many calls of the conversation with the task have results.
func (r *runtimeRig) answered(task string) (most int) {
	for _, req := range r.api.Requests() {
		n := 0
		if req.Aside != "" || !strings.Contains(strings.Join(req.UserTexts(), "\n"), task) {
			continue
		}
		for _, m := range req.Messages {
			for _, b := range m.Content {
				if b.Type == "tool_result" {
					n++
				}
			}
		}
		most = max(most, n)
	}
	return most
}

func readAsks(t *testing.T) map[string]map[string]map[string]runtimes.Asks {
	t.Helper()
	b, err := os.ReadFile(asksFile)
	all := map[string]map[string]map[string]runtimes.Asks{}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}

// houses numbers the tasks.
var houses atomic.Int64

var asksMu = make(chan struct{}, 1)

func writeAsks(t *testing.T, rt *runtimes.Runtime, kind, mode string, got runtimes.Asks) {
	t.Helper()
	asksMu <- struct{}{}
	defer func() { <-asksMu }()
	all := readAsks(t)
	if all[rt.Name] == nil {
		all[rt.Name] = map[string]map[string]runtimes.Asks{}
	}
	if all[rt.Name][kind] == nil {
		all[rt.Name][kind] = map[string]runtimes.Asks{}
	}
	all[rt.Name][kind][mode] = got
	b, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(asksFile, append(b, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(asksFile), "asks_"+rt.Name+"_version"), []byte(npmtest.Version(rt.Name, rt.Can.Tested)+"\n"), 0o644)
	}
	must(t, err)
}
