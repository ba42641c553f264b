// Package codex is the Codex CLI: its command lines, its screens, its rollouts, and what its hooks say in the daemon's words.
package codex

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

const runtimeName = "codex"

// Runtime is the Codex CLI. Its assumptions were measured on Codex 0.169.0; the end-to-end tests repeat the measurements
// against that version.
var Runtime = &runtimes.Runtime{
	Name: runtimeName, Title: "Codex", Command: []string{"codex"}, Modes: modeNames, Widths: widths,
	Can: runtimes.Can{
		Tested: "0.169.0",
		Skill:  runtimes.SkillAsDeveloper, Registers: runtimes.RegistersByScreen, Ways: []runtimes.Way{runtimes.ByTyping, runtimes.ByQueue}, Exit: runtimes.ByTyping, ExitText: "/quit",
		Escapes: 1, WatchScreen: true, Compacts: true, KnowsWindow: true, Transcript: true, OpensFile: true, HoldsTurn: true, TellsRefusals: true, AnswersPermission: true,
		Reads: runtimes.Reads{Shells: []string{"exec_command", "shell_command", "shell"}},
		Todos: "`update_plan`, if the user's settings offer that tool to the model",
		Model: "the settings of each turn", Mode: "the settings of each turn",
		Turns:    "hooks, and its transcript",
		Refusals: "its transcript: a turn in which the model was not asked; the hook's reason on the screen",
		Errors:   "its transcript", Limits: "its transcript, with the time at which the limit ends", Usage: "its transcript", Tokens: "its transcript, without sub-agents",
		Permissions: "hook PermissionRequest, title of the pane and screen", Document: "`exec fork --ephemeral`",
		OneShot: "`exec --ephemeral`",
		Cannot: []string{
			noStash,
			"The skill is part of the command line, which other users of the machine can see, and replaces developer_instructions of the user's own settings.",
			"Without a mode it works inside its folder and asks for more; in the mode auto it is refused more, the file experience.md included.",
			"Why a hook has refused a prompt stands on its screen only: if the pane is gone or too small, the reason is not told.",
			"Nothing tells its session before its first prompt.",
			"In a folder that a person has trusted, the folder's own hooks run without Codex's review of them.",
		},
	},
	Build: launch, CheckVersion: runtimes.NotBefore("Codex", oldest, "update it to "+oldest+" or newer, for instance with `npm install -g @openai/codex`"), ReadScreen: readScreen, Dialogs: dialogLook,
	Report: report, Tail: tail, Refusal: refusal,
	Fork: fork, ForkAnswer: runtimes.ReadAnswer(readAnswer), Queue: queue,
	OwnArgs: args, Account: account, Places: places,
	ReadLine: readLine, Clean: runtimes.WithoutOurs,
}

const noStash = "A draft of a person cannot be put aside: a text goes through the CLI's own queue then, which takes up to ten seconds, " +
	"and before the first prompt it waits for the draft."

// events are the events of the hooks that the daemon acts on.
var events = []string{
	hooks.SessionStart, hooks.UserPromptSubmit, hooks.Stop, hooks.Interrupt, hooks.PermissionRequest, hooks.PreCompact, hooks.SessionEnd,
}

// launch builds
//
//	COMMAND --no-daemon … -c hooks.EVENT=… -c developer_instructions=SKILL -m MODEL -s SANDBOX -a APPROVAL --add-dir DIR
//
// and leaves out each flag whose field in the spec is empty, and those that the command has already. If Resume is set,
// "resume ID" comes last. It needs no file: Codex reads files of settings from the user's own folder only.
// Whether the folder is trusted, the person is asked, as with every CLI.
func launch(l *runtimes.Launch, s runtimes.Spec) error {
	switch size := len(runtimes.TOMLText(s.SkillText)); {
	case size > maxSkill:
		return fmt.Errorf("the skill has %d bytes, and Codex takes at most %d on its command line: shorten the persona's skill.md and experience.md", size, maxSkill)
	case hasFlag(s.Args, "--add-dir") && !mayWrite(s):
		//lint:ignore ST1005 Codex is a name
		return errors.New("Codex takes --add-dir only where it may write: leave it out, or choose the mode edits")
	}
	set := func(key, value string) { l.Add("-c", key+"="+value) }

	// A background server that several sessions share would run the hooks with the environment of another pane.
	l.Add("--no-daemon")
	if s.Binary != "" {
		// Codex would ask a person to review our hooks at each start. It loads a folder's own hooks only after a person has
		// trusted the folder.
		l.Add("--dangerously-bypass-hook-trust")
	}
	for _, kv := range settings {
		set(kv[0], kv[1])
	}
	if s.Binary != "" {
		for _, event := range events {
			command := runtimes.ShellWord(s.Binary) + " hook --runtime " + runtimeName + " " + event
			set("hooks."+event, `[{hooks=[{type="command",command=`+runtimes.TOMLText(command)+`,timeout=20}]}]`)
		}
	}
	if skill := strings.TrimSpace(s.SkillText); skill != "" {
		set("developer_instructions", runtimes.TOMLText(skill))
	}
	l.Flag("-m", s.Model)
	if !hasFlag(s.Command, modeFlags...) {
		l.Add(modes[s.Mode]...)
	}
	for _, path := range s.MayEdit {
		// The sandbox takes folders only. A patch of another file asks for permission, and the daemon answers.
		if dir, ok := strings.CutSuffix(path, "/"); ok && mayWrite(s) {
			l.Add("--add-dir", dir)
		}
	}
	l.Flag("resume", s.Resume)
	return nil
}

// settings are the settings of each launch. Without the first two, the CLI waits for the network at its start and at
// its end. The others keep it from dialogs in which an Enter would change the model.
var settings = [][2]string{
	{"check_for_update_on_startup", "false"},
	{"analytics.enabled", "false"},
	{"notice.model_migrations", `{"gpt-5.5"="gpt-6-sol"}`},
	{"notice.hide_rate_limit_model_nudge", "true"},
}

// modes are the flags of the modes: the neutral names, then Codex's own.
var modes = map[string][]string{
	"":      {"-s", "workspace-write", "-a", "on-request"},
	"ask":   {"-s", "read-only", "-a", "on-request"},
	"edits": {"-s", "workspace-write", "-a", "on-request"},
	"auto":  {"-s", "workspace-write", "-a", "never"},

	"read-only":          {"-s", "read-only", "-a", "on-request"},
	"workspace-write":    {"-s", "workspace-write", "-a", "on-request"},
	"danger-full-access": {"-s", "danger-full-access", "-a", "never"},
	"on-request":         {"-s", "workspace-write", "-a", "on-request"},
	"never":              {"-s", "workspace-write", "-a", "never"},
}

// modeFlags are the flags by which the configured command itself may choose a mode.
var modeFlags = []string{"-s", "--sandbox", "-a", "--ask-for-approval", "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox"}

// mayWrite reports whether the sandbox of a launch has folders that may be written to. In one that is only for reading, Codex
// exits because of --add-dir. There each patch asks for permission, and the daemon allows those of the agent's own document.
func mayWrite(s runtimes.Spec) bool {
	flags := modes[s.Mode]
	if hasFlag(s.Command, modeFlags...) {
		flags = s.Command
	}
	sandbox := ""
	for i, a := range flags {
		name, value, joined := strings.Cut(a, "=")
		switch {
		case name != "-s" && name != "--sandbox":
		case joined:
			sandbox = value
		case i+1 < len(flags):
			sandbox = flags[i+1]
		}
	}
	// Without a sandbox of the command's own, the user's settings decide, and they may say read-only.
	return sandbox == "workspace-write" || sandbox == "danger-full-access" || hasFlag(flags, "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox")
}

// modeNames are the modes in the order in which people see them.
var modeNames = []string{"ask", "edits", "auto", "read-only", "workspace-write", "danger-full-access", "on-request", "never"}

// widths compares the modes. Without a mode, a launch has the flags of edits.
var widths = map[string]runtimes.Width{
	"": runtimes.WidthEdits, "ask": runtimes.WidthAsk, "edits": runtimes.WidthEdits, "auto": runtimes.WidthAuto, "read-only": runtimes.WidthAsk, "workspace-write": runtimes.WidthEdits,
	"on-request": runtimes.WidthEdits, "never": runtimes.WidthAuto, "danger-full-access": runtimes.WidthAll,
}

// maxSkill is the longest skill that fits into one argument, after its characters are escaped, in bytes. Linux takes one byte less than
// 128 KiB (measured).
const maxSkill = 120_000

// hasFlag reports whether an argument list has one of the flags.
func hasFlag(args []string, flags ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(flags, name)
	})
}

// oldest is the oldest version that can be supervised: earlier ones lack flags that each launch has.
const oldest = "0.169"
