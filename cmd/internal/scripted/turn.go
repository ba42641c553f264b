package scripted

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// origin says who sent a prompt, and when.
type origin int

const (
	typed  origin = iota
	queued        // typed while another turn ran; its UserPromptSubmit has been sent
)

// blockCap is the number of consecutive blocks by Stop hooks after which the turn ends in spite of the last block.
const blockCap = 9

// turn runs one prompt: UserPromptSubmit, the answer, and Stop. As long as a hook blocks Stop, the turn goes on with
// another answer.
func (a *Agent) turn(ctx context.Context, prompt string, from origin) {
	a.begin()
	a.newPromptID()
	a.status(func(e *registryEntry) { e.Status = "busy" })
	stopSpinner := spin(a)
	defer stopSpinner()
	a.screen.print(actor.BlockUser, prompt)
	if from != queued && !a.submitted(ctx, prompt) {
		return
	}
	if ctx.Err() != nil && from != queued {
		returnPrompt(a, prompt)
		return
	}
	if ctx.Err() != nil {
		a.interrupted()
		return
	}
	recordSystemPrompt(a)
	recordTitle(a)
	a.recordPrompt(prompt, from)
	for blocks := 0; ; {
		answer, err := a.answer(ctx, prompt)
		if ctx.Err() != nil {
			a.interrupted()
			return
		}
		if refused, ok := errors.AsType[*APIError](err); ok {
			failTurn(ctx, a, refused)
			return
		}
		a.say(answer)
		feedback := stopHooks(ctx, a, blocks > 0, answer)
		if ctx.Err() != nil {
			a.interrupted()
			return
		}
		if feedback == "" {
			return
		}
		if blocks++; blocks >= blockCap {
			a.screen.print(actor.BlockError, "Stop hook blocked 9 times in a row and was overridden")
			return
		}
		a.recordUser(feedback, fields{"isMeta": true})
		prompt = feedback
		a.begin()
	}
}

// submitted sends UserPromptSubmit. It returns false if a hook refuses the prompt. The transcript gets the hook's reason. A
// refused command is dropped; any other refused prompt returns to the composer.
func (a *Agent) submitted(ctx context.Context, prompt string) bool {
	answered := make(chan hookAnswer, 1)
	a.wg.Go(func() { answered <- a.hook(ctx, "UserPromptSubmit", "", a.hooks().UserPromptSubmit(prompt)) })
	var answer hookAnswer
	select {
	case answer = <-answered:
	case <-ctx.Done(): // measured: after Esc the agent is idle at once, and its hook has 1.4 s to end
		return true
	}
	if answer.block {
		original := "Original prompt: " + prompt
		if answer.suppress {
			original = ""
		}
		a.screen.print(actor.BlockError, join("UserPromptSubmit operation blocked by hook: "+answer.reason, original))
		if !slash().MatchString(prompt) {
			returnPrompt(a, prompt)
		}
		a.record("system", fields{
			"subtype": "informational", "level": "warning", "preventContinuation": true, "isMeta": false,
			"content":            strings.TrimSpace("UserPromptSubmit operation blocked by hook:\n" + answer.reason + "\n\n" + original),
			"promptSubmitEnding": fields{"ending": fields{"kind": "blocked_by_hook", "reason": answer.reason}, "promptKept": false},
		})
		return false
	}
	recordContext(a, "UserPromptSubmit", answer.context)
	return true
}

// returnPrompt puts a prompt that did not begin a turn back into the composer. Measured: so does Esc while the hooks of
// UserPromptSubmit run, and nothing is recorded.
func returnPrompt(a *Agent, prompt string) {
	select {
	case a.giveBack <- prompt:
	case <-a.life.Done():
	}
}

// stopHooks sends Stop and returns the text with which the turn goes on. If it returns "", the turn ends.
func stopHooks(ctx context.Context, a *Agent, active bool, last string) string {
	got := a.hook(ctx, "Stop", "", a.hooks().Stop(active, last, nil))
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

// failTurn ends a turn whose request the API has refused.
func failTurn(ctx context.Context, a *Agent, refused *APIError) {
	a.screen.print(actor.BlockError, refused.Message)
	recordTrouble(a, refused)
	a.hook(ctx, "StopFailure", refused.Kind, a.hooks().StopFailure(refused.Kind, refused.Message))
}

// interrupted shows and records that Esc ended the turn. It sends no hook. If the process is ending, it does nothing.
func (a *Agent) interrupted() {
	if a.life.Err() != nil {
		return
	}
	a.screen.print(actor.BlockError, "Interrupted · what should the agent do instead?")
	a.recordUser([]fields{{"type": "text", "text": "[Request interrupted by user]"}}, nil)
}

// say shows and records the answer.
func (a *Agent) say(answer string) {
	a.screen.print(actor.BlockAnswer, answer)
	a.recordAssistant(newMessageID(), fields{"type": "text", "text": answer}, "end_turn")
}

// spin shows that the agent works, until the returned function is called.
func spin(a *Agent) (stop func()) {
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
