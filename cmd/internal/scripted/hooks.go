package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// fields are the members of a hook payload, or of a line of the transcript.
type fields = actor.Fields

// hookAnswer holds the answers of all hooks of one event, merged into one.
type hookAnswer struct {
	block    bool     // "decision":"block", or exit 2
	reason   string   // the reason of the block
	context  string   // additionalContext, or plain text for SessionStart and UserPromptSubmit
	allow    bool     // PermissionRequest allow, PreToolUse allow
	deny     bool     // PermissionRequest deny, PreToolUse deny
	suppress bool     // suppressOriginalPrompt
	failures []string // shown on the screen
}

// hookOutput is the JSON that a hook may print.
type hookOutput struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		SuppressOriginalPrompt   bool   `json:"suppressOriginalPrompt"`
		AdditionalContext        string `json:"additionalContext"`
		PermissionDecision       string `json:"permissionDecision"`
		PermissionDecisionReason string `json:"permissionDecisionReason"`
		Decision                 struct {
			Behavior string `json:"behavior"`
			Message  string `json:"message"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// hook sends one event: it runs all hooks of the event at once and waits for them. It compares the hooks' matchers with
// subject. If a hook fails, the screen shows that, as in Claude Code, and the hook has no answer.
func (a *Agent) hook(ctx context.Context, event, subject string, more fields) hookAnswer {
	hooks := a.settings.matching(event, subject)
	if len(hooks) == 0 || a.alive.Err() != nil {
		return hookAnswer{}
	}
	payload, env := a.payload(event, more), hookEnv(a)
	answers := make([]hookAnswer, len(hooks))
	var wg sync.WaitGroup
	for i, hook := range hooks {
		wg.Go(func() { answers[i] = a.runHook(ctx, event, hook, payload, env) })
	}
	wg.Wait()
	var all hookAnswer
	for _, one := range answers {
		all.block = all.block || one.block
		all.allow = all.allow || one.allow
		all.deny = all.deny || one.deny
		all.suppress = all.suppress || one.suppress
		all.reason = join(all.reason, one.reason)
		all.context = join(all.context, one.context)
		all.failures = append(all.failures, one.failures...)
	}
	if ctx.Err() == nil && a.screen != nil {
		for _, failure := range all.failures {
			a.screen.print(actor.BlockError, failure)
		}
	}
	return all
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// payload returns the JSON for a hook's standard input.
func (a *Agent) payload(event string, more fields) []byte {
	id, promptID := a.ids()
	text, err := json.Marshal(actor.Payload(event, id, transcriptPath(a, id), a.Dir, promptID, more))
	if err != nil {
		panic(fmt.Sprintf("hook payload of %s: %v", event, err)) // the payload holds only plain values of this package
	}
	return text
}

// hooks returns the maker of the payloads.
func (a *Agent) hooks() actor.Hooks {
	return actor.Hooks{Name: a.opt.Name, Model: a.opt.model, Mode: a.opt.permissionMode}
}

// hookEnv returns the agent's environment with the variables that Claude Code adds.
func hookEnv(a *Agent) []string {
	id, _ := a.ids()
	entrypoint := "cli"
	var attended []string
	if a.opt.Print {
		entrypoint, attended = "sdk-cli", []string{"CLAUDE_CODE_SESSION_ATTENDED=0"}
	}
	env := append([]string(nil), a.Environ...)
	for name, value := range a.settings.Env {
		env = append(env, name+"="+value)
	}
	env = append(env, attended...)
	return append(env,
		"CLAUDE_PID="+strconv.Itoa(a.PID),
		"CLAUDE_PROJECT_DIR="+a.Dir,
		"CLAUDE_CODE_SESSION_ID="+id,
		"CLAUDE_CODE_ENTRYPOINT="+entrypoint)
}

// timeout returns how long a hook of an event may run: the time that the settings give or, by default, 600 s. SessionEnd
// and UserPromptSubmit have other limits, which were measured.
func (h hookDef) timeout(event string) time.Duration {
	given := time.Duration(h.Timeout * float64(time.Second))
	switch {
	case event == "SessionEnd" && given > 0:
		return min(given, time.Minute)
	case event == "SessionEnd":
		return 1500 * time.Millisecond
	case given > 0:
		return given
	case event == "UserPromptSubmit":
		return 30 * time.Second
	}
	return 10 * time.Minute
}

// runHook runs one command hook and reads its answer.
func (a *Agent) runHook(ctx context.Context, event string, hook hookDef, payload []byte, env []string) hookAnswer {
	ctx, cancel := context.WithTimeout(ctx, hook.timeout(event))
	defer cancel()
	argv := []string{"sh", "-c", hook.Command}
	if hook.Args != nil {
		argv = append([]string{hook.Command}, hook.Args...)
	}
	got := a.Run(ctx, Command{Argv: argv, Environ: env, Stdin: payload})
	if ctx.Err() != nil {
		return hookAnswer{failures: []string{event + " hook cancelled or timed out"}}
	}
	problem := strings.TrimSpace(string(got.Stderr))
	if got.Code == 2 {
		return hookAnswer{block: true, deny: event == "PreToolUse", reason: problem}
	}
	if got.Code != 0 {
		return hookAnswer{failures: []string{fmt.Sprintf("%s hook failed: %v %s", event, got.Err, problem)}}
	}
	return readAnswer(event, strings.TrimSpace(string(got.Stdout)))
}

func readAnswer(event, text string) hookAnswer {
	var out hookOutput
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &out) != nil {
		if event == "SessionStart" || event == "UserPromptSubmit" {
			return hookAnswer{context: text}
		}
		return hookAnswer{}
	}
	verdict := out.Specific.PermissionDecision + out.Specific.Decision.Behavior
	return hookAnswer{
		block:   out.Decision == "block",
		reason:  out.Reason + out.Specific.PermissionDecisionReason + out.Specific.Decision.Message,
		context: out.Specific.AdditionalContext,
		allow:   verdict == "allow",
		deny:    verdict == "deny",

		suppress: out.Specific.SuppressOriginalPrompt,
	}
}
