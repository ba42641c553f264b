// Package claude is Claude Code: its command lines, its screens, its transcripts, and the lines by which it says that a hook has refused a
// prompt. The daemon's reports have the words of its hooks, so nothing is translated here.
package claude

import (
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

const runtimeName = "claude"

// ExitText ends Claude Code when it is typed into the composer and submitted.
const ExitText = "/exit"

// Runtime is Claude Code. Its assumptions were measured on Claude Code 2.1.329; the end-to-end tests repeat the measurements
// against the pinned version.
var Runtime = &runtimes.Runtime{
	Name: runtimeName, Title: "Claude Code", Command: []string{"claude"}, Modes: permissionModes, Widths: widths,
	Can: runtimes.Can{
		Tested: "2.1.330",
		Skill:  runtimes.SkillInSystem, Registers: runtimes.RegistersByHook, Ways: []runtimes.Way{runtimes.ByTyping}, Exit: runtimes.ByTyping, ExitText: ExitText,
		StashKey: "C-s", Escapes: 1, ChoosesID: true, Continues: true, Compacts: true, KnowsWindow: true, Transcript: true, OpensFile: true,
		HoldsTurn: true, TellsRefusals: true, ReturnsRefused: true, AnswersPermission: true, HoldsPermission: true, Reads: runtimes.Reads{Tools: []string{"Read"}, Shells: []string{"Bash"}},
		Todos: "`TaskCreate` and `TaskUpdate`, in older versions `TodoWrite`", Efforts: efforts, Model: "`/model`, and the answers after it", Mode: "each prompt",
		Turns: "hooks, and its registry of sessions", Refusals: "its transcript, with the hook's reason", Errors: "hook StopFailure", Limits: "hook StopFailure, with its text; a question about it is closed",
		Usage: "its status line", Tokens: "its transcript, with those of sub-agents", Cost: "its status line", SubagentFiles: true, Permissions: "hook PermissionRequest, registry and screen", Document: "`-p --fork-session`", OneShot: "`-p`",
	},
	Build: launch, CheckVersion: hooks.CheckVersion, ReadScreen: readScreen, Dialogs: dialogLook,
	Fork: fork, ForkAnswer: runtimes.ReadAnswer(readAnswer), Registry: runtimes.RegistryPath, Tail: tail,
	OwnArgs: args, Account: account, Places: places,
	ReadLine: ReadLine, Clean: WithoutMarks, Switched: switched,
}

var (

	// permissionModes are the values of --permission-mode. "default" is among them because hooks still
	// report the mode "manual" by that old name.
	permissionModes = []string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"}

	widths = map[string]runtimes.Width{
		"": runtimes.WidthAsk, "plan": runtimes.WidthPlan, "dontAsk": runtimes.WidthRefuse, "default": runtimes.WidthAsk, "manual": runtimes.WidthAsk, "acceptEdits": runtimes.WidthEdits,
		"auto": runtimes.WidthAuto, "bypassPermissions": runtimes.WidthAll,
	}

	efforts = []string{"low", "medium", "high", "xhigh", "max"} // the values of --effort
)

// launch builds
//
//	COMMAND --settings FILE --session-id UUID --name NAME --append-system-prompt-file FILE OPTIONS
//
// and leaves out each flag whose field in the spec is empty. If Resume is set, --resume UUID replaces
// --session-id UUID. launch puts the settings and the skill text into files in Dir, because every user of
// the machine can see an argument list.
func launch(l *runtimes.Launch, s runtimes.Spec) error {
	file := func(name string, content []byte) string { return l.File(filepath.Join(s.Dir, name), content) }

	settings, err := settings(s)
	if err != nil {
		return err
	}
	// Claude Code does not merge two --settings: the last one wins. So this is the only one.
	if len(settings) > 0 {
		l.Add("--settings", file("settings.json", settings))
	}
	if s.Resume != "" {
		l.Add("--resume", s.Resume)
	} else {
		l.Add("--session-id", s.SessionID)
	}
	l.Flag("--name", s.Name)
	if strings.TrimSpace(s.SkillText) != "" {
		l.Add("--append-system-prompt-file", file("system-prompt.md", []byte(s.SkillText)))
	}
	if len(s.Slash) > 0 {
		file(filepath.Join(slashFolder, ".claude-plugin", "plugin.json"), []byte(slashPlugin))
		file(filepath.Join(slashFolder, "commands", "handoff.md"), s.Slash)
		l.Add("--plugin-dir", filepath.Join(s.Dir, slashFolder))
	}
	options := parseOptions(s.Options)
	if s.Model != "" {
		options = without(options, "--model")
		options = append(options, option{"--model", []string{s.Model}})
	}
	if s.Mode != "" {
		options = without(options, "--permission-mode", "--dangerously-skip-permissions")
		options = append(options, option{"--permission-mode", []string{launchMode(s.Mode)}})
	}
	if s.Effort != "" {
		options = without(options, "--effort")
		options = append(options, option{"--effort", []string{s.Effort}})
	}
	for _, o := range options {
		l.Add(o.argv()...)
	}
	return nil
}

// slashFolder is the folder in that of a launch with a plugin, whose only command is /handoff. Measured on 2.1.330: a person can type
// the bare name of a plugin's command if its file has that name in its front matter; without it they would have to type
// /understudy:handoff. The folder of an --add-dir works too, but the CLI asks at each launch whether it can be trusted.
const slashFolder = "plugin"

const slashPlugin = `{"name": "understudy", "version": "1.0.0", "description": "The command /handoff of understudy"}`

// settings returns the settings file of a launch; nil: it needs none.
func settings(s runtimes.Spec) ([]byte, error) {
	if len(s.SettingsJSON) > 0 || s.Binary == "" {
		return s.SettingsJSON, nil
	}
	var allow []string
	rule := func(path string, tools ...string) {
		if strings.HasSuffix(path, "/") {
			path += "**"
		}
		for _, tool := range tools {
			allow = append(allow, tool+"(/"+path+")") // a rule for an absolute path has two slashes
		}
	}
	for _, path := range s.MayEdit {
		rule(path, "Edit", "Read")
	}
	if s.MayHandOver {
		allow = append(allow, "Skill(handoff)", "Skill(understudy:handoff)") // the second is that of a launch
	}
	for _, path := range s.MayRead {
		rule(path, "Read")
	}
	return hooks.LaunchSettings(s.Binary, hooks.Events, allow)
}

func launchMode(mode string) string {
	if mode == "default" {
		return "manual"
	}
	return mode
}
