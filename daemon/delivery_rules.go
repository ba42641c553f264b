package daemon

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// BeginTyping notes that the text is about to be given to the agent: from now on nobody knows whether it was. after is the agent's newest
// hook; 0: not known.
func (d *Delivery) BeginTyping(way runtimes.Way, after int64, now time.Time) {
	d.State, d.TypedAt, d.AfterHook, d.Attempts, d.Evidence, d.Way = DeliveryTyping, &now, after, 1, "", way
}

// AnswerStop notes that the text is given as the answer to a Stop, a hook with this key.
func (d *Delivery) AnswerStop(key string, hook int64, now time.Time) {
	d.State, d.HookKey, d.TypedAt, d.AfterHook, d.Attempts = DeliveryAnswered, key, &now, hook, 1
	d.Evidence = fmt.Sprintf("answer to the Stop, hook %d", hook)
}

// LoseAnswer notes that the answer did not arrive.
func (d *Delivery) LoseAnswer() {
	d.Unsend("the answer to the stop hook did not arrive")
	d.HookKey = ""
}

// Pasted notes that the text stands in the composer, and that Enter comes next.
func (d *Delivery) Pasted() { d.State, d.Attempts = DeliveryTyped, 0 }

// Press notes how often Enter was pressed.
func (d *Delivery) Press(times int) { d.Attempts = times }

// Hear notes the hook of a typed prompt on its delivery and its handoff.
func (d *Delivery) Hear(hook int64, at time.Time) {
	d.State, d.Heard, d.HeardAt, d.Attempts = DeliveryTyped, hook, &at, max(d.Attempts, 1)
}

// Unsend sets a delivery back to DeliveryQueued.
func (d *Delivery) Unsend(why string) {
	d.State, d.TypedAt, d.Attempts, d.Evidence, d.Way, d.Heard, d.HeardAt = DeliveryQueued, nil, 0, why, "", 0, nil
}
