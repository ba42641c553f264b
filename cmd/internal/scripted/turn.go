package scripted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// origin says where a prompt came from.
type origin int

const (
	typed        origin = iota
	queued              // typed while another turn ran; its hook has been sent
	notification        // from the agent itself
)

const (
	thinkTime = 30 * time.Millisecond
	// blockCap is the Stop block in a row that is not obeyed any more.
	blockCap = 9
)

// errCrash ends the process in the middle of a turn.
var errCrash = errors.New("scripted crash")

// turn runs one prompt: UserPromptSubmit, the brain, Stop, and on for as long as Stop is blocked.
func (a *agent) turn(ctx context.Context, prompt string, from origin) {
	b := a.behave()
	a.newPromptID()
	a.status(func(e *registryEntry) { e.Status = "busy" })
	stopSpinner := a.spin()
	defer stopSpinner()
	a.screen.print(actor.BlockUser, prompt)
	if from != queued && !a.submitted(ctx, b, prompt) {
		return
	}
	if ctx.Err() != nil {
		a.interrupted()
		return
	}
	a.recordSystemPrompt()
	a.recordTitle()
	a.recordPrompt(prompt, from)
	for blocks := 0; ; {
		answer, err := a.act(ctx, b, prompt)
		if errors.Is(err, errCrash) {
			a.stop(quit{code: 1})
			<-ctx.Done()
			return
		}
		if ctx.Err() != nil {
			a.interrupted()
			return
		}
		if b.has("api-error") {
			a.failTurn(ctx, failures[b["api-error"]])
			return
		}
		if b.has("no-final-text") {
			answer = ""
		}
		last := a.say(b, answer)
		if b.has("no-stop") {
			return
		}
		feedback := a.stopHooks(ctx, b, blocks > 0, last)
		if ctx.Err() != nil {
			a.interrupted()
			return
		}
		if feedback == "" {
			break
		}
		if blocks++; blocks >= blockCap {
			a.screen.print(actor.BlockError, "Stop hook blocked 9 times in a row and was overridden")
			break
		}
		a.recordUser(feedback, fields{"isMeta": true})
		prompt, b = feedback, a.behave()
	}
	a.later(b, from)
}

// submitted sends UserPromptSubmit; false means that the prompt was refused. A plain one lies in the
// composer again then; a command is gone, and what the hook said stands in the transcript.
func (a *agent) submitted(ctx context.Context, b behaviours, prompt string) bool {
	if b.has("no-prompt-hook") {
		return true
	}
	answer := a.hook(ctx, "UserPromptSubmit", "", a.hooks().UserPromptSubmit(prompt))
	if answer.block {
		command := slash().MatchString(prompt)
		original := "Original prompt: " + prompt
		if answer.suppress || !command {
			original = ""
		}
		a.screen.print(actor.BlockError, join("UserPromptSubmit operation blocked by hook: "+answer.reason, original))
		if !command {
			select {
			case a.giveBack <- prompt:
			case <-a.life.Done():
			}
			return false
		}
		a.record("system", fields{
			"subtype": "informational", "level": "warning", "preventContinuation": true, "isMeta": false,
			"content": strings.TrimSpace("UserPromptSubmit operation blocked by hook:\n" + answer.reason + "\n\n" + original),
		})
		return false
	}
	a.recordContext("UserPromptSubmit", answer.context)
	return true
}

// stopHooks sends Stop and returns the text with which the turn goes on, "" at its end. Measured: of
// the answer the hook has the last block alone.
func (a *agent) stopHooks(ctx context.Context, b behaviours, active bool, last string) string {
	a.writeLate(b)
	if b.has("no-final-message") {
		last = ""
	}
	send := func() hookAnswer {
		return a.hook(ctx, "Stop", "", a.hooks().Stop(active, last, a.running()))
	}
	got := send()
	if b.has("stop-twice") {
		send()
	}
	switch {
	case got.block:
		a.screen.print(actor.BlockNote, "Stop hook reported a problem:\n"+got.reason)
		return "Stop hook feedback:\n" + got.reason
	case got.context != "":
		a.screen.print(actor.BlockNote, "Stop hook says:\n"+got.context)
		return "<system-reminder>Stop hook additional context: " + got.context + "</system-reminder>"
	}
	return ""
}

// running are the tasks in the background.
func (a *agent) running() []actor.Task {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tasks)
}

// failure is what a turn ends with when the API refuses its requests.
type failure struct {
	kind    string // the hook's error
	status  int
	message string
}

// failures are those that the value of api-error names.
var failures = map[string]failure{
	"":                      {"rate_limit", 429, "API Error: 429 rate_limit_error: this request would exceed your rate limit"},
	"rate_limit":            {"rate_limit", 429, "API Error: Request rejected (429)"},
	"usage_limit":           {"rate_limit", 429, "You've hit your 5-hour limit · resets 7:08am (UTC)"},
	"authentication_failed": {"authentication_failed", 401, "Please run /login · API Error: 401 Invalid bearer token"},
	"unknown":               {"unknown", 400, "API Error: 400 The request is malformed"},
}

// failTurn ends a turn as such a failure does.
func (a *agent) failTurn(ctx context.Context, f failure) {
	a.screen.print(actor.BlockError, f.message)
	a.recordTrouble(f.kind, f.status, f.message)
	a.hook(ctx, "StopFailure", f.kind, a.hooks().StopFailure(f.kind, f.message))
}

// interrupted is the end of a turn by Esc: on the screen and in the transcript, and in no hook. When
// the process ends, there is nothing to say.
func (a *agent) interrupted() {
	if a.life.Err() != nil {
		return
	}
	a.screen.print(actor.BlockError, "Interrupted · what should the agent do instead?")
	a.recordUser([]fields{{"type": "text", "text": "[Request interrupted by user]"}}, nil)
}

// nothingToSee is what Claude Code tells a model whose answer has no text, once, before it takes that
// for the answer.
const nothingToSee = "[Your previous response had no visible output. Please continue and produce a user-visible response.]"

// say shows and records the answer, and returns its last block.
func (a *agent) say(b behaviours, answer string) (last string) {
	if strings.TrimSpace(answer) == "" {
		a.recordUser(nothingToSee, fields{"isMeta": true})
		return ""
	}
	a.screen.print(actor.BlockAnswer, answer)
	blocks := []string{answer}
	if at := strings.LastIndex(answer, "\n## "); b.has("two-blocks") && at > 0 {
		blocks = []string{answer[:at], answer[at+1:]}
	}
	record := func() {
		id := newMessageID()
		for _, text := range blocks {
			a.recordAssistant(id, fields{"type": "text", "text": text}, "end_turn")
		}
	}
	if b.has("late-transcript") {
		a.wg.Go(func() {
			_ = sleep(a.life, b.duration("late-transcript", 200*time.Millisecond)) // at the session's end it is late enough
			record()
		})
	} else {
		record()
	}
	return blocks[len(blocks)-1]
}

// later arranges the turn that the agent begins by itself, if it is to misbehave so.
func (a *agent) later(b behaviours, from origin) {
	if !b.has("task-notification") || from == notification {
		return
	}
	a.wg.Go(func() {
		if sleep(a.life, b.duration("task-notification", 50*time.Millisecond)) == nil {
			a.notify("b00000000", "Scripted task")
		}
	})
}

// spin shows that the agent works, until the returned function is called.
func (a *agent) spin() (stop func()) {
	ctx, cancel := context.WithCancel(a.life)
	done := make(chan struct{})
	a.screen.setWorking("Thinking")
	go func() {
		defer close(done)
		for sleep(ctx, 120*time.Millisecond) == nil {
			a.screen.update(func() { a.screen.Beat++ })
		}
	}()
	return func() {
		cancel()
		<-done
		a.screen.setWorking("")
	}
}

// childHooks runs this program once more in print mode, as an agent runs `claude -p` by a shell tool:
// with the whole environment inherited and the same settings.
func (a *agent) childHooks(ctx context.Context) {
	argv := append([]string(nil), a.Self...)
	got := a.Run(ctx, Command{
		Argv:    append(argv, "-p", "--settings", a.opt.settings, "a question of the agent's own"),
		Environ: a.env.without("SCRIPTED_AGENT", "SCRIPTED_AGENT_FILE"), Group: true,
	})
	if got.Err != nil {
		a.screen.print(actor.BlockError, "child: "+got.Err.Error())
	}
}
