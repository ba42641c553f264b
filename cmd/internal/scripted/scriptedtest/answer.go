package scriptedtest

import (
	"context"
	"os"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

// notAllowed is the answer after a hook or a person has refused a tool call.
const notAllowed = "I was not allowed to do that."

// answer plays the model's part of a turn.
func (s *script) answer(ctx context.Context, a *scripted.Agent, prompt string) (string, error) {
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
		return "", err
	case b.has("api-error"):
		return "", &scripted.APIError{Kind: "rate_limit", Status: 429, Message: "API Error: 429 rate_limit_error: this request would exceed your rate limit"}
	case b.has("malformed"):
		return "", &scripted.APIError{Kind: "unknown", Status: 400, Message: "API Error: 400 The request is malformed"}
	case b.has("usage-limit"):
		return "", usageLimit(b)
	}
	return text, nil
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
	if err := s.think(ctx, b); err != nil {
		return "", err
	}
	if d.hold != "" {
		if err := waitForFile(ctx, d.hold); err != nil {
			return "", err
		}
	}
	if d.ask {
		if err := a.Use(ctx, askTool()); err != nil {
			return notAllowed, nil
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	a.Memory.Decisions = append(a.Memory.Decisions, d.decisions...)
	switch {
	case b.has("no-document") && actor.Understand(prompt).Kind == actor.WriteHandoff:
		return "The handoff document is written.", nil
	case !d.answers():
		return a.Reply(ctx, prompt)
	}
	a.Memory.Prompts = append(a.Memory.Prompts, prompt)
	if d.say != "" {
		return d.say, nil
	}
	return a.Report(prompt), nil
}

// recall adds a prompt of an earlier session to the memory, as act did when it got the prompt.
func (s *script) recall(m *actor.Memory, prompt string) bool {
	d := readDirectives(prompt)
	m.Decisions = append(m.Decisions, d.decisions...)
	if d.answers() {
		m.Prompts = append(m.Prompts, prompt)
	}
	return d.answers()
}

// think waits for the model's time. If a test takes the misbehaviour think back, the wait ends.
func (s *script) think(ctx context.Context, b behaviours) error {
	if !b.has("think") {
		return sleep(ctx, scripted.ThinkTime)
	}
	const look = 20 * time.Millisecond
	for left := b.duration("think", scripted.ThinkTime); left > 0 && s.now().has("think"); left -= look {
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
