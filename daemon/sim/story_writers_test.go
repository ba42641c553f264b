package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestRetryBesideTheWriter: the document comes later than document_timeout, and somebody retries at once. The retry waits for the end of
// the turn that writes the document, and takes it: the agent is asked once.
func TestRetryBesideTheWriter(t *testing.T) {
	for name, slow := range map[string]func(p *person, a *agent, ctx context.Context) bool{
		"it writes for long": func(_ *person, a *agent, ctx context.Context) bool {
			return !a.doIn(ctx, "works long", 120*time.Second, 120*time.Second)
		},
		"it asks for a permission": func(p *person, a *agent, ctx context.Context) bool {
			p.w.employEndless("somebody", func(p *person) {
				p.wait("is away", 120*time.Second, 120*time.Second)
				a.person("", tmux.Enter)
			})
			return a.permission(ctx)
		},
	} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			p.w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
			a := p.agent(h)
			p.promptOnce(a)
			a.extra = func(ctx context.Context) bool { return slow(p, a, ctx) }
			p.request(h, a, daemon.Completed)
			a.askedOnce(t)
		})
	}
}

// askedOnce checks that the agent was asked for a document once.
func (a *agent) askedOnce(t *testing.T) {
	asked := 0
	for _, text := range a.given {
		if strings.Contains(text, "/handoffs/") {
			asked++
		}
	}
	equal(t, "the agent was asked for the document … times", asked, 1)
}

// TestRetryBesideAQueuedInstruction: a person's prompt comes before the instruction, which the runtime queues, and the API refuses that
// prompt. No hook tells that the runtime then takes the instruction off its queue, and somebody retries at once: the agent is asked once.
func TestRetryBesideAQueuedInstruction(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
		a := p.agent(h)
		p.promptOnce(a)
		beforeFirst(p.w, calls("Paste "), func() {
			a.failing = true
			a.person("one more thing", tmux.Enter)
			p.w.employEndless("chance", func(p *person) {
				p.poll("the API to refuse the prompt", func() bool { return p.row(a).TurnError != "" })
				a.failing = false
				a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works", 10*time.Second, 10*time.Second) }
			})
		})
		p.request(h, a, daemon.Completed)
		a.askedOnce(t)
	})
}

// TestGoOnIsTakenWithoutAHook: the hook of the prompt after a limit is lost. The transcript has the prompt, so nobody is asked about the
// limit. Every run checks that.
func TestGoOnIsTakenWithoutAHook(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.limits.OnLimit = daemon.LimitWait
		p.end(h)
		a := p.agent(h)
		text, lasts := a.cli.limited(a, 2*time.Minute)
		a.limits = append(a.limits, &limitHit{over: time.Now().Add(lasts), text: text})
		a.person("some work", tmux.Enter)
		p.await("the limit", time.Minute, func() bool { return p.row(a).State == daemon.Limited })
		p.loseHooks(hooks.UserPromptSubmit)
		a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works long", 20*time.Second, 20*time.Second) }
		p.await("the prompt", 15*time.Minute, func() bool { return p.w.goOns(a.id) == 1 && a.stop != nil })
		p.await("the end of the limit", time.Minute, func() bool { return p.row(a).State == daemon.Idle && p.row(a).Limit == nil })
	})
}
