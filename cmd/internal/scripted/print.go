package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// printer runs the agent with -p: one prompt, one answer on stdout, with the hooks of a short session. It writes no
// transcript and no registry file.
type printer struct {
	*Agent
	started time.Time
	turns   int
	denied  []fields // calls of tools
}

// errTerminated means that SIGTERM or SIGHUP has ended the process.
var errTerminated = errors.New("terminated")

// printAnswer answers one prompt and returns the exit status.
func printAnswer(a *Agent) int {
	prompt := a.opt.Prompt
	if prompt == "" {
		text, _ := io.ReadAll(a.Stdin) // if stdin cannot be read, the prompt is what was read before
		prompt = string(text)
	}
	if strings.TrimSpace(prompt) == "" {
		fmt.Fprintln(a.Stderr, "Error: no input. Provide a prompt to continue")
		return 1
	}
	ctx, stop := context.WithCancelCause(a.alive)
	defer stop(nil)
	p := &printer{Agent: a, started: time.Now()}
	a.printer = p
	signals := a.Signals(syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for ctx.Err() == nil {
			select {
			case sig := <-signals:
				if p.ends(sig) {
					stop(errTerminated)
				}
			case <-ctx.Done():
			}
		}
	}()
	code := p.session(ctx, prompt)
	a.hook(a.alive, "SessionEnd", "other", a.hooks().SessionEnd("other"))
	if ctx.Err() != nil {
		return 143
	}
	return code
}

// session runs the session up to SessionEnd, and returns the exit status.
func (p *printer) session(ctx context.Context, prompt string) int {
	source := p.opt.source()
	p.hook(ctx, "SessionStart", source, p.hooks().SessionStart(source, p.transcript.used()))
	p.newPromptID()
	if p.opt.Name != "" {
		p.line(fields{"type": "system", "subtype": "session_title_changed", "title": p.opt.Name})
	}
	p.line(fields{
		"type": "system", "subtype": "init", "cwd": p.Dir, "model": p.opt.model, "permissionMode": p.opt.permissionMode,
		"tools": []string{"Bash", "Edit", "Read", "Write"}, "mcp_servers": []string{}, "claude_code_version": Version,
	})
	asked := p.hook(ctx, "UserPromptSubmit", "", p.hooks().UserPromptSubmit(prompt))
	if asked.block { // measured: the result is a success
		return p.result("UserPromptSubmit operation blocked by hook:\n"+asked.reason+"\n\nOriginal prompt: "+prompt, nil)
	}
	answer, err := p.answer(ctx, prompt)
	if refused, ok := errors.AsType[*APIError](err); ok {
		return p.fail(refused)
	}
	if err != nil {
		return 1
	}
	p.turns++
	p.assistant(newMessageID(), fields{"type": "text", "text": answer})
	p.hook(ctx, "Stop", "", p.hooks().Stop(false, answer, nil))
	if ctx.Err() != nil {
		return 1
	}
	return p.result(answer, nil)
}

// use calls a tool, in a message of its own, if the hooks allow it.
func (p *printer) use(ctx context.Context, t Tool) error {
	p.turns++
	message, call := newMessageID(), newCallID()
	p.assistant(message, fields{"type": "text", "text": t.Says})
	p.assistant(message, fields{"type": "tool_use", "id": call, "name": t.Name, "input": t.Input})
	pre := p.hook(ctx, "PreToolUse", t.Name, p.hooks().Tool(t.Name, t.Input, fields{"tool_use_id": call}))
	var result fields
	if pre.deny {
		p.denied = append(p.denied, fields{"tool_name": t.Name, "tool_input": t.Input, "tool_use_id": call})
		p.line(fields{"type": "system", "subtype": "permission_denied", "tool_name": t.Name, "tool_use_id": call})
		result = toolResult(call, refusal(t.Name, pre), true)
	} else if _, summary, err := t.Do(); err != nil {
		result = toolResult(call, err.Error(), true)
	} else {
		result = toolResult(call, summary, false)
	}
	p.line(fields{"type": "user", "message": fields{"role": "user", "content": []fields{result}}, "parent_tool_use_id": nil})
	return ctx.Err()
}

// fail prints that the API has refused the request, and returns the exit status.
func (p *printer) fail(refused *APIError) int {
	p.turns++
	p.line(fields{"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 1, "error_status": refused.Status, "error": refused.Kind})
	p.line(fields{
		"type": "assistant", "is_api_error_message": true, "error": refused.Kind, "parent_tool_use_id": nil,
		"message": message(newMessageID(), synthetic, fields{"type": "text", "text": refused.Message}, "stop_sequence", usage{}),
	})
	return p.result(refused.Message, fields{
		"is_error": true, "api_error_status": refused.Status, "api_error_type": refused.Kind + "_error", "terminal_reason": "api_error",
	})
}

// assistant prints one block of an answer. Measured: stop_reason is always null here.
func (p *printer) assistant(id string, block fields) {
	p.line(fields{
		"type": "assistant", "message": message(id, p.opt.model, block, nil, p.transcript.bill(block)), "parent_tool_use_id": nil,
	})
}

// line prints one line of a stream.
func (p *printer) line(l fields) {
	if p.opt.outputFormat == "stream-json" {
		id, _ := p.ids()
		l["session_id"], l["uuid"] = id, uuid.NewString()
		printJSON(p.Stdout, l)
	}
}

// result prints the result and returns the exit status.
func (p *printer) result(text string, more fields) int {
	if p.opt.outputFormat == "text" {
		fmt.Fprintln(p.Stdout, strings.TrimRight(text, "\n"))
	} else {
		id, _ := p.ids()
		all := fields{
			"type": "result", "subtype": "success", "is_error": false, "num_turns": p.turns, "stop_reason": "end_turn",
			"terminal_reason": "completed", "api_error_status": nil, "permission_denials": append([]fields{}, p.denied...),
			"result": text, "session_id": id, "uuid": uuid.NewString(), "total_cost_usd": 0,
			"duration_ms": time.Since(p.started).Milliseconds(), "usage": p.transcript.newest(),
		}
		for name, value := range more {
			all[name] = value
		}
		printJSON(p.Stdout, all)
	}
	if more["is_error"] == true {
		return 1
	}
	return 0
}

func printJSON(out io.Writer, l fields) {
	text, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("line of the output: %v", err)) // the line holds only plain values of this package
	}
	fmt.Fprintf(out, "%s\n", text)
}

// printMissing prints that the session to resume does not exist.
func printMissing(opt Options, id errNoConversation, stdout, stderr io.Writer) int {
	sentence := "No conversation found with session ID: " + string(id)
	if opt.outputFormat != "text" {
		printJSON(stdout, fields{
			"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "stop_reason": nil,
			"errors": []string{sentence}, "session_id": uuid.NewString(), "uuid": uuid.NewString(), "permission_denials": []fields{},
		})
	}
	fmt.Fprintln(stderr, sentence)
	return 1
}
