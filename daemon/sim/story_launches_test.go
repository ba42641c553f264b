package sim

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// TestStartThatCannotBe: there is neither a row nor a pane.
func TestStartThatCannotBe(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		refused := func(code daemon.Code, in agents.NewAgent) {
			_, err := startWith(p, h, in)
			wantCode(t, err, code)
		}
		for _, name := range []string{"7", "self", "list", "show", "--help", " x", "x "} {
			refused(daemon.CodeBadName, agents.NewAgent{Name: name})
		}
		for _, size := range [][2]int{{79, 40}, {501, 40}, {100, 23}, {100, 201}, {-1, 0}, {0, -1}} {
			refused(daemon.CodeBadSize, agents.NewAgent{Columns: size[0], Rows: size[1]})
		}
		for _, args := range [][]string{{"--verbose", "--settings=/tmp/x"}, {"--resume", "x"}} {
			refused(daemon.CodeBadArgs, agents.NewAgent{Args: args})
		}
		refused(daemon.CodeBadPermissionMode, agents.NewAgent{PermissionMode: "yolo"})
		refused("bad_model", agents.NewAgent{Model: "-p"})
		if rows, _ := p.w.rows(); len(rows) != 0 {
			t.Errorf("%d agents", len(rows))
		}
	})
}

// TestStartedAsChosen: the model, the mode and the arguments that a person chooses at the start are on the command line of the agent, of its
// successor and of the agent that opens its session again.
func TestStartedAsChosen(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		var launched [][]string
		p.w.born = func(a *agent) { launched = append(launched, must(launchFile(a.file)).Argv) }
		id, err := startWith(p, h, agents.NewAgent{Persona: personaSlugs[0], Model: "opus", PermissionMode: "plan", Args: []string{"--add-dir", "/tmp", "--verbose"}})
		p.await("its registration", time.Minute, func() bool { a := p.w.process(id); return err == nil && a != nil && p.row(a).State == daemon.Idle })
		p.promptOnce(p.w.process(id))
		next := p.w.process(*p.request(h, p.w.process(id), daemon.Completed).SuccessorID)
		p.await("its turn", time.Minute, func() bool { return p.row(next).WorkStop > 0 && p.row(next).State == daemon.Idle })
		p.stopped(h, next)
		p.reopen(h, next.id)
		p.await("its pane", time.Minute, func() bool { return len(launched) == 3 })
		for i, argv := range launched {
			line := strings.Join(argv, " ")
			own, mode := slices.Index(argv, "--settings"), slices.Index(argv, "--add-dir")
			if !strings.Contains(line, "--add-dir /tmp --verbose") || mode > own || !strings.Contains(line, "--model opus") || !strings.Contains(line, "--permission-mode plan") {
				t.Errorf("agent %d was launched with %q, want what was chosen before the launch's own", i+1, argv)
			}
		}
	})
}

// TestPersonaWhileItStarts: an agent is given a persona before it has registered. That is refused, for its launch may be without it already.
// Later it is typed, and in place once it was.
func TestPersonaWhileItStarts(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.start = 0; a.frozen = time.Now().Add(10 * time.Second) }
		p.w.holdFirst(3*time.Second, calls("Spawn"))
		id, err := startWith(p, h, agents.NewAgent{})
		p.w.ok(err)
		wantCode(t, assign(p, h, id), "agent_starting")
		p.poll("its process", func() bool { return p.w.process(id) != nil || len(p.w.agents) > 0 })
		wantCode(t, assign(p, h, id), "agent_starting")
		p.await("its registration", time.Minute, func() bool { a := p.w.process(id); return a != nil && p.row(a).State == daemon.Idle })
		a := p.w.process(id)
		a.mood.think = 20 * time.Second
		a.person("long work", tmux.Enter)
		awaitTurn(p, a)
		if err := assign(p, h, id); err != nil || p.row(a).SkillInjectedAt != nil {
			t.Errorf("the skill is in place before it was typed: %v", err)
		}
		p.await("its skill", time.Minute, func() bool { return p.row(a).SkillInjectedAt != nil })
	})
}

// TestLaunchThatFails: tmux makes no pane. The agent ends with the reason, and what held its secret is gone.
func TestLaunchThatFails(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.failEach(failed, calls("Spawn"))
		id := p.start(h)
		p.await("its end", 5*time.Minute, func() bool { return rowOf(p, id).EndedAt != nil })
		if row := rowOf(p, id); !strings.Contains(*row.EndReason, errTerminal.Error()) {
			t.Errorf("it ended by %q", *row.EndReason)
		}
		p.poll("no launch file", func() bool { _, err := os.Stat(h.dir.Launch(id)); return os.IsNotExist(err) })
	})
}

// TestDialogBeforeASession: no hook reports a dialog that the CLI opens before its session. The operator is told at once where to answer it, of
// an agent as of a successor, and the time to register does not run out meanwhile.
func TestDialogBeforeASession(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		asks := func(a *agent) {
			p.await("the question", 10*time.Second, func() bool { return p.row(a).State == daemon.Waiting })
			p.wait("is away", 4*time.Minute, 4*time.Minute) // longer than registration_timeout
			if row := p.row(a); row.WaitsFor != "trust: may the agent work in this folder?" || row.RegisteredAt != nil || row.State != daemon.Waiting {
				t.Errorf("agent %d is %s for %q", a.id, row.State, row.WaitsFor)
			}
			a.person("", tmux.Enter)
		}
		p.w.born = func(a *agent) { a.mood.trust = true }
		id := p.start(h)
		p.poll("its process", func() bool { return p.w.process(id) != nil })
		a := p.w.process(id)
		asks(a)
		if told := eventsOf(p, event.OperatorNotified); len(told) == 0 || !strings.Contains(word(&told[0], "message"), fmt.Sprintf("understudy agent attach %d", id)) {
			t.Errorf("the operator was told %d times", len(told))
		}
		p.await("its registration", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
		p.promptOnce(a)
		hf := p.request(h, a, daemon.AwaitingRegistration)
		p.poll("the successor's process", func() bool {
			hf = p.handoffs(a.id)[0]
			return hf.SuccessorID != nil && p.w.process(*hf.SuccessorID) != nil
		})
		asks(p.w.process(*hf.SuccessorID))
		p.reach(a, daemon.Completed)
	})
}

// TestProgramThatIsLeft: a person leaves OpenCode in its pane, which reports no end. An agent at rest did not die, and nobody is alarmed. One in
// a turn died, however its program exited.
func TestProgramThatIsLeft(t *testing.T) {
	for _, works := range []bool{false, true} {
		storyAs(t, fmt.Sprint("in a turn: ", works), withOn("opencode", func(t *testing.T, p *person, h *host, a *agent) {
			if works {
				a.mood.think = time.Hour
				message(p, h, a, "a long one")
				p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
			}
			a.end("left", 0)
			p.awaitEnd(a)
			if row := p.row(a); row.Died() != works || !works && *row.EndReason != "exited" {
				t.Errorf("it ended by %q, died: %t", *row.EndReason, row.Died())
			}
		}))
	}
}
