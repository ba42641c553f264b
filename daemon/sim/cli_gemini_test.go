package sim

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/hooks"
)

// geminiCLI is Gemini CLI: launched in a home of its own, with hooks of its own words. It drops an Enter that comes too early,
// asks about a usage limit on the screen only, and tells in its transcript alone what ended a turn without an answer.
var geminiCLI = &cli{
	rt: gemini.Runtime, plain: true, box: true, ends: 3, quick: true,
	arguments: func(a *agent, argv []string) {
		takes(a, argv, "--session-id", "--resume", "-m")
		readGeminiHome(a)
	},
	show: showGemini,
	hook: geminiHook,
	message: func(a *agent, role, text string) []actor.Fields {
		if role == "user" {
			return []actor.Fields{geminiLine(a, "user", actor.Fields{"content": []any{actor.Fields{"text": text}}})}
		}
		return []actor.Fields{geminiLine(a, "gemini", actor.Fields{
			"content": text, "model": "gemini-3.8-flash", "tokens": actor.Fields{"input": 14_000, "output": 20, "total": 14_020},
		})}
	},
	read: func(a *agent, path string) []actor.Fields {
		call := actor.Fields{"id": "read_file_" + uuid(a.rng), "name": "read_file", "args": actor.Fields{"file_path": path}, "status": "success"}
		return []actor.Fields{geminiLine(a, "gemini", actor.Fields{"content": "", "model": "gemini-3.8-flash", "toolCalls": []any{call}})}
	},
	end: func(a *agent, how turnEnd, failure string) []actor.Fields {
		switch how {
		case turnInterrupted:
			return []actor.Fields{geminiLine(a, "info", actor.Fields{"content": "Request cancelled."})}
		case turnFailed:
			if strings.HasPrefix(failure, "API Error") {
				failure = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Request rejected"}}`
			}
			return []actor.Fields{geminiLine(a, "error", actor.Fields{"content": "[API Error: " + failure + "]"})}
		}
		return nil
	},
	transcript: func(a *agent) string { return geminiFile(a, a.session) },
	limited: func(_ *agent, lasts time.Duration) (string, time.Duration) {
		return "You have exhausted your daily quota on this model.", lasts
	},
}

// geminiFile is the path of a session's file, in the home of the launch: a link leads to the user's own home.
func geminiFile(a *agent, session string) string {
	return filepath.Join(a.env["GEMINI_CLI_HOME"], ".gemini", "tmp", "work", "chats", "session-"+session+".jsonl")
}

func geminiLine(a *agent, kind string, more actor.Fields) actor.Fields {
	more["id"], more["timestamp"], more["type"] = uuid(a.rng), a.stamp(), kind
	return more
}

// readGeminiHome reads the settings in the home of the launch: without the hooks there, the CLI would tell nothing.
func readGeminiHome(a *agent) {
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct{ Name, Command string }
		}
	}
	text := mustRead(filepath.Join(a.env["GEMINI_CLI_HOME"], ".gemini", "settings.json"))
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		a.w.fail("settings in the home of agent %d: %v", a.id, err)
	}
	for _, event := range []string{"SessionStart", "BeforeAgent", "AfterAgent", "Notification", "SessionEnd"} {
		ours := false
		for _, group := range settings.Hooks[event] {
			for _, h := range group.Hooks {
				ours = ours || h.Name == "understudy" && strings.HasSuffix(h.Command, " "+event)
				if path, is := strings.CutPrefix(h.Command, "cat "); is && event == "SessionStart" {
					a.skilled = strings.Contains(mustRead(strings.Trim(path, "'")), "additionalContext")
				}
			}
		}
		if !ours {
			a.w.fail("agent %d was launched without the hook %s", a.id, event)
		}
	}
	if a.env["GEMINI_CLI_NO_RELAUNCH"] == "" {
		a.w.fail("agent %d was launched so that it starts itself once more, and no SIGTERM reaches it", a.id)
	}
}

// geminiHook puts a hook into the words of Gemini CLI.
func geminiHook(a *agent, event string, more actor.Fields) (string, actor.Fields) {
	const noAnswer = "[no response text]"
	body := actor.Fields{"session_id": a.session, "transcript_path": a.transcript(), "cwd": a.dir, "timestamp": a.stamp()}
	switch event {
	case hooks.SessionStart:
		if body["source"] = more["source"]; more["source"] == "compact" {
			return "", nil
		}
		if a.resumed {
			body["transcript_path"] = geminiFile(a, "never-made") // its first words name a file that is never made
		}
	case hooks.UserPromptSubmit:
		event, body["prompt"] = "BeforeAgent", more["prompt"]
	case hooks.Stop:
		event, body["prompt_response"], body["stop_hook_active"] = "AfterAgent", more["last_assistant_message"], more["stop_hook_active"]
	case hooks.Interrupt:
		if a.denied {
			a.denied = false
			return "", nil // Escape in a dialog ends the turn without a word
		}
		event, body["prompt_response"] = "AfterAgent", noAnswer
	case hooks.StopFailure:
		event, body["prompt_response"] = "AfterAgent", noAnswer
	case hooks.PermissionRequest:
		event, body["notification_type"] = "Notification", "ToolPermission"
		body["details"] = actor.Fields{"type": "exec", "title": "Confirm Shell Command", "command": "rm -r build"}
	case hooks.SessionEnd:
		body["reason"] = "exit"
	default:
		return "", nil
	}
	return event, body
}

// showGemini draws the composer between its rule and the footer, or a dialog as a box in their place.
func showGemini(a *agent) (screen, title string) {
	const rule = "────────────────────────────────────────────────────────────"
	if d := a.dialog; d != nil {
		text, title := "Allow execution of [Shell]? "+d.Detail, "✋  Action Required (work)"
		switch {
		case d.limit:
			text, title = d.Title, "✦  Working… (work)"
		case d.Detail == "":
			text = "Do you trust the files in this folder?"
		}
		rows := []string{"╭" + rule + "╮", "│ " + text + " │", "│  │"}
		for i, choice := range d.Choices {
			sign := " "
			if i == d.Selected {
				sign = "●"
			}
			rows = append(rows, "│ "+sign+" "+string(rune('1'+i))+". "+choice+"  │")
		}
		return strings.Join(append(rows, "╰"+rule+"╯"), "\n"), title
	}
	if !a.frame.Visible {
		return "", ""
	}
	title, runs := "◇  Ready (work)", ""
	if a.frame.Working != "" {
		title, runs = "✦  Working… (work)", " ⠼ Thinking... (esc to cancel, 5s)"
	}
	if a.hooking > 0 {
		runs = " ⠼ Executing Hook: understudy"
	}
	draft := " > " + strings.ReplaceAll(a.composer.Text, "\n", "\n   ")
	if a.composer.Text == "" {
		draft += "  Type your message or @path/to/file"
	}
	rows := []string{" ▝▜▄  Gemini CLI", "", runs, rule, " Shift+Tab to accept edits", "", draft, ""}
	if a.composer.Text == "/quit" {
		rows = append(rows, " quit   Exit the cli")
	}
	return strings.Join(append(rows, " workspace (/directory)          /model", " /work                           Auto"), "\n"), title
}

// stopTrying is the answer to the question about a usage limit that ends the turn.
const stopTrying = 1

// keepTrying asks whether to keep trying, as often as the API refuses. It reports whether the turn goes on.
func keepTrying(a *agent, l *limitHit) bool {
	for time.Now().Before(l.over) {
		if ask(a, "usage limit", "waiting", dialog{limit: true, Dialog: actor.Dialog{
			Title: "Usage limit reached for gemini-3.8-flash.", Choices: []string{"Keep trying", "Stop"},
		}}) == stopTrying {
			return false
		}
		a.do("asks its API again", 10*time.Millisecond, a.mood.think)
	}
	return true
}
