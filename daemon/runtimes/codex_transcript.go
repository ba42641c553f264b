package runtimes

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// readCodexLine reads a line of a rollout. A turn's texts are in its items; its usage is in a line of its own.
func readCodexLine(line []byte) (transcriptLine, error) {
	var l transcriptLine
	var p codexPayload
	s := newSkim(line)
	if s.d.PeekKind() != '{' {
		s.err = errNotJSON
	}
	kind := ""
	s.object(func(key string) {
		switch key {
		case "type":
			kind = s.text()
		case "timestamp":
			l.at, _ = time.Parse(time.RFC3339, s.text()) // the zero time if the text is not a time
		case "payload":
			p = readCodexPayload(s)
		}
	})
	s.end()
	switch {
	case kind == "turn_context":
		l.kind, l.chosen, l.mode = "system", p.model, codexMode(p.approval, p.reviewer, p.sandbox)
	case kind == "compacted":
		l.kind, l.subtype = "system", "compact_boundary"
	case kind == "event_msg" && p.kind == "thread_rolled_back":
		l.kind, l.taken.Turns = "system", int(min(p.turns, math.MaxInt32))
	case kind == "event_msg" && p.kind == "token_count":
		l.kind, l.message = "assistant", message{role: "assistant", used: p.used, window: p.window, spent: p.spent}
	case kind == "response_item" && p.kind == "message":
		l.kind, l.message = p.role, message{role: p.role, id: p.id, texts: p.texts}
		l.meta = p.role == "user" && len(p.texts) > 0 && codexHarness().MatchString(unquote(p.texts[0]))
	case kind == "response_item" && p.kind == "custom_tool_call" && p.name == "apply_patch":
		l.kind, l.message = "assistant", message{role: "assistant"}
		for _, path := range patched(p.input) {
			l.message.edited = append(l.message.edited, Edit{Path: path, Call: p.call})
		}
	case kind == "response_item" && p.kind == "function_call":
		l.kind, l.message = "assistant", message{role: "assistant"}
		l.message.note(call{id: p.call, tool: p.name, command: codexCommand(p.arguments)})
		l.message.codexPlan(p)
	case kind == "response_item" && p.kind == "function_call_output" && codexExitedWell(p.output):
		l.kind, l.message = "user", message{role: "user", done: []string{p.call}}
	case kind == "response_item" && p.kind == "function_call_output" && codexRefused(p.output):
		l.kind, l.message = "user", message{role: "user", failed: []string{p.call}}
	case kind == "response_item" && p.kind == "custom_tool_call_output" && !strings.Contains(p.output, "Success. Updated the following files"):
		l.kind, l.message = "user", message{role: "user", failed: []string{p.call}}
	}
	return l, s.err
}

// codexPayload has the fields of a payload that readCodexLine needs.
type codexPayload struct {
	kind, role, id, name, call string
	input, output, arguments   string
	model                      string
	approval, reviewer         string // who is asked for a permission, and when
	sandbox                    string
	texts                      [][]byte
	used, window               int64
	spent                      Usage
	turns                      int64 // how many turns are taken back
}

func readCodexPayload(s *skim) (p codexPayload) {
	var session int64 // tokens of the whole session
	s.object(func(key string) {
		switch key {
		case "type":
			p.kind = s.text()
		case "role":
			p.role = s.text()
		case "id":
			p.id = s.text()
		case "name":
			p.name = s.text()
		case "call_id":
			p.call = s.text()
		case "model":
			p.model = s.text()
		case "approval_policy":
			p.approval = s.text()
		case "approvals_reviewer":
			p.reviewer = s.text()
		case "sandbox_policy":
			s.object(func(key string) {
				if key == "type" {
					p.sandbox = s.text()
				}
			})
		case "num_turns":
			p.turns = s.number()
		case "input":
			p.input = s.text()
		case "arguments":
			p.arguments = s.text()
		case "output":
			p.output = s.text()
		case "content":
			p.texts = readContent(s).texts
		case "info":
			s.object(func(key string) {
				switch key {
				case "model_context_window":
					p.window = s.number()
				case "last_token_usage":
					p.spent, p.used = readCodexUsage(s)
				case "total_token_usage":
					_, session = readCodexUsage(s)
				}
			})
		}
	})
	keyCodexUsage(&p.spent, session)
	return p
}

// codexCommand returns the command of a call of the shell; "": the arguments are those of another tool.
func codexCommand(arguments string) string {
	var in struct {
		Cmd     string          `json:"cmd"`
		Command json.RawMessage `json:"command"`
	}
	if json.Unmarshal([]byte(arguments), &in) != nil || in.Cmd != "" {
		return in.Cmd
	}
	var argv []string
	if json.Unmarshal(in.Command, &argv) == nil && len(argv) > 0 {
		return argv[len(argv)-1] // of bash -lc COMMAND
	}
	return unquote(in.Command)
}

// codexExitedWell reports whether the output of a command says, in the lines that the CLI puts before it, that the command
// succeeded.
func codexExitedWell(output string) bool {
	head, _, _ := strings.Cut(output, "\nOutput:")
	return strings.Contains(head, "Process exited with code 0")
}

// codexRefused reports whether the output of a call says that the CLI has not made the call.
func codexRefused(output string) bool {
	return strings.HasPrefix(output, "unsupported call: ") || strings.HasPrefix(output, "failed to parse function arguments")
}

// codexMarks are the tags of the texts that the CLI itself gives the model in the user's name.
const codexMarks = "environment_context|user_instructions|hook_prompt|turn_aborted|user_shell_command|subagent_notification|skill"

// codexHarness matches such a text.
var codexHarness = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:# AGENTS\.md instructions|<(?:` + codexMarks + `)[ >])`)
})

// withoutCodexMarks returns the part of a text that a person wrote; "": no part.
func withoutCodexMarks(text string) string {
	if text = strings.TrimSpace(text); ours().MatchString(text) {
		return ""
	}
	return text
}

// patchHeads begin the lines of a patch that name a file.
var patchHeads = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

// patched returns the files that a patch changes, each once.
func patched(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		for _, head := range patchHeads {
			path, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), head)
			if ok && path != "" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
