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

	"github.com/understudyd/understudy/daemon/actor"
)

// printer is -p: one prompt, one answer on stdout, with the hooks of a short session. It writes no
// transcript and no registry file.
type printer struct {
	*agent
	b       behaviours
	started time.Time
	turns   int
	denied  []fields // calls of tools
}

// errTerminated is the end by SIGTERM or SIGHUP.
var errTerminated = errors.New("terminated")

// printAnswer runs the one-shot and returns the exit status. Asked for a handoff, it answers with the
// document's text.
func (a *agent) printAnswer() int {
	prompt := a.opt.prompt
	if prompt == "" {
		text, _ := io.ReadAll(a.Stdin) // what cannot be read is no prompt
		prompt = string(text)
	}
	if strings.TrimSpace(prompt) == "" {
		fmt.Fprintln(a.Stderr, "Error: no input. Provide a prompt to continue")
		return 1
	}
	ctx, stop := context.WithCancelCause(a.alive)
	defer stop(nil)
	p := &printer{agent: a, b: a.behave(), started: time.Now()}
	signals := a.Signals(syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig != syscall.SIGTERM || !p.b.has("ignore-term") {
					stop(errTerminated)
				}
			case <-ctx.Done():
				return
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

// session is what lies between start and SessionEnd.
func (p *printer) session(ctx context.Context, prompt string) int {
	source := p.opt.source()
	p.hook(ctx, "SessionStart", source, p.hooks().SessionStart(source, p.transcript.used()))
	p.newPromptID()
	if p.opt.name != "" {
		p.line(fields{"type": "system", "subtype": "session_title_changed", "title": p.opt.name})
	}
	p.line(fields{
		"type": "system", "subtype": "init", "cwd": p.cwd, "model": p.opt.model, "permissionMode": p.opt.permissionMode,
		"tools": []string{"Bash", "Edit", "Read", "Write"}, "mcp_servers": []string{}, "claude_code_version": version,
	})
	asked := p.hook(ctx, "UserPromptSubmit", "", p.hooks().UserPromptSubmit(prompt))
	if asked.block { // measured: a success
		return p.result("UserPromptSubmit operation blocked by hook:\n"+asked.reason+"\n\nOriginal prompt: "+prompt, nil)
	}
	if err := p.wait(ctx); err != nil {
		return 1
	}
	if p.b.has("fork-error") {
		return p.fail()
	}
	if p.b.has("fork-tool") {
		p.tool(ctx)
	}
	last := p.answerTo(prompt)
	p.hook(ctx, "Stop", "", p.hooks().Stop(false, last, nil))
	if ctx.Err() != nil {
		return 1
	}
	return p.result(last, nil)
}

// wait is the time until the answer begins.
func (p *printer) wait(ctx context.Context) error {
	if p.b.has("fork-hang") {
		if err := p.leaveTrace(); err != nil {
			return err
		}
		if p.b["fork-hang"] == "" {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return sleep(ctx, p.b.duration("think", thinkTime)+p.b.duration("fork-hang", 0))
}

// answerTo prints the answer to a prompt and returns its last block.
func (p *printer) answerTo(prompt string) string {
	p.turns++
	answer := p.answer(prompt)
	if d := p.opt.directives(prompt); d.say != "" {
		answer = d.say
	} else if actor.AsksToHandOver(prompt) {
		p.memory.Decisions = append(p.memory.Decisions, d.decisions...)
		answer = p.document(p.b, actor.FurtherHeadings(prompt))
	}
	if p.b.has("fork-empty") || answer == "" {
		// Measured: it asks once more by itself.
		p.line(fields{"type": "user", "isSynthetic": true, "message": fields{"role": "user", "content": nothingToSee}})
		return ""
	}
	blocks := []string{answer}
	if at := strings.LastIndex(answer, "\n## "); p.b.has("fork-blocks") && at > 0 {
		blocks = []string{answer[:at], answer[at+1:]}
	}
	id := newMessageID()
	for _, text := range blocks {
		p.assistant(id, fields{"type": "text", "text": text})
	}
	return blocks[len(blocks)-1]
}

// tool calls a tool before the answer, in a message of its own, if the hooks let it.
func (p *printer) tool(ctx context.Context) {
	p.turns++
	const file = "fork-tool-ran"
	message, call := newMessageID(), "toolu_"+strings.ReplaceAll(uuid.NewString(), "-", "")[:22]
	path := p.cwd + "/" + file
	input := fields{"file_path": path, "content": "The tool ran.\n"}
	p.assistant(message, fields{"type": "text", "text": "I shall note something first."})
	p.assistant(message, fields{"type": "tool_use", "id": call, "name": "Write", "input": input})
	about := fields{"tool_name": "Write", "tool_input": input, "tool_use_id": call}
	pre := p.hook(ctx, "PreToolUse", "Write", p.hooks().Tool("Write", input, fields{"tool_use_id": call}))
	result := toolResult(call, "File created successfully at: "+path, false)
	if pre.deny {
		p.denied = append(p.denied, about)
		p.line(fields{"type": "system", "subtype": "permission_denied", "tool_name": "Write", "tool_use_id": call})
		result = toolResult(call, refusal("Write", pre), true)
	} else if err := p.writeFile(path, "The tool ran.\n"); err != nil {
		result = toolResult(call, err.Error(), true)
	}
	p.line(fields{"type": "user", "message": fields{"role": "user", "content": []fields{result}}, "parent_tool_use_id": nil})
}

// fail is an answer that the API refuses to give.
func (p *printer) fail() int {
	const text = "API Error: 529 overloaded"
	p.turns++
	p.line(fields{"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 1, "error_status": 529, "error": "overloaded"})
	p.line(fields{
		"type": "assistant", "is_api_error_message": true, "error": "overloaded", "parent_tool_use_id": nil,
		"message": message(newMessageID(), synthetic, fields{"type": "text", "text": text}, "stop_sequence", usage{}),
	})
	return p.result(text, fields{
		"is_error": true, "api_error_status": 529, "api_error_type": "overloaded_error", "terminal_reason": "api_error",
	})
}

// assistant is one block of an answer. Measured: stop_reason is always null here.
func (p *printer) assistant(id string, block fields) {
	output := 20
	if text, ok := block["text"].(string); ok {
		output = len(text)/4 + 1
	}
	used := p.transcript.bill(output)
	p.line(fields{
		"type": "assistant", "message": message(id, p.opt.model, block, nil, used), "parent_tool_use_id": nil,
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

// result is the last thing printed, the exit status with it. The text is that of the last block alone.
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
		panic(fmt.Sprintf("line of the output: %v", err)) // only our own plain values are in it
	}
	fmt.Fprintf(out, "%s\n", text)
}

// printMissing is the answer about a session that is not there.
func printMissing(opt options, id errNoConversation, stdout, stderr io.Writer) int {
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
