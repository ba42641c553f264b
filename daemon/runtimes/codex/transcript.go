package codex

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// readLine reads a line of a rollout. A turn's texts are in its items; its usage is in a line of its own.
func readLine(line []byte) (runtimes.Line, error) {
	var l runtimes.Line
	var p payload
	s := runtimes.NewSkim(line)
	if s.D.PeekKind() != '{' {
		s.Err = runtimes.ErrNotJSON
	}
	kind := ""
	s.Object(func(key string) {
		switch key {
		case "type":
			kind = s.Text()
		case "timestamp":
			l.At, _ = time.Parse(time.RFC3339, s.Text()) // the zero time if the text is not a time
		case "payload":
			p = readPayload(s)
		}
	})
	s.End()
	switch {
	case kind == "turn_context":
		l.Kind, l.Chosen, l.Mode = "system", p.model, mode(p.approval, p.reviewer, p.sandbox)
	case kind == "compacted":
		l.Kind, l.Subtype = "system", "compact_boundary"
	case kind == "event_msg" && p.kind == "thread_rolled_back":
		l.Kind, l.Place.Turns = "system", int(min(p.turns, math.MaxInt32))
	case kind == "event_msg" && p.kind == "token_count":
		l.Kind, l.Message = "assistant", runtimes.Message{Role: "assistant", Used: p.used, Window: p.window, Spent: p.spent}
	case kind == "response_item" && p.kind == "message":
		l.Kind, l.Message = p.role, runtimes.Message{Role: p.role, Id: p.id, Texts: p.texts}
		l.Meta = p.role == "user" && len(p.texts) > 0 && harness().MatchString(runtimes.Unquote(p.texts[0]))
	case kind == "response_item" && p.kind == "custom_tool_call" && p.name == "apply_patch":
		l.Kind, l.Message = "assistant", runtimes.Message{Role: "assistant"}
		for _, path := range patched(p.input) {
			l.Message.Edited = append(l.Message.Edited, runtimes.Edit{Path: path, Call: p.call})
		}
	case kind == "response_item" && p.kind == "function_call":
		l.Kind, l.Message = "assistant", runtimes.Message{Role: "assistant"}
		l.Message.Note(runtimes.Call{Id: p.call, Tool: p.name, Command: command(p.arguments)})
		plan(&l.Message, p)
	case kind == "response_item" && p.kind == "function_call_output" && exitedWell(p.output):
		l.Kind, l.Message = "user", runtimes.Message{Role: "user", Done: []string{p.call}}
	case kind == "response_item" && p.kind == "function_call_output" && refused(p.output):
		l.Kind, l.Message = "user", runtimes.Message{Role: "user", Failed: []string{p.call}}
	case kind == "response_item" && p.kind == "custom_tool_call_output" && !strings.Contains(p.output, "Success. Updated the following files"):
		l.Kind, l.Message = "user", runtimes.Message{Role: "user", Failed: []string{p.call}}
	}
	return l, s.Err
}

// payload has the fields of a payload that readLine needs.
type payload struct {
	kind, role, id, name, call string
	input, output, arguments   string
	model                      string
	approval, reviewer         string // who is asked for a permission, and when
	sandbox                    string
	texts                      [][]byte
	used, window               int64
	spent                      runtimes.Usage
	turns                      int64 // how many turns are taken back
}

func readPayload(s *runtimes.Skim) (p payload) {
	var session int64 // tokens of the whole session
	s.Object(func(key string) {
		switch key {
		case "type":
			p.kind = s.Text()
		case "role":
			p.role = s.Text()
		case "id":
			p.id = s.Text()
		case "name":
			p.name = s.Text()
		case "call_id":
			p.call = s.Text()
		case "model":
			p.model = s.Text()
		case "approval_policy":
			p.approval = s.Text()
		case "approvals_reviewer":
			p.reviewer = s.Text()
		case "sandbox_policy":
			s.Object(func(key string) {
				if key == "type" {
					p.sandbox = s.Text()
				}
			})
		case "num_turns":
			p.turns = s.Number()
		case "input":
			p.input = s.Text()
		case "arguments":
			p.arguments = s.Text()
		case "output":
			p.output = s.Text()
		case "content":
			p.texts = s.Texts()
		case "info":
			s.Object(func(key string) {
				switch key {
				case "model_context_window":
					p.window = s.Number()
				case "last_token_usage":
					p.spent, p.used = readUsage(s)
				case "total_token_usage":
					_, session = readUsage(s)
				}
			})
		}
	})
	keyUsage(&p.spent, session)
	return p
}

// command returns the command of a call of the shell; "": the arguments are those of another tool.
func command(arguments string) string {
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
	return runtimes.Unquote(in.Command)
}

// exitedWell reports whether the output of a command says, in the lines that the CLI puts before it, that the command
// succeeded.
func exitedWell(output string) bool {
	head, _, _ := strings.Cut(output, "\nOutput:")
	return strings.Contains(head, "Process exited with code 0")
}

// refused reports whether the output of a call says that the CLI has not made the call.
func refused(output string) bool {
	return strings.HasPrefix(output, "unsupported call: ") || strings.HasPrefix(output, "failed to parse function arguments")
}

// marks are the tags of the texts that the CLI itself gives the model in the user's name.
const marks = "environment_context|user_instructions|hook_prompt|turn_aborted|user_shell_command|subagent_notification|skill"

// harness matches such a text.
var harness = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:# AGENTS\.md instructions|<(?:` + marks + `)[ >])`)
})

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

// mode returns the mode that has the policies of a turn; "": no mode has them.
func mode(approval, reviewer, sandbox string) string {
	switch {
	case reviewer != "" && reviewer != "user":
		return ""
	case sandbox == "danger-full-access" && approval == "never", sandbox == "read-only" && approval == "on-request":
		return sandbox
	case sandbox == "workspace-write" && approval == "on-request":
		return sandbox
	case sandbox == "workspace-write" && approval == "never":
		return approval
	}
	return ""
}

// plan adds the plan that a call of update_plan gives.
func plan(m *runtimes.Message, p payload) {
	var in struct {
		Plan json.RawMessage `json:"plan"`
	}
	if p.name != "update_plan" || json.Unmarshal([]byte(p.arguments), &in) != nil {
		return
	}
	if list, ok := runtimes.TodoList(in.Plan); ok {
		m.Todos = append(m.Todos, runtimes.TodoChange{Call: p.call, Whole: true, List: list})
	}
}

// readUsage reads the usage of the answer that a line with token_count reports. The CLI counts tokens from the cache
// among those of the input, and those of the reasoning among those of the output.
func readUsage(s *runtimes.Skim) (u runtimes.Usage, total int64) {
	s.Object(func(key string) {
		switch key {
		case "input_tokens":
			u.Input = s.Number()
		case "cached_input_tokens":
			u.CacheRead = s.Number()
		case "cache_write_input_tokens":
			u.CacheWrite = s.Number()
		case "output_tokens":
			u.Output = s.Number()
		case "reasoning_output_tokens":
			u.Reasoning = s.Number()
		case "total_tokens":
			total = s.Number()
		}
	})
	u.Input = max(0, u.Input-u.CacheRead-u.CacheWrite)
	return u, total
}

// keyUsage makes the key of such an answer from the tokens of the whole session: the CLI repeats the line when it learns only
// how much of a limit is left.
func keyUsage(u *runtimes.Usage, sessionTotal int64) {
	if sessionTotal > 0 {
		u.Key = "total " + strconv.FormatInt(sessionTotal, 10)
	}
}
