package scripted

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/actor"
)

// tool is one tool call of the brain.
type tool struct {
	name  string
	title string // for the screen: the file or command
	input fields
	edits string // the file that it writes; "" for none
	ask   bool   // wants permission in every mode
	// run does it and returns the hook's tool_response and a line for the screen.
	run func() (response any, summary string, err error)
}

// errRefused is a tool call that was not permitted.
var errRefused = errors.New("the tool use was not permitted")

// use runs a tool call with its hooks: PreToolUse, PermissionRequest and a dialog if it must be asked
// for, PostToolUse or PostToolUseFailure, PostToolBatch.
func (a *agent) use(ctx context.Context, t tool) error {
	id := "toolu_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:22]
	about := func(more fields) fields {
		more["tool_use_id"] = id
		return a.hooks().Tool(t.name, t.input, more)
	}
	batch := func(response string) {
		a.hook(ctx, "PostToolBatch", "", a.hooks().ToolBatch(fields{
			"tool_name": t.name, "tool_input": t.input, "tool_use_id": id, "tool_response": response,
		}))
	}
	a.recordAssistant(newMessageID(), fields{"type": "tool_use", "id": id, "name": t.name, "input": t.input}, "tool_use")
	pre := a.hook(ctx, "PreToolUse", t.name, about(fields{}))
	if pre.deny || !pre.allow && !a.permitted(ctx, t) {
		if ctx.Err() == nil {
			a.screen.print(actor.BlockTool, t.name+"("+t.title+")\nNot permitted")
			a.recordFailure(id, refusal(t.name, pre))
		}
		return errors.Join(errRefused, ctx.Err())
	}
	started := time.Now()
	response, summary, err := t.run()
	took := time.Since(started).Milliseconds()
	if err != nil {
		a.screen.print(actor.BlockTool, t.name+"("+t.title+")\n"+err.Error())
		a.recordFailure(id, err.Error())
		a.hook(ctx, "PostToolUseFailure", t.name, about(fields{"error": err.Error(), "is_interrupt": false, "duration_ms": took}))
		batch(err.Error())
		return err
	}
	a.screen.print(actor.BlockTool, t.name+"("+t.title+")\n"+summary)
	a.recordUser([]fields{toolResult(id, summary, false)}, fields{
		"toolUseResult": response, "permissionDecision": fields{"decision": "accept"},
	})
	a.hook(ctx, "PostToolUse", t.name, about(fields{"tool_response": response, "duration_ms": took}))
	batch(summary)
	return ctx.Err()
}

// recordFailure writes the result of a call that failed or was not permitted.
func (a *agent) recordFailure(id, text string) {
	a.recordUser([]fields{toolResult(id, text, true)}, fields{"toolUseResult": "Error: " + text})
}

func toolResult(id, text string, failed bool) fields {
	result := fields{"type": "tool_result", "tool_use_id": id, "content": text}
	if failed {
		result["is_error"] = true
	}
	return result
}

// refusal is what the model is told of a call that was not permitted.
func refusal(tool string, pre hookAnswer) string {
	if pre.deny {
		return "PreToolUse:" + tool + " hook error: " + pre.reason
	}
	return "The user doesn't want to proceed with this tool use. The tool use was rejected."
}

// permitted decides whether a tool may run, and asks if it must: hooks first, then the person.
func (a *agent) permitted(ctx context.Context, t tool) bool {
	verdict := allowed
	if t.edits != "" {
		verdict = a.settings.mayEdit(a.opt.permissionMode, a.cwd, t.edits)
	}
	if t.ask {
		verdict = mustAsk
	}
	if verdict != mustAsk {
		return verdict == allowed
	}
	answer := a.hook(ctx, "PermissionRequest", t.name, a.hooks().PermissionRequest(t.name, t.input, t.edits != ""))
	if answer.allow || answer.deny || ctx.Err() != nil {
		return answer.allow && ctx.Err() == nil
	}
	// Measured: Notification comes 6 s after the dialog has opened.
	reminder := time.AfterFunc(6*time.Second, func() {
		a.hook(a.life, "Notification", "permission_prompt", a.hooks().PermissionPrompt())
	})
	defer reminder.Stop()
	question := "Do you want to proceed?"
	if t.edits != "" {
		question = "Do you want to create " + filepath.Base(t.edits) + "?"
	}
	choice := a.ask(ctx, "permission prompt", actor.Dialog{
		Title: t.name, Detail: t.title, Question: question,
		Choices: []string{"Yes", "Yes, and do not ask again this session", "No"},
	})
	granted := choice == 0 || choice == 1
	if !granted {
		a.interruptTurn() // measured: No and Esc interrupt the turn, without a hook
	}
	return granted
}

// writeTool is Claude Code's Write, as which write counts.
func writeTool(path, content string, write func() error) tool {
	return tool{
		name: "Write", title: path, edits: path, input: fields{"file_path": path, "content": content},
		run: func() (any, string, error) {
			if err := write(); err != nil {
				return nil, "", err
			}
			response := fields{
				"type": "create", "filePath": path, "content": content,
				"structuredPatch": []string{}, "originalFile": nil, "userModified": false,
			}
			return response, fmt.Sprintf("Wrote %d lines", strings.Count(content, "\n")), nil
		},
	}
}

// editTool is Claude Code's Edit: it adds a line, to a new file if there is none.
func (a *agent) editTool(path string) tool {
	const added = "One line by the scripted agent.\n"
	input := fields{"replace_all": false, "file_path": path, "old_string": "", "new_string": added}
	before, err := os.ReadFile(path)
	if err == nil && len(before) > 0 {
		lines := strings.SplitAfter(strings.TrimSuffix(string(before), "\n")+"\n", "\n")
		last := lines[len(lines)-2] // the part after the last line break is empty
		input["old_string"], input["new_string"] = last, last+added
	}
	return tool{
		name: "Edit", title: path, edits: path, input: input,
		run: func() (any, string, error) {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, "", err
			}
			text := string(before)
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			if err := a.writeFile(path, text+added); err != nil {
				return nil, "", err
			}
			return fields{
				"filePath": path, "oldString": input["old_string"], "newString": input["new_string"], "originalFile": string(before),
				"structuredPatch": []string{}, "userModified": false, "replaceAll": false,
			}, "Added 1 line", nil
		},
	}
}

// readTool is Claude Code's Read; the text goes into *text.
func readTool(path string, text *string) tool {
	return tool{
		name: "Read", title: path, input: fields{"file_path": path},
		run: func() (any, string, error) {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, "", fmt.Errorf("file does not exist or cannot be read: %s", path)
			}
			*text = string(raw)
			lines := strings.Count(*text, "\n")
			response := fields{"type": "text", "file": fields{"filePath": path, "content": *text, "numLines": lines}}
			return response, fmt.Sprintf("Read %d lines", lines), nil
		},
	}
}

// askTool is a command that needs permission.
func askTool() tool {
	const command = "make deploy"
	return tool{
		name: "Bash", title: command, ask: true, input: fields{"command": command, "description": "Deploy"},
		run: func() (any, string, error) {
			return ranCommand("ok"), "ok", nil
		},
	}
}

// ranCommand is what Bash says of a command.
func ranCommand(stdout string) fields {
	return fields{"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false}
}

// backgroundTool is a command that goes on when the turn has ended, until file exists.
func (a *agent) backgroundTool(file string) tool {
	command := "wait-for " + file
	const what = "Wait for a file"
	return tool{
		name: "Bash", title: command, input: fields{"command": command, "description": what, "run_in_background": true},
		run: func() (any, string, error) {
			response := ranCommand("")
			id := a.background(a.life, file, what, command)
			response["backgroundTaskId"] = id
			return response, "Command running in background with ID: " + id, nil
		},
	}
}

func (a *agent) writeFile(path, content string) error {
	if err := a.alive.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	defer a.wrote(path)
	return os.WriteFile(path, []byte(content), 0o644)
}

// wrote tells those who want to know that a file was written.
func (a *agent) wrote(path string) {
	if a.Wrote != nil {
		a.Wrote(path)
	}
}
