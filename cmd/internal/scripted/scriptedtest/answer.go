package scriptedtest

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

// notAllowed is the answer after a hook or a person has refused a tool call.
const notAllowed = "I was not allowed to do that."

// failures are the API's errors, by the value of api-error.
var failures = map[string]scripted.APIError{
	"":                      {Kind: "rate_limit", Status: 429, Message: "API Error: 429 rate_limit_error: this request would exceed your rate limit"},
	"rate_limit":            {Kind: "rate_limit", Status: 429, Message: "API Error: Request rejected (429)"},
	"usage_limit":           {Kind: "rate_limit", Status: 429, Message: "You've hit your 5-hour limit · resets 7:08am (UTC)"},
	"authentication_failed": {Kind: "authentication_failed", Status: 401, Message: "Please run /login · API Error: 401 Invalid bearer token"},
	"overloaded":            {Kind: "overloaded", Status: 529, Message: "API Error: 529 overloaded"},
	"unknown":               {Kind: "unknown", Status: 400, Message: "API Error: 400 The request is malformed"},
}

// answer plays the model's part of a turn.
func (s *script) answer(ctx context.Context, a *scripted.Agent, prompt string) (scripted.Answer, error) {
	b, d := s.inTurn(), readDirectives(prompt)
	if s.opt.Print {
		return s.printed(ctx, a, b, d, prompt)
	}
	if b.has("child-hooks") {
		if err := s.childHooks(ctx); err != nil {
			a.Print(actor.BlockError, "child: "+err.Error())
		}
	}
	text, err := s.act(ctx, a, b, d, prompt)
	switch {
	case err != nil:
		return scripted.Answer{}, err
	case b.has("usage-limit"):
		return scripted.Answer{}, usageLimit(b)
	case b.has("api-error"):
		refused := failures[b["api-error"]]
		return scripted.Answer{}, &refused
	}
	return scripted.Answer{Blocks: []string{text}}, nil
}

// usageLimit is the refusal of a request because of a usage limit.
func usageLimit(b behaviours) error {
	reset := time.Now().Add(b.duration("usage-limit", time.Hour)).UTC()
	return &scripted.APIError{Kind: "rate_limit", Status: 429, Message: "You've hit your 5-hour limit · resets " + reset.Format("Jan 2, 3:04pm") + " (UTC)"}
}

// act follows the directives of a prompt. For the rest of the prompt it answers as the agent does without a script.
func (s *script) act(ctx context.Context, a *scripted.Agent, b behaviours, d directives, prompt string) (string, error) {
	if d.tokens > 0 {
		a.SetContext(d.tokens)
	}
	if d.compact {
		a.AutoCompact(ctx)
	}
	if err := s.think(ctx, b, d.busy); err != nil {
		return "", err
	}
	if d.background {
		if err := a.Use(ctx, s.backgroundTool(a, d.hold)); err != nil {
			return notAllowed, nil
		}
	} else if d.hold != "" {
		if err := waitForFile(ctx, d.hold); err != nil {
			return "", err
		}
	}
	if d.ask {
		if err := a.Use(ctx, askTool()); err != nil {
			return notAllowed, nil
		}
	}
	for _, file := range d.edits {
		if err := a.Use(ctx, editTool(a, file)); err == nil { // otherwise the transcript holds the reason
			a.Memory.Edited = append(a.Memory.Edited, file)
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	a.Memory.Decisions = append(a.Memory.Decisions, d.decisions...)
	task := actor.Understand(prompt).Kind
	switch {
	case d.answers():
	case strings.HasPrefix(prompt, taskMark):
		return "The background task has finished.", nil
	case task != actor.SomethingElse || len(d.edits) == 0:
		return a.Reply(ctx, prompt)
	}
	a.Memory.Prompts = append(a.Memory.Prompts, prompt)
	switch {
	case d.say != "":
		return d.say, nil
	case d.report:
		return a.Report(prompt), nil
	}
	return "Edited " + strings.Join(d.edits, ", ") + ".", nil
}

// recall adds a prompt of an earlier session to the memory, as act did when it got the prompt.
func (s *script) recall(m *actor.Memory, prompt string) bool {
	d := readDirectives(prompt)
	m.Decisions = append(m.Decisions, d.decisions...)
	m.Edited = append(m.Edited, d.edits...)
	if d.answers() {
		m.Prompts = append(m.Prompts, prompt)
	}
	return d.answers() || strings.HasPrefix(prompt, taskMark)
}

// think waits for the model's time and for busy. If a test takes the misbehaviour think back, the wait ends.
func (s *script) think(ctx context.Context, b behaviours, busy time.Duration) error {
	if !b.has("think") {
		return sleep(ctx, scripted.ThinkTime+busy)
	}
	const look = 20 * time.Millisecond
	for left := b.duration("think", scripted.ThinkTime) + busy; left > 0 && s.now().has("think"); left -= look {
		if err := sleep(ctx, min(left, look)); err != nil {
			return err
		}
	}
	return nil
}

// waitForFile returns when path exists. Without a path it returns when ctx ends.
func waitForFile(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); path != "" && err == nil {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
