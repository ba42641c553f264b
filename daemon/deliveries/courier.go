package deliveries

import (
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sight"
)

// Courier brings one text into one pane, and finds out whether the agent has taken it. Its methods are safe for concurrent use.
type Courier struct {
	*Queue
	memories engine.Memory[courierMemory]
}

// New makes a courier, and the queue that it takes texts from.
func New(s *sight.Sight) *Courier {
	d := &Courier{Queue: &Queue{s}}
	engine.Remember(s.Engine, &d.memories)
	return d
}

// courierMemory is what a Courier remembers about one agent: see [engine.Memory].
type courierMemory struct {
	// lastEnter is the last Enter that the daemon pressed for a text. After a restart the daemon may press Enter once
	// more than [maxEnters] allows, and ack_timeout counts from when the text was typed.
	lastEnter press
	// pasted is what the daemon knows of the text that was pasted last. After a restart it does not know of a dialog over that
	// text: the text then gets the verdict that evidence allows.
	pasted pasted
	// sent is the delivery that this daemon sent by a way beside the composer. After a restart, a text that the session has is
	// not sent once more, whenever it was submitted: the daemon does not know whether the clock was set back.
	sent int64
}
