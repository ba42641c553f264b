package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// pressing calls do with the first key that is pressed after the exit command was pasted, and has it take as long as do
// says.
func (p *person) pressing(do func() time.Duration) {
	pasted := false
	p.delayFirst(func(c *call) bool {
		pasted = pasted || strings.HasPrefix(c.what, "Paste ") && strings.Contains(c.what, "/exit")
		return pasted && strings.HasPrefix(c.what, "Press ")
	}, do)
}

// TestExitCommandTypedLate: an agent has all its time to exit, also if the machine took its own to type the command.
func TestExitCommandTypedLate(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.exit = 4 * time.Second
		p.pressing(func() time.Duration { return settings().Handoff.ExitTimeout })
		p.request(h, a, daemon.Completed)
		if slices.ContainsFunc(p.w.trace.lines, func(l line) bool { return strings.HasPrefix(l.what, "Signal ") }) {
			t.Error("its process was ended, and it was about to exit")
		}
	})
}

// TestPromptBehindExit: what somebody types behind the exit command, before Enter is pressed for that, makes a prompt of
// it. Its turn is not ended, also if the prompt's hook comes after all the time that an agent has to exit.
func TestPromptBehindExit(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = 20 * time.Second
		p.pressing(func() time.Duration {
			a.frozen = time.Now().Add(time.Second)
			a.person("one more thing")
			p.delayFirst(func(c *call) bool { return c.what == "connects" && strings.Contains(c.own.name, "UserPromptSubmit") },
				func() time.Duration { return settings().Handoff.ExitTimeout })
			return 0
		})
		p.request(h, a, daemon.ShuttingDown)
		p.asked(a, time.Minute)
		p.goOn(a)
	})
}

// TestEnterAfterKills: daemons that end one after the other before they press Enter do not use up the Enters of a text.
func TestEnterAfterKills(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		kills := 0
		p.w.inject = func(c *call) fault {
			if kills == maxKills || !strings.HasPrefix(c.what, "Press ") {
				return none
			}
			kills++
			return crashBefore
		}
		p.request(h, a, daemon.Completed)
		if kills < maxKills {
			t.Errorf("%d daemons were killed", kills)
		}
	})
}

// maxKills is how many daemons are killed before an Enter: as many as Enter is pressed for a text.
const maxKills = 3
