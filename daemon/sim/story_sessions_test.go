package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// launched returns the text with which an agent was launched.
func launched(p *person, a *agent) string { return argument(p, a, "--append-system-prompt-file") }

// argument returns the file that is an argument of an agent's command line.
func argument(p *person, a *agent, name string) string {
	argv := must(launchFile(a.file)).Argv
	i := slices.Index(argv, name)
	if i < 0 {
		p.w.fail("agent %d is launched by %q", a.id, argv)
		return ""
	}
	return mustRead(argv[i+1])
}

// successor returns the successor of an agent's handoff, once it is idle.
func successor(p *person, a *agent) *agent {
	next := p.w.process(*p.reach(a, daemon.Completed).SuccessorID)
	p.await("its first turn", time.Minute, func() bool { return p.row(next).State == daemon.Idle })
	return next
}

// TestRepeatedSessionStartsInjectNothingTwice: sessions begin again in the same pane. The daemon gives the agent nothing twice, and follows it
// through its session ids.
func TestRepeatedSessionStartsInjectNothingTwice(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.request(h, a, daemon.Completed)
		next := successor(p, a)
		first, given := next.session, len(next.given)
		begin := func(source, session string) {
			next.session = session
			next.register("idle")
			next.hook(hooks.SessionStart, next.hooks().SessionStart(source, contextTokens))
			p.await("the session after "+source, time.Minute, func() bool { return *p.row(next).SessionID == session })
			p.wait("looks on", 10*time.Second, 10*time.Second)
		}
		begin("compact", first)
		begin("clear", "0220771c-41d7-462a-90eb-109748196fb5")
		begin("resume", first)
		message(p, h, next, "carry on")
		p.await("the message", time.Minute, func() bool { return slices.Contains(next.given, "carry on") })
		if len(next.given) != given+1 {
			t.Errorf("it was given %q", next.given)
		}
		equal(t, "its session changed … times", events(p, event.AgentSessionChanged), 2)
		equal(t, "skills for 2 agents", events(p, event.AgentSkillInjected), 2)
	}))
}

// TestStepsOfAHandoff: the log has each step of a handoff, in order. Until the agent is asked to exit, it is given the instruction alone; in mode
// generate nothing, and its transcript stays as it was.
func TestStepsOfAHandoff(t *testing.T) {
	const end = "verifying created recorded shutting_down spawning awaiting_registration injecting_skill briefing completed"
	for mode, steps := range map[daemon.Mode]string{daemon.ModeAgent: "started instructing awaiting_document " + end, daemon.ModeGenerate: "started generating " + end} {
		storyAs(t, string(mode), withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			before := mustRead(a.transcript())
			p.requestHandoff(h, a, mode)
			done := p.reach(a, daemon.Completed)
			var got []string
			for _, e := range log(p.w) {
				step, ok := strings.CutPrefix(string(e.Type), "handoff_")
				if ok && step != "waiting" && step != "read" { // the successor reads meanwhile
					got = append(got, step)
				}
			}
			equal(t, "the steps were", strings.Join(got, " "), steps)
			list := deliveries(p.w, a.id)
			if after := mustRead(a.transcript()); mode == daemon.ModeGenerate && (len(list) != 1 || list[0].Kind != daemon.KindExit || after != before) {
				t.Errorf("it was given %+v, its transcript has grown by %q", list, strings.TrimPrefix(after, before))
			}
			if !strings.Contains(mustRead(done.FilePath), "## Next Agent Context") || done.RecordedAt == nil || done.Structured == nil {
				t.Errorf("handoff %+v", done)
			}
			names(t, "the injection prompt", *done.InjectionPrompt, done.FilePath, *done.ContextPath, done.Ref)
		}))
	}
}

// TestSuccessorsKnowThreeDocuments: a successor is launched with where the last three documents of its persona are, the newest first.
func TestSuccessorsKnowThreeDocuments(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		var documents []string
		for range 4 {
			p.request(h, a, daemon.Completed)
			next := successor(p, a)
			documents = append([]string{p.handoffs(a.id)[0].FilePath}, documents...)
			last := documents[:min(3, len(documents))]
			text := strings.TrimSpace(launched(p, next))
			if want := "\n\n- " + strings.Join(last, "\n- "); !strings.HasSuffix(text, want) || strings.Count(text, "/handoffs/") != len(last) {
				t.Errorf("the text of agent %d does not end with %q:\n%s", next.id, want, text)
			}
			a = next
		}
	}))
}

// TestRenamedPersona: the session of an agent goes on under the new name of its persona, and a new agent is pointed to the documents
// that the persona had under the old one. A persona that is played keeps its name.
func TestRenamedPersona(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.request(h, a, daemon.Completed)
		old := successor(p, a)
		p.promptOnce(old)
		const to = "developer-connie-1"
		rename := func() error {
			return p.ask(h, "rename", func(ctx context.Context, d *house.House) error {
				return errorOf(d.Marks.RenamePersona(ctx, personaSlugs[0], to))
			})
		}
		if rename() == nil {
			t.Fatal("a persona that is played was renamed")
		}
		p.stopped(h, old)
		p.w.ok(rename())
		document := filepath.Join(h.dir.Handoffs(to), filepath.Base(p.handoffs(a.id)[0].FilePath))
		if mustRead(document) == "" {
			t.Errorf("no document at %s", document)
		}
		resumed := p.reopen(h, old.id)
		fresh, err := startWith(p, h, agents.NewAgent{Persona: to, Runtime: "claude"})
		p.w.ok(err)
		for _, id := range []int64{resumed.ID, fresh} {
			p.await("the process", time.Minute, func() bool { return p.w.process(id) != nil && p.w.process(id).ready })
			b := p.w.process(id)
			row := p.row(b)
			if text := launched(p, b); row.PersonaSlug() != to || !strings.HasPrefix(text, "# You play the persona "+to+"\n") || !strings.Contains(text, "\n- "+document) {
				t.Errorf("agent %d plays %q and is launched with\n%s", id, row.PersonaSlug(), text)
			}
		}
	}))
}

// TestLineOfAnAttachedPane: who looks at an agent's pane sees who it is and what it does. Nothing is noted on a pane at which nobody looks,
// until somebody is about to.
func TestLineOfAnAttachedPane(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a, b := p.agent(h), p.agent(h)
		h.term.LookAt(a.ref)
		wantLine := func(of *agent, who, state string, tone tmux.Tone) {
			p.await("the line "+state, time.Minute, func() bool {
				l := h.term.Line(of.ref)
				return l.Who == who && l.State == state && l.Tone == tone
			})
		}
		wantLine(a, "1 "+personaSlugs[0], "idle", tmux.Plain)
		a.mood.think = time.Minute
		a.person("Find out why", tmux.Enter)
		wantLine(a, "1 "+personaSlugs[0], "works", tmux.Working)
		equal(t, fmt.Sprint("nobody looks at agent ", b.id, ", and its pane has"), h.term.Line(b.ref), tmux.Line{})
		p.w.ok(p.ask(h, "attach", func(ctx context.Context, d *house.House) error { return errorOf(d.Daemon.Screen(ctx, b.id, false)) }))
		wantLine(b, "2 "+b.name+" · "+personaSlugs[0], "idle", tmux.Plain)
	})
}
