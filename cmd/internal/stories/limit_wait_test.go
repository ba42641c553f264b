package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// ten is how far ahead the reset of most stories is. A text names whole minutes.
const ten = "usage-limit=10m"

// TestWaitPromptsOnceAfterTheReset: The runtime should go on by itself, and does not. Some minutes after the reset the agent
// is prompted, once.
func TestWaitPromptsOnceAfterTheReset(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).start()
		began := time.Now()
		a := r.hitLimit(r.startAgent(con).ID, ten)
		if a.LimitedUntil == nil || a.LimitedUntil.Sub(began) < 9*time.Minute || a.LimitedUntil.Sub(began) > 11*time.Minute {
			t.Fatalf("limited until %v, hit at %s", a.LimitedUntil, began)
		}
		if l := a.Limit; l.Kind != daemon.LimitUsage || l.Do != daemon.LimitWait || l.By != daemon.LimitByPolicy || !l.Until.Equal(*a.LimitedUntil) {
			t.Errorf("limit %+v", l)
		}
		told := r.awaitNotification(func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == a.ID })
		if message := fmt.Sprint(field(t, told, "message")); !strings.Contains(message, "goes on by itself after the reset") {
			t.Errorf("the operator was told %q", message)
		}
		r.sleepUntil(a.LimitedUntil.Add(4 * time.Minute))
		if n := len(r.goesOn(a.ID)); n != 0 {
			t.Fatalf("%d prompts before the runtime had its time to go on by itself", n)
		}
		r.sleepUntil(a.LimitedUntil.Add(7 * time.Minute))
		a = r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Limit == nil })
		if a.Trouble != nil || a.LimitedUntil != nil {
			t.Errorf("after the turn: trouble %+v, limited until %v", a.Trouble, a.LimitedUntil)
		}
		pass(30 * time.Minute)
		if list := r.goesOn(a.ID); len(list) != 1 || list[0].Verdict == nil || *list[0].Verdict != daemon.Submitted || r.toldToGoOn(a.ID) != 1 {
			t.Errorf("prompts after the reset %+v, and the agent was told %d times", list, r.toldToGoOn(a.ID))
		}
	})
}

// TestWaitLeavesARuntimeAloneThatGoesOn: The runtime goes on by itself: it is not prompted.
func TestWaitLeavesARuntimeAloneThatGoesOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).start()
		a := r.hitLimit(r.startAgent(con).ID, ten+",auto-resume=12m")
		r.sleepUntil(a.LimitedUntil.Add(90 * time.Second))
		a = r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return true })
		pass(20 * time.Minute)
		if a = r.getAgent(a.ID); a.State != daemon.Idle || a.Limit != nil || len(r.goesOn(a.ID)) != 0 {
			t.Errorf("agent is %s with limit %+v, and was prompted %d times", a.State, a.Limit, len(r.goesOn(a.ID)))
		}
		if told := r.told(a.ID); len(told) != 2 || !strings.Contains(told[1], "usage limit has reset") {
			t.Errorf("agent was told %q", told)
		}
	})
}

// TestWaitAsksAfterTooManyResets: Each reset is followed by the same limit. After max_waits a person is asked.
func TestWaitAsksAfterTooManyResets(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).cfg.Settings.Limits.MaxWaits = 2
		r.start()
		id := r.startAgent(con).ID
		r.misbehave("usage-limit=5m")
		r.awaitVerdict(id, r.sendMessage(id, "Find out why the tests are slow").ID, daemon.Submitted)
		pass(20 * time.Minute)
		a := r.awaitDecided(id)
		if l := a.Limit; l.Do != daemon.LimitAsk || l.Waits != 2 || !strings.Contains(l.Why, "2 times in a row") {
			t.Errorf("limit %+v, want a person asked after 2 waits", l)
		}
		if n := r.toldToGoOn(id); n != 2 {
			t.Errorf("the agent was prompted %d times, want 2", n)
		}
		r.misbehave("")
		r.doTurn(id, "Go on")
		if a := r.getAgent(id); a.Limit != nil {
			t.Errorf("limit %+v after a good turn", a.Limit)
		}
	})
}

// TestWaitOutlivesTheDaemon: The daemon is away before the reset, and comes back after it. The agent is prompted once.
func TestWaitOutlivesTheDaemon(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).start()
		a := r.hitLimit(r.startAgent(con).ID, ten)
		r.halt()
		r.sleepUntil(a.LimitedUntil.Add(15 * time.Minute))
		r.start()
		pass(3 * time.Minute) // the runtime may go on by itself
		if n := len(r.goesOn(a.ID)); n != 0 {
			t.Errorf("%d prompts right after the daemon came back", n)
		}
		pass(5 * time.Minute)
		r.halt()
		r.start()
		pass(30 * time.Minute)
		if a = r.getAgent(a.ID); a.Limit != nil || r.toldToGoOn(a.ID) != 1 {
			t.Errorf("limit %+v, prompted %d times", a.Limit, r.toldToGoOn(a.ID))
		}
	})
}

// TestWaitMissesTheResumptionWhileTheDaemonIsAway: The runtime goes on by itself while no daemon is there. Its hooks are in the
// spool, so it is not prompted.
func TestWaitMissesTheResumptionWhileTheDaemonIsAway(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).start()
		a := r.hitLimit(r.startAgent(con).ID, ten+",auto-resume=12m")
		r.halt()
		pass(20 * time.Minute)
		r.start()
		pass(20 * time.Minute)
		if a = r.getAgent(a.ID); a.State != daemon.Idle || a.Limit != nil || len(r.goesOn(a.ID)) != 0 {
			t.Errorf("agent is %s with limit %+v, and was prompted %d times", a.State, a.Limit, len(r.goesOn(a.ID)))
		}
	})
}

// TestWaitOutlivesTheMachine: The machine goes down while the agent waits. After the reset the agent's session is opened
// again, once, and its first prompt has it go on.
func TestWaitOutlivesTheMachine(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).start()
		a := r.hitLimit(r.startAgent(con).ID, ten)
		r.halt()
		r.killProcess(r.agentRow(a.ID).PID)
		pass(time.Minute)
		r.start()
		r.awaitState(a.ID, daemon.Ended)
		r.halt()
		r.start()
		pass(5 * time.Minute)
		if next := r.newestAgent(); next.ID != a.ID {
			t.Fatalf("agent %d goes on before the reset", next.ID)
		}
		r.sleepUntil(a.LimitedUntil.Add(15 * time.Minute))
		next := r.newestAgent()
		if next.ID != a.ID+1 || next.PreviousAgentID == nil || *next.PreviousAgentID != a.ID || *next.SessionID != *a.SessionID {
			t.Fatalf("agent %+v goes on, want one that opens the session of %d again", next, a.ID)
		}
		if n := r.toldToGoOn(next.ID); n != 1 || next.State != daemon.Idle {
			t.Errorf("agent %d is %s and was told %d times to go on", next.ID, next.State, n)
		}
		r.halt()
		r.start()
		pass(20 * time.Minute)
		if last := r.newestAgent(); last.ID != next.ID {
			t.Errorf("agent %d was started as well", last.ID)
		}
	})
}

// TestApiThatFailsIsALimit: An API that fails for longer than api_timeout is a limit without an end. With wait the agent tries
// again, until a person is asked.
func TestApiThatFailsIsALimit(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).cfg.Settings.Limits.MaxWaits = 3
		r.cfg.Settings.Limits.APITimeout = 5 * time.Minute
		r.start()
		id := r.startAgent(con).ID
		r.misbehave("api-error=overloaded")
		r.awaitVerdict(id, r.sendMessage(id, "Find out why the tests are slow").ID, daemon.Submitted)
		pass(4 * time.Minute)
		if a := r.getAgent(id); a.State != daemon.Idle || a.Limit != nil || a.Trouble == nil {
			t.Fatalf("agent is %s with limit %+v before api_timeout", a.State, a.Limit)
		}
		pass(3 * time.Minute)
		if a := r.getAgent(id); a.State != daemon.Limited || a.Limit.Kind != daemon.LimitAPI || r.toldToGoOn(id) != 1 {
			t.Errorf("agent is %s with limit %+v and was told %d times to try again", a.State, a.Limit, r.toldToGoOn(id))
		}
		pass(20 * time.Minute)
		if a := r.getAgent(id); a.Limit.Do != daemon.LimitAsk || r.toldToGoOn(id) != 3 {
			t.Errorf("limit %+v after an hour, and %d tries; want a person asked after 3", a.Limit, r.toldToGoOn(id))
		}
	})
}

// TestWaitingStepGoesOn: The agent of a pipeline's step hits a limit. The step waits for it, however long that takes.
func TestWaitingStepGoesOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.onLimit(daemon.LimitWait).cfg.Settings.Pipeline.StepTimeout = 3 * time.Minute
		r.start()
		r.writeTemplate("one", "developer")
		r.awaitTemplate("one", func(t api.Template) bool { return t.Problem == nil })
		r.misbehave(ten + ",auto-resume=11m")
		p := r.createPipeline(pipelines.NewPipeline{Template: "one", Title: "t", Prompt: "Find out why", Cwd: r.work})
		a := r.awaitDecided(r.awaitWorkingAgent(p.ID, 1).ID)
		r.misbehave("")
		pass(5 * time.Minute)
		if now := r.getPipeline(p.ID); now.Status != daemon.PipelineRunning || !strings.Contains(now.Note, "has hit a usage limit until") {
			t.Errorf("pipeline is %s (%s)", now.Status, now.Note)
		}
		r.sleepUntil(a.LimitedUntil.Add(15 * time.Minute))
		if now := r.getPipeline(p.ID); now.Status != daemon.PipelineDone {
			t.Errorf("pipeline is %s: %v", now.Status, now.Error)
		}
	})
}
