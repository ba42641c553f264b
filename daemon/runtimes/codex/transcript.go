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

// entry has the fields of a line that we need.
type entry struct {
	Kind    string    `json:"type"`
	At      time.Time `json:"timestamp"`
	Payload payload   `json:"payload"`
}

type payload struct {
	Kind      string                               `json:"type"`
	Role      string                               `json:"role"`
	ID        string                               `json:"id"`
	Name      string                               `json:"name"`
	Call      string                               `json:"call_id"`
	Input     string                               `json:"input"`
	Arguments string                               `json:"arguments"`
	Output    string                               `json:"output"`
	Content   runtimes.Content[runtimes.TextBlock] `json:"content"`
	Model     string                               `json:"model"`
	Approval  string                               `json:"approval_policy"`    // when somebody is asked for a permission,
	Reviewer  string                               `json:"approvals_reviewer"` // and who
	Sandbox   struct {
		Kind string `json:"type"`
	} `json:"sandbox_policy"`
	Turns int64 `json:"num_turns"` // how many turns are taken back
	Info  struct {
		Window int64 `json:"model_context_window"`
		Last   usage `json:"last_token_usage"`
		Total  usage `json:"total_token_usage"` // of the whole session
	} `json:"info"`
}

// usage counts tokens: those from the cache are among those of the input, and those of the reasoning among those of the output.
type usage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_output_tokens"`
	Total      int64 `json:"total_tokens"`
}

// readLine reads a line of a rollout. A turn's texts are in its items; its usage is in a line of its own.
func readLine(line []byte) (runtimes.Line, error) {
	var e entry
	err := runtimes.Decode(line, &e)
	l, kind, p := runtimes.Line{At: e.At}, e.Kind, &e.Payload
	switch {
	case kind == "turn_context":
		l.Kind, l.Chosen, l.Mode = "system", p.Model, mode(p.Approval, p.Reviewer, p.Sandbox.Kind)
	case kind == "compacted":
		l.Kind, l.Subtype = "system", "compact_boundary"
	case kind == "event_msg" && p.Kind == "thread_rolled_back":
		l.Kind, l.Place.Turns = "system", int(min(p.Turns, math.MaxInt32))
	case kind == "event_msg" && p.Kind == "token_count":
		l.Kind, l.Message = "assistant", runtimes.Message{Role: "assistant", Used: p.Info.Last.Total, Window: p.Info.Window, Spent: p.spent()}
	case kind == "response_item" && p.Kind == "message":
		texts := runtimes.Texts(p.Content)
		l.Kind, l.Message = p.Role, runtimes.Message{Role: p.Role, ID: p.ID, Texts: texts}
		l.Meta = p.Role == "user" && len(texts) > 0 && harness().MatchString(runtimes.Unquote(texts[0]))
	case kind == "response_item" && p.Kind == "custom_tool_call" && p.Name == "apply_patch":
		l.Kind, l.Message = "assistant", runtimes.Message{Role: "assistant"}
		for _, path := range patched(p.Input) {
			l.Message.Edited = append(l.Message.Edited, runtimes.Edit{Path: path, Call: p.Call})
		}
	case kind == "response_item" && p.Kind == "function_call":
		l.Kind, l.Message = "assistant", runtimes.Message{Role: "assistant"}
		l.Message.Call(runtimes.Call{ID: p.Call, Tool: p.Name, Command: command(p.Arguments)}, false)
		if p.Name == "update_plan" {
			var in struct{ Plan json.RawMessage }
			_ = json.Unmarshal([]byte(p.Arguments), &in) // without a plan the list stays as it was
			l.Message.List(p.Call, in.Plan)
		}
	case kind == "response_item" && p.Kind == "function_call_output" && exitedWell(p.Output):
		l.Kind, l.Message = "user", runtimes.Message{Role: "user", Done: []string{p.Call}}
	case kind == "response_item" && p.Kind == "function_call_output" && refused(p.Output):
		l.Kind, l.Message = "user", runtimes.Message{Role: "user", Failed: []string{p.Call}}
	case kind == "response_item" && p.Kind == "custom_tool_call_output" && !strings.Contains(p.Output, "Success. Updated the following files"):
		l.Kind, l.Message = "user", runtimes.Message{Role: "user", Failed: []string{p.Call}}
	}
	return l, err
}

// spent returns what the newest answer has used. The tokens of the whole session are its key: the CLI repeats the line when it learns only how
// much of a limit is left.
func (p *payload) spent() (u runtimes.Usage) {
	last := p.Info.Last
	u.Tokens = runtimes.Tokens{
		Input: max(0, last.Input-last.CacheRead-last.CacheWrite), Output: last.Output, CacheRead: last.CacheRead, CacheWrite: last.CacheWrite,
		Reasoning: last.Reasoning,
	}
	if all := p.Info.Total.Total; all > 0 {
		u.Key = "total " + strconv.FormatInt(all, 10)
	}
	return u
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
