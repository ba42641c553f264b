// Package gemini is the Gemini CLI: its command lines, the settings in the home of a launch, its screens, its session files, and what its
// hooks say in the daemon's words.
package gemini

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

const runtimeName = "gemini"

// Runtime is the Gemini CLI. Its assumptions were measured on 0.61.0; the end-to-end tests repeat the measurements.
var Runtime = &runtimes.Runtime{
	Name: runtimeName, Title: "Gemini CLI", Command: []string{"gemini"},
	Can: runtimes.Can{
		Tested: "0.61.0",
		Skill:  runtimes.SkillAsContext, Registers: runtimes.RegistersByHook, Ways: []runtimes.Way{runtimes.ByTyping}, Exit: runtimes.ByTyping, ExitText: "/quit",
		EnterAfter: 300 * time.Millisecond, Escapes: 1, WatchScreen: true, ScreenTurns: true, LosesPastes: true, ChoosesID: true, AnswerInTranscript: true, OpensFile: true, Compacts: true, Transcript: true,
		TellsRefusals: true,
		Reads:         runtimes.Reads{Tools: []string{"read_file"}, Shells: []string{"run_shell_command"}},
		Todos:         "`write_todos`, which the CLI offers to released models of Gemini 2 only",
		Turns:         "hooks BeforeAgent and AfterAgent; an interruption also in its transcript",
		Refusals:      "its transcript, with the hook's reason",
		Errors:        "its transcript", Limits: "a box on the screen, which the daemon answers with Stop; then its transcript, without a time",
		Usage:       "its transcript",
		Tokens:      "its transcript",
		Permissions: "hook Notification, and the screen",
		OneShot:     "its headless mode, in a home of its own",
		Cannot: []string{
			"Its settings are a copy of the user's own: what a person changes in the pane, such as the theme, holds until the agent ends.",
			"Policies of the machine's own (/etc/gemini-cli/policies) hold in place of ours, so that it then asks before it writes its handoff document.",
			"It uses the persona's folders, where documents and experience are, only after a person has trusted them in its own dialog: once, with the answer that remembers it.",
			noStash,
			noFork,
			"The end of a turn is not answered: a text for a busy agent, such as the instruction of a handoff, waits until it is idle.",
			"The skill is a message of the user's role before the first prompt, which binds the model less than a system prompt, and < and > in it become &lt; and &gt;.",
			"It does not tell when a usage limit ends, nor the size of its context window.",
			"While the API refuses requests and Gemini CLI tries them again, it reports nothing.",
			"A prompt that a hook stops with continue: false, instead of blocking it, stays in the conversation: it counts as submitted, its turn as failed, and the model sees it with the next prompt.",
			"A turn that an error ends after a part of the answer counts as ended well, until the daemon reads the error in the transcript.",
		},
	},
	Modes:   modeNames,
	Widths:  widths,
	OwnHome: ownHome,
	Build:   launch, CheckVersion: runtimes.NotBefore("Gemini CLI", oldest, "update it to "+oldest+" or newer, for instance with `npm install -g @google/gemini-cli`"), ReadScreen: readScreen, Dialogs: dialogLook, Report: report, Tail: tail,
	Fork: ask, ForkAnswer: readAnswer,
	OwnArgs: args, Account: account, Places: places,
	ReadLine: readLine, Clean: withoutMarks,
}

// The sentences of the table that tests and errors repeat.
const (
	noStash = "A draft of a person cannot be put aside: a text waits until the person has submitted or deleted it."
	noFork  = "Its session cannot be copied: the agent itself writes its handoff document."
)

// ownHome is the home of a launch: the CLI takes no settings from its command line, and system settings only from files of
// root.
var ownHome = &runtimes.OwnHome{
	Var: "GEMINI_CLI_HOME", Dir: ".gemini", Settings: "settings.json",
	Files: []string{
		"GEMINI.md", "a2a-oauth-tokens.json", "gemini-credentials.json", "google_accounts.json", "installation_id", "keybindings.json",
		"mcp-oauth-tokens.json", "oauth_creds.json", "state.json",
	},
	Folders:  []string{"acknowledgments", "history", "policies", "tmp"},
	Beside:   []string{".agents", ".env"},
	Replaced: map[string]string{"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "trustedFolders.json"},
}

// events are the hooks that the daemon acts on. PreCompress comes before every request to the model, so it means
// nothing.
var events = []string{hooks.SessionStart, "BeforeAgent", "AfterAgent", hooks.Notification, hooks.SessionEnd}

// modes are the values of --approval-mode: by the neutral names, then by Gemini's own. Without a mode the user's own
// setting holds.
var modes = map[string]string{
	"ask": "default", "edits": "auto_edit", "auto": "yolo", "default": "default", "auto_edit": "auto_edit", "yolo": "yolo", "plan": "plan",
}

// modeNames are the modes in the order in which people see them.
var modeNames = []string{"ask", "edits", "auto", "default", "auto_edit", "yolo", "plan"}

var widths = map[string]runtimes.Width{
	"": runtimes.WidthAsk, "ask": runtimes.WidthAsk, "edits": runtimes.WidthEdits, "auto": runtimes.WidthAuto, "default": runtimes.WidthAsk, "auto_edit": runtimes.WidthEdits, "yolo": runtimes.WidthAuto,
	"plan": runtimes.WidthPlan,
}

// launch builds
//
//	COMMAND --session-id SESSION -m MODEL --approval-mode MODE
//
// and leaves out each flag whose field in the spec is empty. If Resume is set, "--resume ID" takes the place of the first
// flag. The hooks, the skill and the policy come from the settings in the launch's own home.
func launch(l *runtimes.Launch, s runtimes.Spec) error {
	if !filepath.IsAbs(s.User.Path) {
		return fmt.Errorf("home %q is not absolute", s.User.Path)
	}
	file := func(name string, content []byte) string {
		return l.File(filepath.Join(s.Dir, runtimeName, name), content)
	}
	skill := ""
	if text := strings.TrimSpace(s.SkillText); text != "" {
		skill = file("skill.json", runtimes.Marshal(map[string]any{
			"hookSpecificOutput": map[string]string{"hookEventName": skillEvent(s), "additionalContext": text},
		}))
	}
	conf := settings(s, skill)
	if rules := policy(s); rules != "" {
		conf["adminPolicyPaths"] = []any{file("policy.toml", []byte(rules))} // unlike policyPaths it leaves the user's own policies
	}
	settings, err := mergeSettings(s.User.Settings, conf, modeAsks(s.Mode))
	if err != nil {
		return err
	}
	home := filepath.Join(s.Dir, runtimeName)
	file(filepath.Join(ownHome.Dir, ownHome.Settings), settings)
	l.Links = ownHome.Links(home, s.User)
	// Without the second variable the CLI starts itself once more, and the outer process ignores SIGTERM.
	l.Env = append([]string{ownHome.Var + "=" + home, "GEMINI_CLI_NO_RELAUNCH=true"}, s.User.Env...)
	if s.Resume != "" {
		l.Add("--resume", s.Resume)
	} else {
		l.Add("--session-id", s.SessionID)
	}
	l.Flag("-m", s.Model)
	l.Flag("--approval-mode", modes[s.Mode])
	return nil
}

// modeAsks reports whether somebody has chosen a mode in which the CLI asks about commands. The list tools.allowed of the user's
// settings would run them unasked in every mode; what the settings exclude stays excluded.
func modeAsks(mode string) bool { return mode != "" && widths[mode] < runtimes.WidthAuto }

// settings are what a launch adds to the user's settings. skill is the path of the answer to SessionStart that has the skill;
// "": there is none.
func settings(s runtimes.Spec, skill string) map[string]any {
	const limit = 20_000 // milliseconds
	hook := func(name, command string) map[string]any {
		return map[string]any{"type": "command", "name": name, "command": command, "timeout": limit}
	}
	all := map[string]any{}
	for _, event := range events {
		var list []any
		if event == skillEvent(s) && skill != "" {
			list = append(list, hook("understudy-skill", gives(s, skill)))
		}
		if s.Binary != "" {
			list = append(list, hook("understudy", runtimes.ShellWord(s.Binary)+" hook --runtime "+runtimeName+" "+event))
		}
		if list != nil {
			all[event] = []any{map[string]any{"hooks": list}}
		}
	}
	settings := map[string]any{
		"hooks":   all,
		"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
	}
	if dirs := folders(s); len(dirs) > 0 {
		settings["context"] = map[string]any{"includeDirectories": dirs}
	}
	return settings
}

// skillEvent is the hook that gives the skill. At the start of a session that is opened again the CLI puts the old conversation in
// the place of what the hook has added, so there the first prompt brings the skill.
func skillEvent(s runtimes.Spec) string {
	if s.Resume != "" {
		return "BeforeAgent"
	}
	return hooks.SessionStart
}

// gives is the command that prints the skill: with each prompt of a session that is opened again it runs, and prints once.
func gives(s runtimes.Spec, skill string) string {
	if s.Resume == "" {
		return "cat " + runtimes.ShellWord(skill)
	}
	given := runtimes.ShellWord(skill + ".given")
	return "test -e " + given + " || { cat " + runtimes.ShellWord(skill) + " && : >" + given + "; }"
}

// folders are the folders outside the working directory in which the agent may use files: the CLI's tools refuse all
// others, whatever the policy says.
func folders(s runtimes.Spec) (dirs []any) {
	for _, path := range slices.Concat(s.MayEdit, s.MayRead) {
		dir, ok := strings.CutSuffix(path, "/")
		if !ok {
			dir = filepath.Dir(path)
		}
		if !slices.Contains(dirs, any(dir)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// edge matches the NUL that stands around each argument of a call, and nowhere inside of one. So the pattern cannot match
// the content of a file that quotes it.
const edge = `\x00`

// policy allows the tools that write to change the files of MayEdit without asking; "": there are none. The CLI matches
// the pattern against the call's arguments as JSON.
func policy(s runtimes.Spec) string {
	var b strings.Builder
	for _, path := range s.MayEdit {
		quoted := strings.TrimSuffix(runtimes.JSONText(path), `"`)
		pattern := edge + `"file_path":` + regexp.QuoteMeta(quoted)
		if strings.HasSuffix(path, "/") {
			pattern += `[^/"\\]+` // in the folder itself, without ways out of it
		}
		fmt.Fprintf(&b, "[[rule]]\ntoolName = [\"write_file\", \"replace\"]\nargsPattern = %s\ndecision = \"allow\"\npriority = 900\n\n",
			runtimes.TOMLText(pattern+`"`+edge))
	}
	return b.String()
}

// noAnswer is what AfterAgent has in place of the answer of a turn that failed or was interrupted.
const noAnswer = "[no response text]"

// report reads a hook of Gemini CLI. A turn without an answer only makes the agent idle: what ended it stands in the
// transcript.
func report(event string, body []byte) (runtimes.Report, error) {
	var in struct {
		SessionID        string `json:"session_id"`
		TranscriptPath   string `json:"transcript_path"`
		CWD              string `json:"cwd"`
		Source           string `json:"source"`
		Reason           string `json:"reason"`
		Prompt           string `json:"prompt"`
		PromptResponse   string `json:"prompt_response"`
		StopHookActive   bool   `json:"stop_hook_active"`
		NotificationType string `json:"notification_type"`
		Details          struct {
			Type     string `json:"type"`
			Title    string `json:"title"`
			Command  string `json:"command"`
			FilePath string `json:"filePath"`
		} `json:"details"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return runtimes.Report{}, fmt.Errorf("hook %s of Gemini CLI: %w", event, err)
	}
	out := map[string]any{"session_id": in.SessionID, "transcript_path": in.TranscriptPath, "cwd": in.CWD}
	name := event
	switch event {
	case hooks.SessionStart:
		if out["source"] = in.Source; in.Source == "resume" {
			delete(out, "transcript_path") // it names a file that is never made; the hooks of the turns name the session's
		}
	case "BeforeAgent":
		name, out["prompt"] = hooks.UserPromptSubmit, in.Prompt
	case "AfterAgent":
		text := strings.TrimSpace(in.PromptResponse)
		if text == "" || text == noAnswer {
			name, out["notification_type"] = hooks.Notification, "idle_prompt"
			break
		}
		// The CLI has joined the parts of the answer with blanks, in the middle of words as well: the transcript has the answer.
		name, out["stop_hook_active"] = hooks.Stop, in.StopHookActive
	case hooks.Notification:
		if in.NotificationType != "ToolPermission" {
			return runtimes.Report{}, nil
		}
		out["notification_type"] = "permission_prompt"
		out["message"] = "permission: " + runtimes.FirstOf(in.Details.Command, in.Details.FilePath, in.Details.Title, in.Details.Type)
	case hooks.SessionEnd:
		out["reason"] = in.Reason
	default:
		return runtimes.Report{}, nil
	}
	return runtimes.Report{Event: name, Body: runtimes.Marshal(out)}, nil
}

// oldest is the oldest version that can be supervised: on earlier ones nothing was measured.
const oldest = "0.61"
