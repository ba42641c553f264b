package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/hooks/hookstest"
	"github.com/understudyd/understudy/tmux"
)

// TestConformance: every runtime meets in one world each row of conformance that its Can promises. The seeds meet the rows
// with faults and by chance; TestSeeds prints how often.
func TestConformance(t *testing.T) {
	for _, name := range cliNames {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			p.meetRows(h, name)
			agents, _ := p.w.rows()
			p.w.coverStored(agents, log(p.w))
			for _, c := range conformance {
				if c.promised != nil && !c.promised(&clis[name].rt.Can) {
					continue
				}
				if p.w.covered[cell{name, c.row}] == 0 {
					t.Errorf("%s does not meet %q", name, c.row)
				}
			}
		})
	}
}

// meetRows has agents of a runtime meet the rows, one after the other.
func (p *person) meetRows(h *host, name string) {
	a := agentOn(p, h, name)
	a.mood.think = 5 * time.Second
	rest := func() {
		p.await("rest", 2*time.Minute, func() bool { row := p.row(a); return row.AtRest() && !a.busy() && a.dialog == nil })
	}
	give := func(text string) {
		message(p, h, a, text)
		p.await("the text "+text, 2*time.Minute, func() bool { return a.was(text) })
	}
	give("while idle")
	rest()
	a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works long", 10*time.Second, 11*time.Second) }
	message(p, h, a, "a long turn")
	p.poll("the turn", func() bool { return a.stop != nil })
	give("while busy")
	rest()

	a.extra = a.permission
	message(p, h, a, "that asks")
	p.poll("the dialog", func() bool { return a.dialog != nil })
	message(p, h, a, "behind the dialog")
	p.wait("reads the dialog", 12*time.Second, 12*time.Second)
	a.person("", tmux.Enter)
	p.await("the text behind the dialog", 2*time.Minute, func() bool { return a.was("behind the dialog") })
	rest()

	a.person("half a thought ")
	p.poll("the draft", func() bool { return a.composer.Text != "" })
	message(p, h, a, "beside the draft")
	p.wait("looks away", 5*time.Second, 5*time.Second)
	if a.draftBlocks() {
		a.person("", tmux.CtrlU)
	}
	p.await("the text beside the draft", 2*time.Minute, func() bool { return a.was("beside the draft") })
	rest()

	a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works long", time.Hour, time.Hour) }
	give("to be interrupted")
	p.wait("reads", 3*time.Second, 3*time.Second)
	a.person("", tmux.Escape)
	p.poll("the end of the turn", func() bool { return a.stop == nil })
	a.extra = nil // the turn may have been interrupted before it
	rest()
	give("after the interrupt")
	rest()

	a.failing = true
	give("that fails")
	rest()
	a.failing = false
	give("after the failure")
	rest()
	p.meetEnds(h, a)
}

// meetEnds has an agent hit a limit, be copied, exit, be opened again, and be killed.
func (p *person) meetEnds(h *host, a *agent) {
	name, can := a.cli.rt.Name, &a.cli.rt.Can
	if can.QuietAfter == 0 {
		hits(a, time.Minute)
		message(p, h, a, "that hits a limit")
		p.await("the limit", 2*time.Minute, func() bool { return p.row(a).State == daemon.Limited })
		a.limits = nil
		message(p, h, a, "after the limit")
		p.await("the end of the limit", 2*time.Minute, func() bool { return p.row(a).State == daemon.Idle && p.row(a).Limit == nil })
	}
	if can.Copies() {
		p.requestHandoff(h, a, daemon.ModeGenerate)
		done := p.reach(a, daemon.Completed)
		if a = p.w.process(*done.SuccessorID); a == nil {
			return
		}
	}
	p.stop(h, a.id, false)
	p.await("its end", 2*time.Minute, func() bool { return a.dead })
	var next *agent
	if can.QuietAfter == 0 {
		p.await("its row", time.Minute, func() bool { row := p.row(a); return !row.Active() })
		next = awaitIdle(p, p.reopen(h, a.id).ID)
	} else {
		next = agentOn(p, h, name)
	}
	if next == nil {
		p.w.fail("%s was not opened again", name)
		return
	}
	next.signal(syscall.SIGKILL)
	p.await("the end of the killed agent", time.Minute, func() bool { row := p.row(next); return !row.Active() })
}

// was reports whether the agent's model was given a text.
func (a *agent) was(text string) bool {
	for _, given := range a.given {
		if given == text || len(given) > len(text) && given[len(given)-len(text):] == text {
			return true
		}
	}
	return false
}

// conformance are the things that every runtime is asked for, and which runtimes promise them; nil: all do.
var conformance = []struct {
	row      string
	promised func(can *runtimes.Can) bool
}{
	{"launch", nil}, {"text while idle", nil}, {"text while busy", nil}, {"text beside a draft", nil}, {"text behind a dialog", nil},
	{"end of a turn", nil}, {"text after an interrupt", nil},
	{"error of the API", func(can *runtimes.Can) bool { return can.QuietAfter == 0 }},
	{"usage limit", func(can *runtimes.Can) bool { return can.QuietAfter == 0 }},
	{"document of a copy", (*runtimes.Can).Copies},
	{"resume", func(can *runtimes.Can) bool { return can.QuietAfter == 0 }},
	{"exit", nil}, {"kill", nil},
}

// cell is a row of conformance on one runtime.
type cell struct{ runtime, row string }

// cover notes that a runtime has met a row of conformance.
func (w *world) cover(runtime, row string) {
	if rt, err := catalog.For(runtime); err == nil {
		runtime = rt.Name // the runtime may be named with an account
	}
	w.covered[cell{runtime, row}]++
}

// noteQueued notes in which state an agent was when a text was queued for it.
func (w *world) noteQueued(c *daemon.Change) {
	for _, d := range c.NewDeliveries {
		a := w.process(d.AgentID)
		if a == nil {
			continue
		}
		switch {
		case a.dialog != nil:
			a.queuedAs[d.ID] = "text behind a dialog"
		case a.composer.Text != "":
			a.queuedAs[d.ID] = "text beside a draft"
		case a.stop != nil:
			a.queuedAs[d.ID] = "text while busy"
		default:
			a.queuedAs[d.ID] = "text while idle"
		}
	}
}

// coverTaken notes that the model was given a delivery's text.
func (w *world) coverTaken(a *agent, id int64) {
	if row := a.queuedAs[id]; row != "" {
		w.cover(a.cli.rt.Name, row)
	}
	if a.cut {
		a.cut = false
		w.cover(a.cli.rt.Name, "text after an interrupt")
	}
}

// coverStored notes what the stored rows show at the end.
func (w *world) coverStored(agents []daemon.Agent, events []event.Event) {
	of := map[int64]string{}
	for a := range each(agents) {
		of[a.ID] = a.Runtime
		if a.LastStop > 0 {
			w.cover(a.Runtime, "end of a turn")
		}
		if a.Resume != "" && a.RegisteredAt != nil {
			w.cover(a.Runtime, "resume")
		}
	}
	for e := range each(events) {
		switch {
		case e.AgentID == nil:
		case e.Type == event.AgentTrouble:
			w.cover(of[*e.AgentID], "error of the API")
		case e.Type == event.AgentLimited:
			w.cover(of[*e.AgentID], "usage limit")
		}
	}
}

// table returns how often each runtime has met each row, in brackets where it does not promise that.
func table(covered map[cell]int) string {
	var b strings.Builder
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "\t%s\n", strings.Join(cliNames, "\t"))
	for _, c := range conformance {
		fmt.Fprint(tab, c.row)
		for _, name := range cliNames {
			n, promised := covered[cell{name, c.row}], c.promised == nil || c.promised(&clis[name].rt.Can)
			if promised {
				fmt.Fprintf(tab, "\t%d", n)
			} else {
				fmt.Fprintf(tab, "\t(%d)", n)
			}
		}
		fmt.Fprintln(tab)
	}
	_ = tab.Flush() // a strings.Builder takes everything
	return b.String()
}

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
