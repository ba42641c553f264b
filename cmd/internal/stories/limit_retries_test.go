package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/opencode/opencodetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// refusedStory runs a story of an agent of OpenCode whose next turn is refused by the API for a time, and then waits for hold.
// It begins when the agent's trouble shows.
func refusedStory(t *testing.T, refused time.Duration, do daemon.LimitAction, tell func(t *testing.T, r *rig, m *opencodetest.Machine, a daemon.Agent, hold chan struct{})) {
	t.Helper()
	var hold chan struct{}
	opencodeStory(t, func(text string) opencodetest.Turn {
		if text == "long work" {
			return opencodetest.Turn{Refused: refused, Hold: hold, Text: "Done."}
		}
		return opencodetest.Turn{Text: "OK"}
	}, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		hold = make(chan struct{}) // of the bubble
		r.halt()
		onLimit(r, do).cfg.Settings.Limits.APITimeout = 5 * time.Minute
		r.start()
		a := opencodeAgent(r)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "long work").ID, daemon.Submitted)
		a = r.awaitAgent(a.ID, "a request that is sent again", func(a daemon.Agent) bool { return a.Trouble != nil && a.Trouble.Retrying })
		if a.State != daemon.Working || a.Trouble.Code != "overloaded" || a.InTrouble() != nil || !strings.Contains(views.TroubleHint(&a), "tries again by itself") {
			t.Errorf("agent is %s in trouble %+v", a.State, a.Trouble)
		}
		tell(t, r, m, a, hold)
	})
}

// TestRetriesEndWithAnAnswer: the API refuses the requests of a turn for a while and then answers. The trouble ends with the
// answer, and api_timeout ends nothing, although the turn goes on for longer.
func TestRetriesEndWithAnAnswer(t *testing.T) {
	refusedStory(t, 3*time.Minute, daemon.LimitAsk, func(t *testing.T, r *rig, m *opencodetest.Machine, a daemon.Agent, hold chan struct{}) {
		r.halt() // the API answers meanwhile
		pass(4 * time.Minute)
		r.start()
		a = r.awaitAgent(a.ID, "the end of its trouble", func(a daemon.Agent) bool { return a.Trouble == nil })
		pass(6 * time.Minute)
		if a = r.getAgent(a.ID); a.State != daemon.Working || a.Limit != nil {
			t.Errorf("agent is %s with limit %+v", a.State, a.Limit)
		}
		close(hold)
		r.awaitState(a.ID, daemon.Idle)
		if n := len(r.agentEvents(a.ID, "agent_trouble")); n != 1 {
			t.Errorf("%d events of one trouble", n)
		}
		if n := len(r.agentEvents(a.ID, "agent_trouble_over")); n != 1 {
			t.Errorf("%d ends of one trouble", n)
		}
	})
}

// TestRetriesBecomeALimit: the API refuses the requests of a turn for longer than api_timeout, which begins with the first of
// them. The turn ends, and a person is asked, once. The daemon is away for a while.
func TestRetriesBecomeALimit(t *testing.T) {
	refusedStory(t, time.Hour, daemon.LimitAsk, func(t *testing.T, r *rig, m *opencodetest.Machine, a daemon.Agent, _ chan struct{}) {
		pass(2 * time.Minute)
		r.halt()
		pass(time.Minute)
		r.start()
		pass(time.Minute)
		if now := r.getAgent(a.ID); now.State != daemon.Working || now.Limit != nil || !now.Trouble.Since.Equal(a.Trouble.Since) {
			t.Fatalf("agent is %s with limit %+v and trouble %+v before api_timeout", now.State, now.Limit, now.Trouble)
		}
		pass(2 * time.Minute)
		a = awaitDecided(r, a.ID)
		if l := a.Limit; l.Kind != daemon.LimitAPI || l.Do != daemon.LimitAsk || a.Trouble == nil || a.Trouble.Retrying || l.Since.Sub(a.Trouble.Since) > 6*time.Minute {
			t.Errorf("limit %+v, trouble %+v", l, a.Trouble)
		}
		r.halt()
		r.start()
		pass(10 * time.Minute)
		if n := len(r.agentEvents(a.ID, "agent_limited")); n != 1 {
			t.Errorf("it was limited %d times", n)
		}
		doTurn(r, a.ID, "Go on")
		if a = r.getAgent(a.ID); a.Limit != nil || a.Trouble != nil {
			t.Errorf("limit %+v and trouble %+v after a good turn", a.Limit, a.Trouble)
		}
	})
}
