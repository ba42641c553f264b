package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// printAnswer is -p: one prompt, one answer on stdout, with the hooks of a short session. It writes no
// transcript and no registry file. Asked for a handoff, it answers with the document's text.
func (a *agent) printAnswer(stdin, stdout *os.File) int {
	ctx := context.Background()
	prompt := a.opt.prompt
	if prompt == "" {
		text, _ := io.ReadAll(stdin)
		prompt = string(text)
	}
	source := "startup"
	if a.opt.resume != "" {
		source = "resume"
		if a.opt.fork {
			source = "fork"
		}
	}
	b := a.behave()
	a.hook(ctx, "SessionStart", source, fields{"source": source, "model": a.opt.model})
	a.newPromptID()
	a.hook(ctx, "UserPromptSubmit", "", fields{"prompt": prompt, "permission_mode": a.opt.permissionMode})
	_ = sleep(ctx, b.duration("think", thinkTime))
	answer := a.answer(prompt)
	if d := parseDirectives(prompt); d.say != "" {
		answer = d.say
	} else if handoffWord.MatchString(prompt) {
		answer = a.document(b)
	}
	a.hook(ctx, "Stop", "", a.stopFields(fields{
		"stop_hook_active": false, "last_assistant_message": answer, "permission_mode": a.opt.permissionMode,
	}))
	a.hook(ctx, "SessionEnd", "other", fields{"reason": "other"})
	if a.opt.outputFormat != "json" {
		fmt.Fprintln(stdout, strings.TrimRight(answer, "\n"))
		return 0
	}
	id, _ := a.ids()
	text, err := json.Marshal(fields{
		"type": "result", "subtype": "success", "is_error": false, "result": answer, "session_id": id,
		"num_turns": 1, "total_cost_usd": 0, "permission_denials": []string{},
		"usage": fields{"input_tokens": baseTokens, "output_tokens": len(answer)/4 + 1},
	})
	if err != nil {
		return 1
	}
	fmt.Fprintf(stdout, "%s\n", text)
	return 0
}
