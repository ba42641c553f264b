package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/hooks"
)

// cli is the CLI that an agent in memory plays: what it shows, tells and keeps in another way than the next one. The
// end-to-end suite of the runtimes asks of the real CLIs what these doubles take for granted.
type cli struct {
	rt *runtimes.Runtime
	// arguments takes over the arguments of a launch, the first of which is the program.
	arguments func(a *agent, argv []string)
	// show returns the screen and the title of the pane.
	show func(a *agent) (screen, title string)
	// hook puts a hook of Claude Code into the CLI's own words; "": the CLI calls none.
	hook func(a *agent, event string, more actor.Fields) (name string, body actor.Fields)
	// message returns the transcript's lines for a message.
	message func(a *agent, role, text string) []actor.Fields
	// read returns the transcript's lines for a call of a tool that reads a file.
	read func(a *agent, path string) []actor.Fields
	// end returns the transcript's lines for the end of a turn. failure is the text of the error that ended it.
	end        func(a *agent, how turnEnd, failure string) []actor.Fields
	transcript func(a *agent) string
	// limited returns what the CLI says of a usage limit that lasts about that long, and how long it lasts in fact.
	limited func(a *agent, lasts time.Duration) (text string, over time.Duration)

	// submitted notes a text that was submitted; nil: nothing is noted.
	submitted func(a *agent, prompt string)
	// retry waits with a turn that has hit a usage limit, which ctx interrupts; nil: the turn ends.
	retry func(ctx context.Context, a *agent, l *limitHit)

	// refused notes that the API begins, or ends, to refuse the requests of a turn, and that the CLI sends them again; nil: the turn ends.
	refused func(a *agent, begins bool)

	plain bool // its composer shows a pasted text as it is
	late  bool // it tells of its session only with the first prompt
	box   bool // in a turn that has hit a usage limit it asks whether to keep trying
	ends  int  // how often it calls the hook of its end
	// quick says that it exits only while it is idle: else the exit command stays in the composer.
	quick bool
	// live starts what the CLI does beside its screen; nil: nothing.
	live func(a *agent)
}

// turnEnd is how a turn ended.
type turnEnd int

const (
	turnDone turnEnd = iota
	turnInterrupted
	turnFailed
)

// cliNames are the names in clis.
var cliNames = []string{"claude", "codex", "omp", "opencode", "gemini", linesName}

// clis are the CLIs by the name of their program.
var clis = map[string]*cli{"claude": claudeCLI, "codex": codexCLI, "omp": ompCLI, "opencode": opencodeCLI, "gemini": geminiCLI, linesName: linesCLI}

// takes takes over the session, the session that is opened again and the model that a command line names by these flags. given returns the
// value of any other flag; "": there is none.
func takes(a *agent, argv []string, session, opened, model string) (given func(flag string) string) {
	given = func(flag string) string {
		if i := slices.Index(argv, flag); i >= 0 {
			return argv[i+1]
		}
		return ""
	}
	a.resumed = given(opened) != ""
	a.session, a.model = cmp.Or(given(opened), given(session), a.session), cmp.Or(given(model), a.model)
	return given
}

// claudeCLI is Claude Code.
var claudeCLI = &cli{
	rt: claude.Runtime,
	arguments: func(a *agent, argv []string) {
		given := takes(a, argv, "--session-id", "--resume", "--model")
		a.name, a.mode = given("--name"), hookMode(cmp.Or(given("--permission-mode"), a.mode))
		a.skill = mustRead(given("--append-system-prompt-file"))
		a.skilled = strings.TrimSpace(a.skill) != ""
	},
	show: func(a *agent) (string, string) {
		a.frame.Edit(a.composer)
		a.frame.Dialog = nil
		if a.dialog != nil {
			a.frame.Dialog = &a.dialog.Dialog
		}
		if a.held && len(a.jobs) > 0 && !a.mute {
			a.frame.Working = "Orbiting… (running SessionStart hooks… 1/2 · 2s)"
		}
		lines, _, _ := a.frame.Draw()
		rows := make([]string, len(lines))
		for i, l := range lines {
			rows[i] = l.Text
		}
		return strings.Join(rows, "\n"), ""
	},
	hook: func(a *agent, event string, more actor.Fields) (string, actor.Fields) {
		if event == hooks.Interrupt || event == hooks.DialogClosed {
			return "", nil
		}
		return event, actor.Payload(event, a.session, a.transcript(), a.dir, a.promptID, more)
	},
	message: claudeMessage,
	read: func(a *agent, path string) []actor.Fields {
		id := "toolu_" + uuid(a.rng)
		return []actor.Fields{
			claudeBlock(a, "assistant", actor.Fields{"type": "tool_use", "id": id, "name": "Read", "input": actor.Fields{"file_path": path}}),
			claudeBlock(a, "user", actor.Fields{"type": "tool_result", "tool_use_id": id, "content": "1\ttext"}),
		}
	},
	end: func(a *agent, how turnEnd, _ string) []actor.Fields {
		if how == turnInterrupted {
			return claudeMessage(a, "user", "[Request interrupted by user]")
		}
		return nil
	},
	transcript: func(a *agent) string {
		if found, _ := filepath.Glob(filepath.Join(a.h.config, "projects", "*", a.session+".jsonl")); len(found) == 1 {
			return found[0] // a session that is opened again leaves it where it is
		}
		return filepath.Join(a.h.config, "projects", strings.ReplaceAll(a.dir, "/", "-"), a.session+".jsonl")
	},
	limited: func(a *agent, lasts time.Duration) (string, time.Duration) {
		return "You've hit your 5-hour limit · resets " + a.h.now().UTC().Add(lasts).Format("Jan 2, 3:04pm") + " (UTC)", lasts
	},
}

func claudeMessage(a *agent, role, text string) []actor.Fields {
	entry := actor.Fields{
		"type": role, "uuid": uuid(a.rng), "isSidechain": false, "timestamp": a.stamp(),
		"sessionId": a.session, "cwd": a.dir, "promptId": a.promptID, "message": actor.Fields{"role": role, "content": text},
	}
	if role == "assistant" {
		entry["message"] = actor.Fields{
			"id": "msg_" + uuid(a.rng), "type": "message", "role": role, "model": "claude-opus-5-5",
			"content": []any{actor.Fields{"type": "text", "text": text}}, "stop_reason": "end_turn",
			"usage": actor.Fields{"input_tokens": 4, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 14000, "output_tokens": 20},
		}
	}
	return []actor.Fields{entry}
}

// claudeBlock returns a line with a message of one block.
func claudeBlock(a *agent, role string, block actor.Fields) actor.Fields {
	message := actor.Fields{"role": role, "content": []any{block}}
	if role == "assistant" {
		message["id"], message["model"] = "msg_"+uuid(a.rng), "claude-opus-5-5"
	}
	return actor.Fields{
		"type": role, "uuid": uuid(a.rng), "isSidechain": false, "timestamp": a.stamp(),
		"sessionId": a.session, "cwd": a.dir, "promptId": a.promptID, "message": message,
	}
}

// codexCLI is Codex: its session is known with its first prompt, its errors are told by its transcript only, and it has a
// queue beside its composer.
var codexCLI = &cli{
	rt: codex.Runtime, plain: true, late: true,
	arguments: func(a *agent, argv []string) {
		a.session = uuid(a.rng)
		takes(a, argv, "", "resume", "-m")
		a.skilled = slices.ContainsFunc(argv, func(arg string) bool { return strings.HasPrefix(arg, "developer_instructions=") })
	},
	show: showCodex,
	hook: func(a *agent, event string, more actor.Fields) (string, actor.Fields) {
		switch event {
		case hooks.SessionStart, hooks.UserPromptSubmit, hooks.Stop, hooks.Interrupt, hooks.PermissionRequest, hooks.PreCompact, hooks.SessionEnd:
		default:
			return "", nil
		}
		if event == hooks.SessionEnd && a.promptID == "" {
			return "", nil // there is no session to end
		}
		body := actor.Payload(event, a.session, a.transcript(), a.dir, "", more)
		if a.promptID != "" && event != hooks.SessionStart && event != hooks.SessionEnd {
			body["turn_id"] = a.promptID
		}
		return event, body
	},
	message: func(a *agent, role, text string) []actor.Fields {
		kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
		lines := []actor.Fields{codexLine(a, "response_item", actor.Fields{
			"type": "message", "id": "msg_" + uuid(a.rng), "role": role, "content": []any{actor.Fields{"type": kind, "text": text}},
		})}
		if role == "assistant" {
			lines = append(lines, codexLine(a, "event_msg", actor.Fields{"type": "token_count", "info": actor.Fields{
				"model_context_window": 258_400, "last_token_usage": actor.Fields{"total_tokens": 14_000},
			}}))
		}
		return lines
	},
	read: func(a *agent, path string) []actor.Fields {
		id := "call_" + uuid(a.rng)
		return []actor.Fields{
			codexLine(a, "response_item", actor.Fields{"type": "function_call", "name": "exec_command", "call_id": id,
				"arguments": string(mustJSON(actor.Fields{"cmd": "cat " + path}))}),
			codexLine(a, "response_item", actor.Fields{"type": "function_call_output", "call_id": id,
				"output": "Process exited with code 0\nOutput:\ntext"}),
		}
	},
	end: func(a *agent, how turnEnd, failure string) []actor.Fields {
		switch how {
		case turnInterrupted:
			return []actor.Fields{codexLine(a, "event_msg", actor.Fields{"type": "turn_aborted", "turn_id": a.promptID, "reason": "interrupted"})}
		case turnFailed:
			info := any("usage_limit_exceeded")
			if !strings.Contains(failure, "usage limit") {
				info = actor.Fields{"response_too_many_failed_attempts": actor.Fields{"http_status_code": 429}}
			}
			return []actor.Fields{codexLine(a, "event_msg", actor.Fields{"type": "task_complete", "turn_id": a.promptID,
				"error": actor.Fields{"message": failure, "codex_error_info": info}})}
		}
		return []actor.Fields{codexLine(a, "event_msg", actor.Fields{"type": "task_complete", "turn_id": a.promptID,
			"last_agent_message": "Done.", "time_to_first_token_ms": 49})} // without them, the model was not asked
	},
	transcript: func(a *agent) string { return filepath.Join(a.h.config, "sessions", "rollout-"+a.session+".jsonl") },
	limited: func(a *agent, lasts time.Duration) (string, time.Duration) {
		now := a.h.now()
		at := now.Add(lasts).Truncate(time.Minute).Add(time.Minute) // its text has no seconds
		return "You've hit your usage limit. Try again at " + at.Local().Format("Jan 2th, 2006 3:04 PM") + ".", at.Sub(now)
	},
	live: func(a *agent) { go a.takeQueue() },
}

// codexLine returns a line of a rollout.
func codexLine(a *agent, kind string, payload actor.Fields) actor.Fields {
	return actor.Fields{"timestamp": a.stamp(), "type": kind, "payload": payload}
}

// showCodex draws the composer, or the dialog, at the bottom of the screen.
func showCodex(a *agent) (screen, title string) {
	if !a.frame.Visible && a.dialog == nil {
		return "", ""
	}
	title = "work"
	if d := a.dialog; d != nil {
		lines := []string{"", "  " + d.Title, "", "  " + d.Question}
		if d.Detail != "" {
			lines, title = []string{"", "  Would you like to run the following command?", "", "  $ " + d.Detail}, "[ ! ] Action Required | work"
		}
		for i, choice := range d.Choices {
			sign := "  "
			if i == 0 {
				sign = "› "
			}
			lines = append(lines, sign+string(rune('1'+i))+". "+choice)
		}
		return strings.Join(append(lines, "", "  Press enter to confirm or esc to cancel"), "\n"), title
	}
	footer := ""
	if a.composer.Text == "" {
		footer = "  ← for agents · ? for shortcuts"
	}
	draft := strings.Split(a.composer.Text, "\n")
	if a.composer.Text == "" {
		draft[0] = "Ask Codex to do anything"
	}
	for i := range draft {
		draft[i] = map[bool]string{true: "› ", false: "  "}[i == 0] + draft[i]
	}
	lines := slices.Concat([]string{"  >_ OpenAI Codex", ""}, draft, []string{"", "  GPT-5.5 default · /work", footer})
	if a.frame.Working != "" {
		title = "⠹ " + title
	}
	return strings.Join(lines, "\n"), title
}

// takeQueue takes what the command of Codex has put into the queue of the agent's session. The session looks there every
// ten seconds.
func (a *agent) takeQueue() {
	for !a.dead {
		a.do("looks into its queue", 0, 10*time.Second)
		if a.dead || a.leaving || a.dialog != nil || a.busy() || !a.introduced {
			continue
		}
		if texts := a.h.queues[a.session]; len(texts) > 0 {
			a.h.queues[a.session] = texts[1:]
			a.accept(texts[0])
		}
	}
}

// draftBlocks reports whether a draft in the composer, which the daemon cannot put aside, is in the way of its texts.
func (a *agent) draftBlocks() bool {
	return a.composer.Text != "" && a.cli.rt.Can.QuietAfter == 0 && (a.composer.Stashed() || a.cli.rt.Can.StashKey == "")
}

// stamp returns the time as transcripts have it.
func (a *agent) stamp() string { return a.h.now().UTC().Format(stampLayout) }

// mustJSON returns a value as JSON.
func mustJSON(v any) []byte {
	return must(json.Marshal(v))
}

// drawRuntime draws the runtime of an agent.
func (w *world) drawRuntime() string {
	names := cliNames
	if w.clis == nil {
		return names[0]
	}
	return names[w.clis.IntN(len(names))]
}

// linesName is the name of a runtime that is known by its configuration only: a program that reads lines.
const linesName = "lines"

// linesRuntime is the runtime of linesCLI.
var linesRuntime = mustGeneric(linesName, catalog.Generic{Command: []string{linesName}, Ready: `^> `, Exit: "/bye"})

func mustGeneric(name string, g catalog.Generic) *runtimes.Runtime {
	return must(catalog.NewGeneric(name, g))
}

// linesCLI is a program that nobody knows: it has a screen, and neither hooks nor a transcript. It shows what is typed, and
// takes a line for a prompt. While a turn runs, its screen changes now and then. It keeps what the generic runtime takes for
// granted: an Enter is not lost, and nothing but the screen has to be noticed.
var linesCLI = &cli{
	rt: linesRuntime, plain: true, late: true,
	arguments: func(a *agent, _ []string) {
		a.session = "none"
		a.mood.swallow, a.mood.limits, a.mood.compacts = 0, 0, 0
	},
	show: func(a *agent) (string, string) {
		rows := a.printed[max(0, len(a.printed)-12):]
		switch d := a.dialog; {
		case d != nil:
			rows = append(rows[:len(rows):len(rows)], d.Title+" "+d.Detail, d.Question+" [y/N]")
		case !a.frame.Visible:
			return "", ""
		case a.frame.Working != "":
			rows = append(rows[:len(rows):len(rows)], fmt.Sprintf("thinking %d", a.ticks), a.composer.Text)
		default:
			rows = append(rows[:len(rows):len(rows)], "> "+a.composer.Text)
		}
		return strings.Join(rows, "\n"), ""
	},
	hook: func(*agent, string, actor.Fields) (string, actor.Fields) { return "", nil },
	message: func(a *agent, role, text string) []actor.Fields {
		a.skilled = a.skilled || role == "user" && strings.Contains(text, "from now on you play the persona")
		a.printed = append(a.printed, role+": "+text)
		return nil
	},
	read: func(*agent, string) []actor.Fields { return nil },
	end: func(a *agent, how turnEnd, failure string) []actor.Fields {
		switch how {
		case turnInterrupted:
			a.printed = append(a.printed, "interrupted")
		case turnFailed:
			a.printed = append(a.printed, failure)
		}
		return nil
	},
	transcript: func(*agent) string { return "" },
	live: func(a *agent) {
		go func() {
			for !a.dead {
				a.do("shows that it works", 2*time.Second, 4*time.Second)
				if a.ticks++; a.frame.Working != "" {
					a.draw()
				}
			}
		}()
	},
}
