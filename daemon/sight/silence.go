package sight

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// maxSilence is how long a server may leave a text without an answer before its silence counts towards ack_timeout. A server that has
// just started may have to install its plugins first; that takes minutes on a slow connection.
const maxSilence = 5 * time.Minute

// silence is for how long a server has not answered when it was given a text.
type silence struct {
	delivery int64
	spent    time.Duration
	until    time.Time // the last attempt
}

// NoteAnswer notes whether a server has answered an attempt to give it a text, which began at began.
func NoteAnswer(d *Sight, a *daemon.Agent, dl *daemon.Delivery, began time.Time, err error) {
	d.memories.Change(a.ID, func(m *sightMemory) {
		if m.silence.delivery != dl.ID {
			m.silence = silence{delivery: dl.ID, until: began}
		}
		if err != nil {
			m.silence.spent += time.Since(m.silence.until)
		}
		m.silence.until = time.Now()
	})
}

// silenceOf returns for how long the server of an agent has not answered when it was given a text.
func silenceOf(d *Sight, a *daemon.Agent, dl *daemon.Delivery) time.Duration {
	if s := d.memories.Of(a.ID).silence; s.delivery == dl.ID {
		return s.spent
	}
	return 0
}

// TimeLeftToShow returns how long a runtime may still take to show a text that was sent to it. A server that does not answer shows
// nothing, so its silence does not count.
func TimeLeftToShow(d *Sight, a *daemon.Agent, dl *daemon.Delivery) time.Duration {
	return d.TimeLeft(*dl.TypedAt, d.Settings().Handoff.AckTimeout+min(silenceOf(d, a, dl), maxSilence))
}

// SilenceWords says that a server did not answer; "": it did.
func SilenceWords(d *Sight, a *daemon.Agent, dl *daemon.Delivery) string {
	if silent := silenceOf(d, a, dl); silent >= time.Second {
		return fmt.Sprintf("; its server did not answer for %s", words.Took(silent))
	}
	return ""
}
