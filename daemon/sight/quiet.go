package sight

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// A generic runtime tells nothing. Its turn begins with a text that the daemon has submitted, and ends when its screen has
// not changed for a while. Both become reports, so that all else is as with other runtimes.

// quiet is since when the screen of an agent shows the same.
type quiet struct {
	screen string // its checksum
	since  time.Time
}

// lookForQuiet is how often the screen of a working agent is looked at whose runtime tells nothing.
const lookForQuiet = time.Second

// NoticeQuiet ends the turn of an agent whose runtime tells nothing, when its screen has been quiet for long enough and shows
// that it takes a prompt. A daemon that restarts begins to count anew.
func (d *Sight) NoticeQuiet(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	after := d.RuntimeOf(a).Can.QuietAfter
	if after == 0 || a.State != daemon.Working || !a.HasPane() {
		return false, 0, nil
	}
	s, err := d.ReadScreen(ctx, a)
	if err != nil {
		return false, lookForQuiet, nil // the pane may be gone; reapGone sees to that
	}
	now := quiet{screen: engine.Checksum([]byte(s.Text)), since: d.Now()}
	d.memories.Change(a.ID, func(m *sightMemory) {
		if m.quiet.screen == now.screen {
			now = m.quiet
		}
		m.quiet = now
	})
	still := d.TimeSpent(now.since) // a machine that stood still drew nothing either
	if still < after || !s.Composer && still < unreadyAfter(after) {
		return false, lookForQuiet, nil
	}
	d.memories.Change(a.ID, func(m *sightMemory) { m.quiet = quiet{} })
	r := runtimes.Report{Event: hooks.Stop, Body: []byte("{}"), Key: fmt.Sprintf("quiet after hook %d", a.LastHook)}
	if !s.Composer {
		r.Event = hooks.StopFailure
		r.Body, err = json.Marshal(map[string]string{"error": runtimes.OtherTrouble, "last_assistant_message": fmt.Sprintf(
			"its screen has shown nothing new for %s, and no row that runtimes.%s.ready in config.yaml names: look at its pane", words.Age(still), a.Runtime)})
		if err != nil {
			return false, 0, err
		}
	}
	return true, 0, d.Report(ctx, a, r)
}

// unreadyAfter is how long the screen of a turn may stay the same without a row that takes a prompt. A program asks something then, or
// has ended its turn in another way than config.yaml says, and nobody else would ever notice.
func unreadyAfter(quietAfter time.Duration) time.Duration { return max(20*quietAfter, 5*time.Minute) }

// ReportTaken reports a text that was submitted to a runtime that tells nothing.
func (d *Sight) ReportTaken(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) error {
	turn := fmt.Sprintf("delivery %d", dl.ID)
	body, err := json.Marshal(map[string]string{"prompt": dl.Text, "prompt_id": turn})
	if err != nil {
		return err
	}
	return d.Report(ctx, a, runtimes.Report{Event: hooks.UserPromptSubmit, Body: body, Key: turn})
}
