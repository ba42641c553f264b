package intake

import (
	"fmt"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
)

// maxTwins is how many hooks are remembered.
const maxTwins = 1000

// twins remembers what hooks have told, so that what two runs of one hook's command tell counts once. A runtime runs the command once for
// each settings file that has it. If both counted, the second UserPromptSubmit would come in the turn that the first began, and the second
// Stop would end the turn that the answer to the first began. It is safe for concurrent use.
type twins struct {
	mu   sync.Mutex
	told map[string]hookRun // by what was told, by which process, and why that was not believed
}

// hookRun is one run of a hook's command.
type hookRun struct {
	key string
	at  time.Time
}

// tell notes what a hook tells, and reports whether another run of its command has told it. The caller says at last whether the hook was
// applied to an agent's row. If it was not, another run counts: its sender may send the hook again, somebody else has sent it, or it has made
// the agent, and the other run names the pane.
func (t *twins) tell(h *hookStep) (twin bool, end func(applied bool)) {
	end = func(bool) {}
	if h.own {
		return false, end // the daemon has read it, once
	}
	run := hookRun{h.in.Key, h.in.At}
	what := fmt.Sprintf("%d %x %s %s %q", h.in.PID, h.in.LaunchHash, h.in.Event, engine.Checksum(h.in.Body), h.notFrom)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch first, known := t.told[what]; {
	case known && first.key != run.key && run.at.Sub(first.at).Abs() <= deliveries.TwinWithin:
		return true, end
	case t.told == nil || len(t.told) >= maxTwins:
		t.told = map[string]hookRun{}
	}
	t.told[what] = run
	return false, func(applied bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !applied && t.told[what] == run {
			delete(t.told, what)
		}
	}
}
