package realcli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// tool is a CLI's tool that does what one of Claude Code's does.
type tool struct {
	name string
	keys map[string]string // from Claude Code's names of the input's fields to this tool's; it has no others
}

// tools are the CLIs' tools by the names of Claude Code's. Codex has none that reads or writes: see apply_patch.
var tools = map[CLI]map[string]tool{
	Codex: {"Bash": {"exec_command", map[string]string{"command": "cmd"}}},
	OpenCode: {
		"Bash":  {"bash", map[string]string{"command": "command", "description": "description"}},
		"Write": {"write", map[string]string{"file_path": "filePath", "content": "content"}},
		"Read":  {"read", map[string]string{"file_path": "filePath"}},
	},
	Pi: {
		"Bash":  {"bash", map[string]string{"command": "command"}},
		"Write": {"write", map[string]string{"file_path": "path", "content": "content"}},
		"Read":  {"read", map[string]string{"file_path": "path"}},
	},
	Gemini: {
		"Bash":  {"run_shell_command", map[string]string{"command": "command", "description": "description"}},
		"Write": {"write_file", map[string]string{"file_path": "file_path", "content": "content"}},
		"Read":  {"read_file", map[string]string{"file_path": "file_path"}},
	},
}

// neverAsks is what Codex tells the model if nobody will answer its questions. A call that asks is refused then.
const neverAsks = "Approval policy is currently never"

// outgoing returns the call of the CLI's tool that does what a reply asks for.
func (x *exchange) outgoing() (name string, input map[string]any) {
	if x.cli == Codex && x.Tool == "Read" {
		return "exec_command", map[string]any{"cmd": fmt.Sprintf("cat -- '%s'", x.Input["file_path"])}
	}
	t, ok := tools[x.cli][x.Tool]
	if !ok {
		return x.Tool, x.Input
	}
	input = map[string]any{}
	for claude, key := range t.keys {
		if v, ok := x.Input[claude]; ok {
			input[key] = v
		}
	}
	if x.cli == Codex && !strings.Contains(x.req.SystemText(), neverAsks) {
		// Otherwise the CLI runs the command in its sandbox, and asks nobody.
		input["sandbox_permissions"], input["justification"] = "require_escalated", "It is part of the task."
	}
	return t.name, input
}

// incoming returns a call that the CLI has recorded as a block, in Claude Code's words if it has some.
func incoming(cli CLI, name string, input json.RawMessage) claudetest.Block {
	for claude, t := range tools[cli] {
		if t.name != name {
			continue
		}
		var in map[string]any
		if json.Unmarshal(input, &in) != nil {
			break
		}
		out := map[string]any{}
		for theirs, key := range t.keys {
			if v, ok := in[key]; ok {
				out[theirs] = v
			}
		}
		return claudetest.Block{Type: "tool_use", Name: claude, Input: json.RawMessage(encode(out))}
	}
	return claudetest.Block{Type: "tool_use", Name: name, Input: input}
}

const (
	patchTool  = "apply_patch"
	patchBegin = "*** Begin Patch\n*** Add File: "
	patchEnd   = "*** End Patch\n"
)

// patch returns the patch by which Codex writes a file.
func patch(path, content string) string {
	var b strings.Builder
	b.WriteString(patchBegin + path + "\n")
	for line := range strings.Lines(content) {
		b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String() + patchEnd
}

// unpatch returns a patch as a block: a call of Write if the patch writes one file.
func unpatch(input string) claudetest.Block {
	raw := claudetest.Block{Type: "tool_use", Name: patchTool, Input: json.RawMessage(encode(input))}
	rest, ok := strings.CutPrefix(input, patchBegin)
	if !ok {
		return raw
	}
	path, rest, _ := strings.Cut(rest, "\n")
	rest, ok = strings.CutSuffix(rest, patchEnd)
	var content strings.Builder
	for line := range strings.Lines(rest) {
		added, isAdded := strings.CutPrefix(line, "+")
		ok = ok && isAdded
		content.WriteString(added)
	}
	if !ok {
		return raw
	}
	return claudetest.Block{Type: "tool_use", Name: "Write", Input: json.RawMessage(encode(map[string]any{"file_path": path, "content": content.String()}))}
}
