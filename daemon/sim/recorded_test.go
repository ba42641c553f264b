package sim

import (
	"bytes"
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/hooks/hookstest"
	"github.com/understudyd/understudy/tmux"
)

// notPlayed are the scenes of the recording that an agent in memory does not play, with the reason.
var notPlayed = map[string]string{
	"tool":               "its tools send no hooks that the daemon asks for",
	"tool_fails":         "its tools send no hooks that the daemon asks for",
	"permission_refused": "the daemon sees the same as in permission_escaped",
	"queued_in_tool":     "it has no tools that take long",
	"prompt_refused":     "the daemon refuses only /handoff, and nobody types that here",
	"api_error":          "its API has only the error of rate_limit",
	"login_expired":      "its API has only the error of rate_limit",
	"compact":            "nobody types commands of the CLI here",
	"clear":              "nobody types commands of the CLI here",
	"resume_command":     "nobody types commands of the CLI here",
	"exit_with_task":     "except for the dialog it is background and exit",
	"idle":               "it sends no reminder of an idle composer",
	"fork":               "no agent is started by a fork",
	"fork_print":         "a one-shot in memory has no hooks",
}

// stage compares the hooks of one agent, and of those that resume its session, with the recording.
type stage struct {
	t      *testing.T
	p      *person
	a      *agent
	c      hookstest.Comparison
	from   int
	played map[string]bool // the scenes that were played on any stage
}

// scene plays a scene and compares its hooks with the recording, as far as the daemon asks for and reads them.
func (s *stage) scene(name string, play func()) {
	s.t.Helper()
	if s.a != nil {
		s.from = len(s.a.sent)
	}
	play()
	s.played[name] = true
	for _, wrong := range s.c.Scene(name, s.a.sent[s.from:]...) {
		s.t.Error(wrong)
	}
}

// until waits until the scene has had n hooks of an event, and a moment for their answers.
func (s *stage) until(event string, n int) {
	s.t.Helper()
	had := func() (had int) {
		for _, body := range s.a.sent[s.from:] {
			if bytes.Contains(body, []byte(`"hook_event_name":"`+event+`"`)) {
				had++
			}
		}
		return had
	}
	if !s.p.await(event, 5*time.Minute, func() bool { return had() >= n }) {
		s.t.Errorf("%s came %d times, want %d", event, had(), n)
	}
	s.p.wait("lets it be answered", time.Second, time.Second)
}

// turn has a person prompt the agent, and waits for that many Stops.
func (s *stage) turn(stops int) {
	s.a.person("look at the sheds", tmux.Enter)
	if stops > 0 {
		s.until(hooks.Stop, stops)
	}
}

// starts plays the scene of an agent's start. It sets the mode of the recording itself, because no hook reports the mode
// before the first prompt.
func (s *stage) starts(start func() *agent) {
	s.scene("start", func() { s.a = start(); s.until(hooks.SessionStart, 1) })
	s.a.mode = "default"
}

// TestHooksAreThoseOfTheCLI compares the hooks of agents in memory with a recording of the real CLI.
func TestHooksAreThoseOfTheCLI(t *testing.T) {
	recording := must(hookstest.Load())
	story(t, func(t *testing.T, p *person, h *host) {
		played := map[string]bool{}
		on := func() *stage {
			return &stage{t: t, p: p, played: played, c: hookstest.Comparison{Recording: recording, Daemon: true}}
		}
		managed := func() *agent { return p.agent(h) }
		playTurns(on(), managed)
		playBlocks(on(), managed)
		playEnds(on(), h, managed)
		s := on()
		s.starts(managed)
		s.scene("compact_refused", func() {
			s.a.extra = func(context.Context) bool { s.a.compact(); return true }
			s.turn(1)
		})
		s = on() // the daemon does not hand over an agent without a persona, so it may compact
		s.starts(h.ownAgent)
		s.scene("compact_auto", func() {
			s.a.extra = func(context.Context) bool { s.a.compact(); return true }
			s.turn(1)
		})
		for _, act := range hookstest.Acts() {
			if why := notPlayed[act.Name]; played[act.Name] == (why != "") {
				t.Errorf("scene %s: played: %v; reason why not: %q", act.Name, played[act.Name], why)
			}
		}
	})
}

// playTurns plays the scenes of turns, in which only the person at the pane interferes.
func playTurns(s *stage, start func() *agent) {
	s.starts(start)
	s.scene("turn", func() { s.turn(1) })
	s.scene("permission_granted", func() {
		s.a.extra = s.a.permission
		s.turn(0)
		s.until(hooks.Notification, 1)
		s.a.person("", tmux.Enter)
		s.until(hooks.Stop, 1)
	})
	turnEnds := func() { s.p.await("the end of the turn", time.Minute, func() bool { return s.a.status == "idle" }) }
	s.scene("permission_escaped", func() {
		s.a.extra = s.a.permission
		s.turn(0)
		s.until(hooks.PermissionRequest, 1)
		s.a.person("", tmux.Escape)
		turnEnds()
	})
	think := s.a.mood.think
	s.scene("interrupted", func() {
		s.a.mood.think = time.Hour
		s.turn(0)
		s.until(hooks.UserPromptSubmit, 1)
		s.a.person("", tmux.Escape)
		turnEnds()
		s.a.mood.think = think
	})
	s.scene("queued", func() {
		s.a.extra = func(ctx context.Context) bool { return !s.a.doIn(ctx, "takes long", time.Minute, time.Minute) }
		s.turn(0)
		s.until(hooks.UserPromptSubmit, 1)
		s.a.person("and at the barn", tmux.Enter)
		s.until(hooks.Stop, 2)
	})
	s.scene("rate_limit", func() {
		s.a.failing = true
		s.turn(0)
		s.until(hooks.StopFailure, 1)
		s.a.failing = false
	})
	s.scene("background", func() {
		s.a.extra = func(context.Context) bool { s.a.background(); return true }
		s.turn(2)
	})
}

// playBlocks plays the scene in which the daemon answers a Stop with an instruction.
func playBlocks(s *stage, start func() *agent) {
	s.starts(start)
	s.scene("stop_blocked", func() {
		s.a.extra = func(ctx context.Context) bool { return !s.a.doIn(ctx, "takes long", time.Minute, time.Minute) }
		s.turn(0)
		s.until(hooks.UserPromptSubmit, 1)
		s.p.request(s.a.h, s.a, daemon.ShuttingDown)
		s.a.sent = slices.DeleteFunc(slices.Clone(s.a.sent), func(body []byte) bool { // SessionEnd is another scene
			return bytes.Contains(body, []byte(hooks.SessionEnd))
		})
	})
}

// playEnds plays the scenes in which a session ends, and one in which it goes on in another process.
func playEnds(s *stage, h *host, start func() *agent) {
	s.starts(start)
	s.scene("turn", func() { s.turn(1) })
	s.scene("terminated", func() { s.a.signal(syscall.SIGTERM); s.until(hooks.SessionEnd, 1) })
	s.scene("resume", func() {
		next := s.p.reopen(h, s.a.id)
		s.p.await("its process", time.Minute, func() bool { return s.p.w.process(next.ID) != nil && s.p.w.process(next.ID).ready })
		s.a, s.from = s.p.w.process(next.ID), 0
	})
	s.scene("exit", func() {
		s.p.stop(h, s.a.id, false)
		s.until(hooks.SessionEnd, 1)
	})
}
