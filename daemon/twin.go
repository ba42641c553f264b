package daemon

import "time"

const (
	// twinWithin is how far apart two runs of one hook begin at most: a runtime starts them together.
	twinWithin = 2 * time.Second
	// maxTwins is of how many hooks it is remembered that they came.
	maxTwins = 1000
)

// toldHook is what a hook says, and of whom.
type toldHook struct {
	agentID int64
	event   string
	body    string // its checksum
}

// hookRun is one run of a hook's command.
type hookRun struct {
	key string
	at  time.Time
}

// isTwin reports whether another run of the hook has told the same: a runtime runs the command once for each place of its
// settings that has it. Taken for two, a prompt would come again when its turn has begun, and a Stop would end the turn
// that the answer to the first one has begun. A run that fails after this comes again by itself, with its key.
func (d *Daemon) isTwin(agentID int64, in *HookInput) bool {
	told := toldHook{agentID, in.Event, checksum(in.Body)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if first, known := d.told[told]; known && first.key != in.Key && in.At.Sub(first.at).Abs() <= twinWithin {
		return true
	}
	if d.told == nil || len(d.told) >= maxTwins {
		d.told = map[toldHook]hookRun{}
	}
	d.told[told] = hookRun{in.Key, in.At}
	return false
}
