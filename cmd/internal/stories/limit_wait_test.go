package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
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
