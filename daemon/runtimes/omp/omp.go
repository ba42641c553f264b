// Package omp is oh-my-pi: its command lines, its screens, its session files, our extension in it, and what that tells in the daemon's words.
package omp

import (
	_ "embed"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// Runtime is oh-my-pi. Its assumptions were measured on 18.2.3; the end-to-end tests repeat the measurements.
var Runtime = &runtimes.Runtime{
	Name: "omp", Title: "oh-my-pi", Command: []string{"omp"}, Modes: modeNames, Widths: widths,
	Can: runtimes.Can{
		Tested: "18.2.3",
		Skill:  runtimes.SkillInSystem, Registers: runtimes.RegistersByHook, Ways: []runtimes.Way{runtimes.ByInbox, runtimes.ByTyping}, Exit: runtimes.ByInbox,
		Escapes: 1, ScreenTurns: true, Compacts: true, KnowsWindow: true, Transcript: true, OpensFile: true, HoldsTurn: true,
		Reads:    runtimes.Reads{Tools: []string{"read"}, Shells: []string{"bash"}},
		Todos:    "the results of `todo`",
		Model:    "an entry for each change",
		Turns:    "our extension: before_agent_start, session_stop, agent_end",
		Refusals: "not needed: no extension can refuse a text of its inbox",
		Errors:   "our extension: agent_end", Limits: "our extension: the text of a 429, with its retry-after-ms",
		Usage:  "our extension, at each turn's end",
		Tokens: "its session file, without sub-agents", Cost: "its session file",
		Permissions: "our extension: tool_approval_requested, and the screen",
		Document:    "`--fork FILE -p`",
		OneShot:     "`-p`",
		Cannot: []string{
			"With its own setting it runs every tool without asking: start it with the mode ask or edits where that is too much.",
			"In the mode ask it also asks before it writes its handoff document.",
			"A policy of the user's own for one tool (tools.approval) holds in each mode, also one that lets the tool run: leave it out where the mode ask is to ask.",
			"When the provider refuses requests, it tells that only after half a minute: it sends each request up to twelve times first.",
			"The version 18.3.4 cannot be installed from npm.",
		},
	},
	Build: launch, CheckVersion: runtimes.NotBefore("oh-my-pi", oldest, "install "+oldest+" with `npm install -g @oh-my-pi/pi-coding-agent@"+oldest+"`"), ReadScreen: readScreen, Dialogs: dialogLook, Report: report,
	Fork: fork, ForkAnswer: runtimes.ReadAnswer(readAnswer),
	OwnArgs: args, Account: account, Places: places,
	ReadLine: readLine, Clean: runtimes.WithoutOurs,
}

var (
	//go:embed extension.ts
	extension string
	//go:embed oneshot.ts
	oneShotExtension []byte
)

// baseSettings are laid over the user's own configuration for one launch: the set-up of a first start counts as done, and
// the CLI looks for no newer version. Nobody could answer these questions in an unattended pane.
const baseSettings = "setupVersion: 2\nstartup:\n  checkUpdate: false\n"

// modes are the values of --approval-mode, by the mode of a launch. Without a mode the user's own setting holds.
var modes = map[string]string{
	"ask": "always-ask", "edits": "write", "auto": "yolo", "always-ask": "always-ask", "write": "write", "yolo": "yolo",
}

// modeNames are the modes in the order in which people see them.
var modeNames = []string{"ask", "edits", "auto", "always-ask", "write", "yolo"}

var widths = map[string]runtimes.Width{
	"": runtimes.WidthAsk, "ask": runtimes.WidthAsk, "edits": runtimes.WidthEdits, "auto": runtimes.WidthAuto, "always-ask": runtimes.WidthAsk, "write": runtimes.WidthEdits, "yolo": runtimes.WidthAuto,
}

// launch builds
//
//	COMMAND --config FILE --extension FILE --append-system-prompt FILE --model MODEL --approval-mode MODE -r SESSION
//
// and leaves out each flag whose field in the spec is empty. All that is long or secret is in files of Dir, because
// everybody on the machine can read arguments.
func launch(l *runtimes.Launch, s runtimes.Spec) error {
	l.Add("--config", l.File(filepath.Join(s.Dir, "overlay.yml"), []byte(baseSettings)))
	if s.Binary != "" {
		text := strings.NewReplacer(`"@HOOK@"`, runtimes.JSONText(s.Binary), `"@INBOX@"`, runtimes.JSONText(runtimes.Inbox(s.Dir))).Replace(extension)
		l.Add("--extension", l.File(filepath.Join(s.Dir, "extension.ts"), []byte(text)))
	}
	if strings.TrimSpace(s.SkillText) != "" {
		l.Add("--append-system-prompt", l.File(runtimes.SkillFile(s.Dir), []byte(s.SkillText)))
	}
	l.Flag("--model", s.Model)
	l.Flag("--approval-mode", modes[s.Mode])
	l.Flag("-r", s.Resume)
	return nil
}

// fork asks a copy of the session file, or a new session. Either one goes to the launch's own folder, so that the user's
// list of sessions does not show it. A copy knows neither the persona nor the launch's settings, so both are given again.
// The extensions of the user are left out, because they would act for a session that nobody sees. The tools stay, and our
// extension refuses their use: some APIs refuse a conversation with calls of tools if the request offers none.
func fork(s runtimes.ForkSpec) (runtimes.ForkCommand, error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return runtimes.ForkCommand{}, errors.New("no command: set runtimes.omp.command")
	case s.SessionID != "" && s.Transcript == "":
		return runtimes.ForkCommand{}, errors.New("the session's file is not known")
	}
	settings, oneShot := filepath.Join(s.Dir, "oneshot.yml"), filepath.Join(s.Dir, "oneshot.ts")
	argv := slices.Clone(s.Command)
	if s.SessionID != "" {
		argv = append(argv, "--fork", s.Transcript)
	}
	argv = append(argv, "--session-dir", filepath.Join(s.Dir, "fork"), "--print",
		"--mode", "json", "--no-title", "--config", settings, "--no-extensions", "--extension", oneShot)
	if s.Skill != "" {
		argv = append(argv, "--append-system-prompt", s.Skill)
	}
	return runtimes.ForkCommand{Argv: argv, Stdin: []byte(s.Prompt), Files: []runtimes.File{
		{Path: settings, Content: []byte(baseSettings + "compaction:\n  enabled: false\n")}, {Path: oneShot, Content: oneShotExtension},
	}}, nil
}

// forkEvent has the fields of an event of a one-shot that readAnswer needs.
type forkEvent struct {
	Type    string `json:"type"`
	Message struct {
		Role         string          `json:"role"`
		Content      json.RawMessage `json:"content"`
		StopReason   string          `json:"stopReason"`
		ErrorMessage string          `json:"errorMessage"`
	} `json:"message"`
}

// readAnswer adds what an event of the output says. The CLI asks again after some errors, so only that of the newest message counts.
func readAnswer(a *runtimes.Answer, e *forkEvent) {
	switch m := &e.Message; {
	case e.Type == "agent_end":
		a.End(true)
	case e.Type != "message_end" || m.Role != "assistant":
	case m.StopReason == "error" || m.StopReason == "aborted":
		a.Fail(m.ErrorMessage, m.StopReason)
	default:
		a.Fail()
		var blocks []struct{ Type, Text string }
		_ = json.Unmarshal(m.Content, &blocks) // another kind of content has no text
		var texts []string
		for _, b := range blocks {
			if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
				texts = append(texts, b.Text)
			}
		}
		a.Text("", strings.Join(texts, "\n"))
	}
}

// oldest is the oldest version that can be supervised. Those before 18 are the program pi, whose extensions get other events; 18.1.16 and
// 18.2.0 did not exit when our extension asked for it.
const oldest = "18.2.3"
