package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/hooks"
)

// ompCLI is oh-my-pi with our extension, which tells what happens and reads the inbox.
var ompCLI = &cli{
	rt: mustRuntime("omp"), plain: true,
	arguments: func(a *agent, argv []string) {
		a.session = uuid(a.rng)
		given := takes(a, argv, "", "-r", "--model")
		a.inbox = filepath.Join(filepath.Dir(given("--extension")), "inbox")
		a.skilled = strings.TrimSpace(mustRead(given("--append-system-prompt"))) != ""
	},
	show: func(a *agent) (string, string) {
		switch d := a.dialog; {
		case d != nil:
			return "╭─ Allow tool: " + d.Title + " ─────╮\n│ " + d.Detail + d.Question + " │\n╰────────╯", "π ! work"
		case !a.frame.Visible:
			return "", ""
		}
		sign := "π"
		if a.frame.Working != "" {
			sign = "⠸ 0s"
		}
		draft := strings.ReplaceAll(a.composer.Text, "\n", "\n   ")
		return "╭─── omp ───╮\n╰───────────╯\n\n " + sign + " > ⬢ Fake > work ▶─1%───100K─\n╰─ " + draft, "π > work"
	},
	hook: ompHook,
	message: func(a *agent, role, text string) []actor.Fields {
		m := actor.Fields{"role": role, "content": []any{actor.Fields{"type": "text", "text": text}}}
		if role == "assistant" {
			m["model"], m["stopReason"], m["usage"] = "fake-1", "stop", actor.Fields{"input": 14_000, "output": 7}
		}
		return []actor.Fields{ompLine(a, m)}
	},
	read: func(a *agent, path string) []actor.Fields {
		id := "call_" + uuid(a.rng)
		call := actor.Fields{"type": "toolCall", "id": id, "name": "read", "arguments": actor.Fields{"path": path}}
		return []actor.Fields{
			ompLine(a, actor.Fields{"role": "assistant", "content": []any{call}, "model": "fake-1", "stopReason": "toolUse"}),
			ompLine(a, actor.Fields{"role": "toolResult", "toolCallId": id, "content": []any{actor.Fields{"type": "text", "text": "text"}}, "isError": false}),
		}
	},
	end:        func(*agent, turnEnd, string) []actor.Fields { return nil },
	transcript: func(a *agent) string { return filepath.Join(a.h.config, "omp", a.session+".jsonl") },
	limited: func(_ *agent, lasts time.Duration) (string, time.Duration) {
		lasts += 5 * time.Minute // it waits itself for what is shorter
		return "429 usage limit reached retry-after-ms=" + strconv.FormatInt(lasts.Milliseconds(), 10), lasts
	},
	refused: func(a *agent, begins bool) {
		if begins {
			a.hook(hooks.RetryStarted, actor.Fields{"error": "503 overloaded"})
		} else {
			a.hook(hooks.RetryEnded, nil)
		}
	},
	live: func(a *agent) { go readInbox(a) },
}

// ompLine returns a line with a message.
func ompLine(a *agent, message actor.Fields) actor.Fields {
	return actor.Fields{"type": "message", "id": uuid(a.rng), "timestamp": a.stamp(), "message": message}
}

// ompHook makes what our extension tells of an event.
func ompHook(a *agent, event string, more actor.Fields) (string, actor.Fields) {
	a.told++
	body := actor.Fields{
		"session_id": a.session, "session_file": a.transcript(), "cwd": a.dir, "turn_id": a.promptID, "event": a.told,
		"at": a.h.now().UnixMilli(), "usage": actor.Fields{"tokens": 14_000, "window": 100_000},
	}
	switch event {
	case hooks.SessionStart:
		body["reason"] = more["source"]
	case hooks.SessionEnd:
		body["reason"] = more["reason"]
	case hooks.UserPromptSubmit:
		event, body["prompt"] = "PromptTaken", more["prompt"]
	case hooks.Stop:
		event, body["stop_reason"] = "TurnEnded", "stop"
		body["message"], body["stop_hook_active"] = more["last_assistant_message"], more["stop_hook_active"]
	case hooks.StopFailure:
		event, body["stop_reason"], body["error"] = "TurnEnded", "error", more["last_assistant_message"]
	case hooks.Interrupt:
		event, body["stop_reason"] = "TurnEnded", "aborted"
	case hooks.RetryStarted:
		body["error"], body["since"] = more["error"], body["at"]
	case hooks.RetryEnded:
	case hooks.PermissionRequest:
		event, body["tool_name"], body["tool_input"] = "DialogOpened", "bash", more["tool_input"]
	case hooks.DialogClosed:
		event = "DialogClosed"
	case hooks.PreCompact:
		event, body["reason"] = "Compacting", more["trigger"]
	default:
		return "", nil
	}
	return event, body
}

// readInbox does what our extension does with the files of the inbox: one text at a time while the agent is idle, and the
// end last.
func readInbox(a *agent) {
	for !a.dead {
		a.do("reads its inbox", 50*time.Millisecond, time.Second)
		if a.dead || a.leaving || !a.ready || a.dialog != nil || a.busy() {
			continue
		}
		names, _ := filepath.Glob(filepath.Join(a.inbox, "*.json"))
		slices.SortFunc(names, func(x, y string) int { return inboxNumber(x) - inboxNumber(y) })
		if len(names) > 0 {
			takeFile(a, names[0])
		}
	}
}

// inboxNumber returns the number of a file of the inbox; the end comes after all texts.
func inboxNumber(path string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".json"))
	if err != nil {
		return 1 << 30
	}
	return n
}

func takeFile(a *agent, path string) {
	var wanted struct {
		Text string
		Exit bool
		Turn *string
	}
	if err := json.Unmarshal([]byte(mustRead(path)), &wanted); err != nil {
		a.w.fail("inbox of agent %d: %v", a.id, err)
		return
	}
	if wanted.Exit {
		later := wanted.Turn != nil && a.promptID != "" && *wanted.Turn != a.promptID && *wanted.Turn != a.givenIn
		if os.Remove(path) == nil && !later {
			beforeExit(a.w, a)
			a.leaving = true
			go a.leave("prompt_input_exit", 0)
		}
		return
	}
	if _, err := os.Lstat(path + ".taken"); err == nil {
		_ = os.Remove(path) // the daemon may have taken it back
		return
	}
	if os.Rename(path, path+".taken") != nil {
		return // the daemon has taken it back
	}
	a.accept(wanted.Text)
}

// mustRuntime returns the runtime of that name.
func mustRuntime(name string) *runtimes.Runtime {
	return must(catalog.For(name))
}
