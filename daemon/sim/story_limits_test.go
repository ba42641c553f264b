package sim

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	room "github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/tmux"
)

// onLimit sets what the daemons do about limits, and has the next daemon begin with that.
func onLimit(p *person, h *host, do daemon.LimitAction) {
	p.w.limits = daemon.LimitSettings{OnLimit: do, MaxWaits: 2, APITimeout: 2 * time.Minute, Fallback: []string{fallback}}
	p.end(h)
	awaitDaemon(p, h)
}

// decided waits until something is decided about an agent's limit.
func decided(p *person, a *agent) (row daemon.Agent) {
	p.await("a decision about its limit", 10*time.Minute, func() bool {
		row = p.row(a)
		return row.State == daemon.Limited && row.Limit != nil && row.Limit.Do != daemon.LimitUndecided
	})
	return row
}

// TestWaitForTheReset: the runtime has five minutes after the reset to go on by itself. If it does not, the agent is prompted, once, also if
// the daemon ends meanwhile. Every run checks that it is not prompted twice, too early, or although it has gone on.
func TestWaitForTheReset(t *testing.T) {
	for name, c := range map[string]struct{ itself, ends bool }{
		"prompted": {}, "the daemon ends": {ends: true}, "by itself": {itself: true}, "by itself under no daemon": {true, true},
	} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			onLimit(p, h, daemon.LimitWait)
			a := p.agent(h)
			l := hits(a, 2*time.Minute)
			a.person("some work", tmux.Enter)
			row := decided(p, a)
			if l := row.Limit; l.Kind != daemon.LimitUsage || l.Do != daemon.LimitWait || l.By != daemon.LimitByPolicy || row.LimitedUntil == nil || !l.Until.Equal(*row.LimitedUntil) {
				t.Errorf("limit %+v until %v", l, row.LimitedUntil)
			}
			if c.itself {
				p.w.employEndless("the runtime", func(*person) { resume(a, l, time.Until(row.LimitedUntil.Add(80*time.Second))) })
			}
			if c.ends {
				p.w.employEndless("somebody", func(p *person) {
					p.await("the reset", time.Hour, func() bool { return time.Now().After(l.over.Add(75 * time.Second)) })
					p.end(h)
				})
			}
			if !c.itself {
				p.await("the time in which the runtime may go on", time.Hour, func() bool { return time.Now().After(row.LimitedUntil.Add(4 * time.Minute)) })
				equal(t, "prompts before the runtime had its time to go on by itself", p.w.goOns(a.id), 0)
			}
			p.await("a good turn", 20*time.Minute, func() bool { row = p.row(a); return row.State == daemon.Idle && row.Limit == nil })
			p.wait("looks on", 8*time.Minute, 8*time.Minute)
			if n, want := p.w.goOns(a.id), map[bool]int{false: 1, true: 0}[c.itself]; n != want || row.Trouble != nil || row.LimitedUntil != nil {
				t.Errorf("prompted %d times, want %d; in trouble %+v", n, want, row.Trouble)
			}
		})
	}
}

// TestWaitsAreCounted: each reset is followed by a limit. After max_waits a person is asked.
func TestWaitsAreCounted(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := p.agent(h)
		hits(a, time.Minute)
		a.person("some work", tmux.Enter)
		for n := range 2 {
			decided(p, a)
			a.extra = func(context.Context) bool { hits(a, time.Minute); return true }
			p.await("the prompt", time.Hour, func() bool { return a.limits[n].goOns == 1 })
			p.poll("the next limit", func() bool { row := p.row(a); return row.State == daemon.Limited && row.Limit.Waits == n+1 })
		}
		if l := decided(p, a).Limit; l.Do != daemon.LimitAsk || l.Waits != 2 || !strings.Contains(l.Why, "2 times in a row") {
			t.Errorf("limit %+v, want a person asked after 2 waits", l)
		}
	})
}

// TestLimitedAgentThatDies: the agent dies while it waits for the reset. After the reset its session is opened again, once, and its first prompt
// has it go on.
func TestLimitedAgentThatDies(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := p.agent(h)
		p.promptOnce(a)
		l := hits(a, 2*time.Minute)
		a.person("more work", tmux.Enter)
		decided(p, a)
		a.signal(syscall.SIGKILL)
		p.awaitEnd(a)
		p.end(h)
		var next *agent
		p.await("the agent that goes on", 20*time.Minute, func() bool {
			if len(p.w.agents) > 1 {
				next = p.w.agents[1]
			}
			return next != nil && next.id != 0 && p.row(next).State == daemon.Idle && len(next.answers) == 1
		})
		if next == nil {
			return
		}
		if row := p.row(next); time.Now().Before(l.over) || row.PreviousAgentID == nil || *row.PreviousAgentID != a.id || *row.SessionID != *p.row(a).SessionID {
			t.Errorf("agent %+v goes on at %s, before %s", row, time.Now(), l.over)
		}
		p.end(h)
		p.wait("looks on", 2*time.Minute, 2*time.Minute)
		equal(t, "agents were started", len(p.w.agents), 2)
	})
}

// TestAPIThatFails: an API that fails for longer than api_timeout is a limit without an end. The agent tries again, until a person is asked.
func TestAPIThatFails(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := p.agent(h)
		a.failing = true
		a.person("some work", tmux.Enter)
		p.await("its trouble", time.Minute, func() bool { return p.row(a).Trouble != nil })
		p.wait("looks on", 100*time.Second, 100*time.Second)
		if row := p.row(a); row.State != daemon.Idle || row.Limit != nil {
			t.Errorf("the agent is %s with limit %+v before api_timeout", row.State, row.Limit)
		}
		p.await("a question", time.Hour, func() bool { l := p.row(a).Limit; return l != nil && l.Do == daemon.LimitAsk })
		if l, n := p.row(a).Limit, p.w.goOns(a.id); l.Kind != daemon.LimitAPI || n != 2 {
			t.Errorf("limit %+v after %d tries, want 2", l, n)
		}
		a.failing = false
		message(p, h, a, "go on")
		p.await("a good turn", time.Minute, func() bool {
			row := p.row(a)
			return row.State == daemon.Idle && row.Limit == nil && row.Trouble == nil
		})
	})
}

// TestStepWaitsForAReset: the agent of a step waits for its reset for longer than the step may take. That time does not count.
func TestStepWaitsForAReset(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		p.w.born = func(a *agent) { hits(a, 4*time.Minute) }
		id := p.startPipeline(h, "one")
		decided(p, p.newest(id, 0))
		p.wait("looks on", 10*time.Second, 10*time.Second)
		if pl := pipelineOf(p, id); pl.Status != daemon.PipelineRunning || !strings.Contains(pl.Note, "has hit a usage limit until") {
			t.Errorf("the pipeline is %s (%s)", pl.Status, pl.Note)
		}
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// decideLimit says what a person decides about an agent's limit.
func decideLimit(p *person, h *host, a *agent, in room.LimitDecision) error {
	return p.ask(h, "decide about its limit", func(ctx context.Context, d *house.House) error { return errorOf(d.Limits.DecideLimit(ctx, a.id, in)) })
}

// reachContext has the window of an agent be full, after a turn.
func reachContext(p *person, a *agent) {
	p.promptOnce(a)
	p.change(a.id, func(row *daemon.Agent) {
		row.ReachLimit(daemon.LimitContext, nil, time.Now())
		row.Be(daemon.Limited, time.Now())
	})
}

// TestLimitIsHandedOver: an agent that has hit its limit cannot write its document. A one-shot of the fallback writes it from the transcript, or
// the daemon does, which says so. The successor works on the fallback.
func TestLimitIsHandedOver(t *testing.T) {
	for _, writer := range []daemon.Writer{daemon.WrittenByFallback, daemon.WrittenByDaemon} {
		storyAs(t, string(writer), func(t *testing.T, p *person, h *host) {
			onLimit(p, h, daemon.LimitHandOver)
			a := p.agent(h)
			p.promptOnce(a)
			if writer == daemon.WrittenByDaemon {
				a.copied = func(string) (string, string) { return "", "529 overloaded" }
			}
			hits(a, time.Hour)
			a.person("Speed them up", tmux.Enter)
			p.await("a handoff", time.Minute, func() bool { l := p.row(a).Limit; return l != nil && l.HandoffID != nil })
			done := p.reach(a, daemon.Completed)
			if done.Reason != daemon.ReasonLimit || done.Mode != daemon.ModeTranscript || done.WrittenBy != writer || done.Degraded != (writer == daemon.WrittenByDaemon) || len(done.Warnings) == 0 {
				t.Errorf("the handoff is %+v", done)
			}
			if next := rowOf(p, *done.SuccessorID); next.Runtime != fallback || *next.Persona != personaSlugs[0] {
				t.Errorf("its successor is on %s as %v", next.Runtime, next.Persona)
			}
			if doc := mustRead(done.FilePath); writer == daemon.WrittenByDaemon && (!strings.Contains(doc, "529 overloaded") || !strings.Contains(doc, "\n> Speed them up\n") || !strings.Contains(done.Warnings[0], "nobody has judged it")) {
				t.Errorf("the document is %q: %q", doc, done.Warnings)
			}
		})
	}
}

// TestFallbackThatIsLimited: the only fallback has hit its limit as well, so a person is asked, and told why. When they choose a runtime, the
// agent is handed over to that.
func TestFallbackThatIsLimited(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitHandOver)
		other, a := agentOn(p, h, fallback), p.agent(h)
		for _, each := range []*agent{other, a} {
			hits(each, time.Hour)
			each.person("some work", tmux.Enter)
			want := map[bool]string{true: "no other runtime is named", false: fallback + " is limited until "}[each == other]
			if l := decided(p, each).Limit; l.Do != daemon.LimitAsk || !strings.Contains(l.Why, want) {
				t.Errorf("limit %+v, want %q", l, want)
			}
		}
		wantCode(t, decideLimit(p, h, a, room.LimitDecision{Do: daemon.LimitHandOver}), daemon.CodeNoFallback)
		p.w.ok(decideLimit(p, h, a, room.LimitDecision{Do: daemon.LimitHandOver, Runtime: fallback}))
		p.await("a handoff", time.Minute, func() bool { return p.hasHandoff(a.id) })
		if next := rowOf(p, *p.reach(a, daemon.Completed).SuccessorID); next.Runtime != fallback {
			t.Errorf("its successor is on %s", next.Runtime)
		}
	})
}

// TestFullWindow: a successor on the same runtime has an empty window, so it comes before every fallback. To wait makes no room: a person is
// asked, and cannot decide to wait.
func TestFullWindow(t *testing.T) {
	for _, do := range []daemon.LimitAction{daemon.LimitHandOver, daemon.LimitWait} {
		storyAs(t, string(do), func(t *testing.T, p *person, h *host) {
			onLimit(p, h, do)
			a := p.agent(h)
			reachContext(p, a)
			if do == daemon.LimitWait {
				if l := decided(p, a).Limit; l.Do != daemon.LimitAsk || !strings.Contains(l.Why, "does not make room") {
					t.Errorf("limit %+v", l)
				}
				wantCode(t, decideLimit(p, h, a, room.LimitDecision{Do: daemon.LimitWait}), daemon.CodeNothingToWaitFor)
				return
			}
			p.await("a handoff", time.Minute, func() bool { return p.hasHandoff(a.id) })
			if next := rowOf(p, *p.reach(a, daemon.Completed).SuccessorID); next.Runtime != "claude" {
				t.Errorf("its successor is on %s", next.Runtime)
			}
		})
	}
}

// TestRetriesOfARuntime: an API refuses the requests of a turn, which the runtime sends again by itself. That is trouble until the API answers,
// and a limit after api_timeout, which begins with the first of them: the daemon ends the turn, and a person is asked once. A restart counts
// for neither.
func TestRetriesOfARuntime(t *testing.T) {
	for _, answers := range []bool{true, false} {
		storyAs(t, fmt.Sprint("the API answers: ", answers), func(t *testing.T, p *person, h *host) {
			onLimit(p, h, daemon.LimitAsk)
			a := agentOn(p, h, "opencode")
			a.mood.think = time.Hour
			a.extra = func(ctx context.Context) bool {
				a.cli.refused(a, true)
				long := time.Hour
				if answers {
					long = time.Minute
				}
				cut := a.doIn(ctx, "waits for its API", long, long)
				a.cli.refused(a, false)
				return !cut
			}
			a.mood.think = 0
			message(p, h, a, "some work")
			p.await("its trouble", time.Minute, func() bool { t := p.row(a).Trouble; return t != nil && t.Retrying })
			since := p.row(a).Trouble.Since
			p.end(h)
			if answers {
				p.await("a good turn", 3*time.Minute, func() bool { return p.row(a).State == daemon.Idle })
			} else {
				p.wait("looks on", time.Minute, time.Minute)
				if row := p.row(a); row.State != daemon.Working || row.Limit != nil || !row.Trouble.Since.Equal(since) {
					t.Errorf("before api_timeout it is %s with %+v and %+v", row.State, row.Limit, row.Trouble)
				}
				if row := decided(p, a); row.Limit.Kind != daemon.LimitAPI || row.Limit.Do != daemon.LimitAsk || row.Trouble == nil || row.Trouble.Retrying || row.Limit.Since.Sub(since) > 3*time.Minute {
					t.Errorf("limit %+v, trouble %+v since %s", row.Limit, row.Trouble, since)
				}
				message(p, h, a, "Go on")
				p.await("a good turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
			}
			p.wait("looks on", 3*time.Minute, 3*time.Minute)
			row := p.row(a)
			if row.Limit != nil || row.Trouble != nil || events(p, event.AgentTrouble) != 1 || answers == (events(p, event.AgentLimited) > 0) || events(p, event.AgentTroubleOver) != 1 {
				t.Errorf("limit %+v, trouble %+v, told %d times; %d limits", row.Limit, row.Trouble, events(p, event.AgentTrouble), events(p, event.AgentLimited))
			}
		})
	}
}

// TestLimitWithoutATime: nobody knows when a limit ends, and OpenCode would wait in its turn. The daemon ends that once; the agent tries again
// within an hour, and the operator is told when.
func TestLimitWithoutATime(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := agentOn(p, h, "opencode")
		a.limits = []*limitHit{{over: time.Now().Add(3 * time.Minute), text: "Monthly quota exceeded"}}
		message(p, h, a, "some work")
		row := decided(p, a)
		told := eventsOf(p, event.AgentLimitDecided)
		if want := "tries again by itself at " + row.Limit.Since.Add(time.Hour).UTC().Format("Jan 2 15:04 UTC"); row.Limit.Until != nil || row.Limit.Do != daemon.LimitWait || !strings.Contains(word(&told[0], "message"), want) {
			t.Errorf("limit %+v, told %q, want %q", row.Limit, word(&told[0], "message"), want)
		}
		h.setClock(50 * time.Minute)
		p.wait("looks on", 5*time.Minute, 5*time.Minute)
		equal(t, "tries in the first hour", p.w.goOns(a.id), 0)
		h.setClock(10 * time.Minute)
		p.await("a try", 5*time.Minute, func() bool { return p.w.goOns(a.id) == 1 })
	})
}
