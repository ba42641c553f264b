package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/actor"
)

// Tool is one tool call of the brain.
type Tool struct {
	Name  string
	Title string // for the screen: the file or command
	Input actor.Fields
	Edits string // the file that the call writes; "" if none
	Asks  bool   // needs permission in every mode
	Says  string // a text in the same message; only in print mode

	// Do makes the call. It returns the hook's tool_response and a line for the screen.
	Do func() (response any, summary string, err error)
}

// errRefused means that a tool call was not permitted.
var errRefused = errors.New("the tool use was not permitted")

// Use makes a tool call with its hooks: PreToolUse; then, if the call needs permission, PermissionRequest and a dialog;
// then PostToolUse or PostToolUseFailure; then PostToolBatch.
func (a *Agent) Use(ctx context.Context, t Tool) error {
	if a.printer != nil {
		return a.printer.use(ctx, t)
	}
	id := newCallID()
	about := func(more fields) fields {
		more["tool_use_id"] = id
		return a.hooks().Tool(t.Name, t.Input, more)
	}
	batch := func(response string) {
		a.hook(ctx, "PostToolBatch", "", a.hooks().ToolBatch(fields{
			"tool_name": t.Name, "tool_input": t.Input, "tool_use_id": id, "tool_response": response,
		}))
	}
	a.recordAssistant(newMessageID(), fields{"type": "tool_use", "id": id, "name": t.Name, "input": t.Input}, "tool_use")
	pre := a.hook(ctx, "PreToolUse", t.Name, about(fields{}))
	if pre.deny || !pre.allow && !a.permitted(ctx, t) {
		if ctx.Err() == nil {
			a.screen.print(actor.BlockTool, t.Name+"("+t.Title+")\nNot permitted")
			a.recordFailure(id, refusal(t.Name, pre))
		}
		return errors.Join(errRefused, ctx.Err())
	}
	started := time.Now()
	response, summary, err := t.Do()
	took := time.Since(started).Milliseconds()
	if err != nil {
		a.screen.print(actor.BlockTool, t.Name+"("+t.Title+")\n"+err.Error())
		a.recordFailure(id, err.Error())
		a.hook(ctx, "PostToolUseFailure", t.Name, about(fields{"error": err.Error(), "is_interrupt": false, "duration_ms": took}))
		batch(err.Error())
		return err
	}
	a.screen.print(actor.BlockTool, t.Name+"("+t.Title+")\n"+summary)
	a.recordUser([]fields{toolResult(id, summary, false)}, fields{
		"toolUseResult": response, "permissionDecision": fields{"decision": "accept"},
	})
	a.hook(ctx, "PostToolUse", t.Name, about(fields{"tool_response": response, "duration_ms": took}))
	batch(summary)
	return ctx.Err()
}

func newCallID() string { return "toolu_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:22] }

// recordFailure writes the result of a call that failed or was not permitted.
func (a *Agent) recordFailure(id, text string) {
	a.recordUser([]fields{toolResult(id, text, true)}, fields{"toolUseResult": "Error: " + text})
}

func toolResult(id, text string, failed bool) fields {
	result := fields{"type": "tool_result", "tool_use_id": id, "content": text}
	if failed {
		result["is_error"] = true
	}
	return result
}

// refusal returns the text that the model gets as the result of a call that was not permitted.
func refusal(tool string, pre hookAnswer) string {
	if pre.deny {
		return "PreToolUse:" + tool + " hook error: " + pre.reason
	}
	return "The user doesn't want to proceed with this tool use. The tool use was rejected."
}

// dialogAfter is how long the hook of a permission may take before the dialog opens beside it.
const dialogAfter = 30 * time.Millisecond

// permitted reports whether a tool may run. If the settings do not decide, it asks the hooks, then the person.
func (a *Agent) permitted(ctx context.Context, t Tool) bool {
	verdict := allowed
	if t.Edits != "" {
		verdict = a.settings.mayEdit(a.opt.permissionMode, a.Dir, t.Edits)
	}
	if t.Asks {
		verdict = mustAsk
	}
	if verdict != mustAsk {
		return verdict == allowed
	}
	// Measured: the dialog stands while the hook runs, and whoever answers first decides. The hook is not ended when the dialog is
	// answered. A hook that answers at once is faster than the dialog.
	answered := make(chan hookAnswer, 1)
	go func() {
		answered <- a.hook(ctx, "PermissionRequest", t.Name, a.hooks().PermissionRequest(t.Name, t.Input, t.Edits != ""))
	}()
	var answer hookAnswer
	select {
	case answer = <-answered:
		if answer.allow || answer.deny || ctx.Err() != nil {
			return answer.allow && ctx.Err() == nil
		}
	case <-time.After(dialogAfter):
	}
	dialog, close := context.WithCancel(ctx)
	defer close()
	byHook := make(chan bool, 1)
	go func() {
		select {
		case answer := <-answered:
			if answer.allow || answer.deny {
				byHook <- answer.allow
				close()
			}
		case <-dialog.Done():
		}
	}()
	// Measured: Notification comes 6 s after the dialog has opened.
	reminder := time.AfterFunc(6*time.Second, func() {
		a.hook(a.life, "Notification", "permission_prompt", a.hooks().PermissionPrompt())
	})
	defer reminder.Stop()
	question := "Do you want to proceed?"
	if t.Edits != "" {
		question = "Do you want to create " + filepath.Base(t.Edits) + "?"
	}
	choice := a.Ask(dialog, "permission prompt", actor.Dialog{
		Title: t.Name, Detail: t.Title, Question: question,
		Choices: []string{"Yes", "Yes, and do not ask again this session", "No"},
	})
	select {
	case granted := <-byHook:
		return granted && ctx.Err() == nil
	default:
	}
	granted := choice == 0 || choice == 1
	if !granted {
		a.interruptTurn() // measured: No and Esc interrupt the turn, without a hook
	}
	return granted
}

// writeTool returns a call of Claude Code's Write.
func writeTool(a *Agent, path, content string) Tool {
	return Tool{
		Name: "Write", Title: path, Edits: path, Input: fields{"file_path": path, "content": content},
		Do: func() (any, string, error) {
			if err := a.writeFile(path, content); err != nil {
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

// readTool returns a call of Claude Code's Read. The call stores the file's text in *text.
func readTool(path string, text *string) Tool {
	return Tool{
		Name: "Read", Title: path, Input: fields{"file_path": path},
		Do: func() (any, string, error) {
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

// wrote tells [Process] that a file was written.
func (a *Agent) wrote(path string) {
	if a.Wrote != nil {
		a.Wrote(path)
	}
}
