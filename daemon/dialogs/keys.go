package dialogs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

const (
	// KeysIdle is how long a pane takes keys from a browser without getting one.
	KeysIdle = 5 * time.Minute
	// KeysGone is how long a page may say nothing until the daemon takes it for closed. An open page says something every few seconds.
	KeysGone = 15 * time.Second
)

// keySession is what the daemon remembers of a session of keys. A daemon that restarts remembers none, so that it types no batch
// again that an earlier one may have typed.
type keySession struct {
	id      string
	heard   time.Time // when the page said something last
	pressed time.Time // when a key came last
	keys    int       // how many were typed
	ctrlC   time.Time // when Ctrl-C was pressed last
	last    *keyBatch // the newest batch; its number is the number of batches that were taken
	due     *keyBatch // last, while the lane has not typed it
}

// keySessions holds the session of each agent. The mutex guards the map and the sessions; it is held across no call.
type keySessions struct {
	mu   sync.Mutex
	rows map[int64]*keySession
}

// with lets f look at an agent's session, or change it; nil: the agent has none.
func (ks *keySessions) with(agentID int64, f func(s *keySession)) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	f(ks.rows[agentID])
}

// begin replaces the session of an agent. A batch of the former one that was not typed is refused.
func (ks *keySessions) begin(agentID int64, s *keySession) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if ks.rows == nil {
		ks.rows = map[int64]*keySession{}
	}
	ks.dropLocked(agentID)
	ks.rows[agentID] = s
}

// drop ends the session of an agent, if it is that one, and returns it.
func (ks *keySessions) drop(agentID int64, id string) (was keySession) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if s := ks.rows[agentID]; s != nil && s.id == id {
		was = *s
		ks.dropLocked(agentID)
	}
	return was
}

func (ks *keySessions) dropLocked(agentID int64) {
	if s := ks.rows[agentID]; s != nil && s.due != nil {
		s.due.settle(errKeysOff(agentID))
		s.due = nil
	}
	delete(ks.rows, agentID)
}

func errKeysOff(agentID int64) *daemon.Error {
	return daemon.Errorf(daemon.KindConflict, daemon.CodeKeysOff, "Agent %d takes no keys from this page any more, and nothing was typed: turn \"Take keys\" on again", agentID)
}

// BeginKeys lets an agent's pane take keys from a browser, until EndKeys, or until the page says nothing any more. A session that another page
// has begun ends with it. from says where the page is, for the log.
func (r *Room) BeginKeys(ctx context.Context, id int64, from string) (daemon.KeysTaken, error) {
	if err := r.mayTakeKeys(ctx, id); err != nil {
		return daemon.KeysTaken{}, err
	}
	session, err := engine.NewID(r.env.Engine)
	if err != nil {
		return daemon.KeysTaken{}, err
	}
	now := r.env.Now()
	taken := daemon.KeysTaken{Session: session, From: from, Since: now}
	var former *daemon.KeysTaken
	_, err = r.env.UpdateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if former = a.Keys; former != nil {
			was := keySession{}
			r.keys.with(id, func(s *keySession) {
				if s != nil && s.id == former.Session {
					was = *s
				}
			})
			c.Events = append(c.Events, r.keysOffEvent(a, &was, "another page takes over"))
		}
		a.Keys = &taken
		c.Events = append(c.Events, engine.EventAbout(r.env.Engine, event.AgentKeysOn, a, map[string]any{"from": from}))
		return nil
	})
	if err != nil {
		return daemon.KeysTaken{}, err
	}
	r.keys.begin(id, &keySession{id: session, heard: time.Now(), pressed: time.Now()})
	r.env.Wake(id)
	return taken, nil
}

// mayTakeKeys refuses keys for an agent without a pane, and all keys if a setting forbids them.
func (r *Room) mayTakeKeys(ctx context.Context, id int64) error {
	if _, err := agents.InPane(ctx, r.env, id); err != nil {
		return err
	}
	if r.env.Settings().NoKeys {
		return daemon.Errorf(daemon.KindForbidden, daemon.CodeKeysForbidden, "Keys from browsers are forbidden: dashboard.keys in config.yaml is false")
	}
	return nil
}

// EndKeys ends the session of keys of an agent, if it is that one.
func (r *Room) EndKeys(ctx context.Context, id int64, session string) (daemon.Agent, error) {
	a, err := r.env.Agent(ctx, id)
	if err != nil || a.Keys == nil || a.Keys.Session != session {
		return a, err
	}
	return r.stopKeys(ctx, id, session, "the page turned it off")
}

// stopKeys commits the end of a session of keys. The session ends first, so that no key is typed after the event.
func (r *Room) stopKeys(ctx context.Context, id int64, session, why string) (daemon.Agent, error) {
	was := r.keys.drop(id, session)
	return r.env.ChangeAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if a.Keys == nil || a.Keys.Session != session {
			return engine.ErrUnchanged
		}
		c.Events = []*event.Event{r.keysOffEvent(a, &was, why)}
		a.Keys = nil
		return nil
	})
}

// keysOffEvent makes the event about the end of the session that is on the agent's row. was is what the daemon remembers of it. It
// says how many keys were typed, and never which.
func (r *Room) keysOffEvent(a *daemon.Agent, was *keySession, why string) *event.Event {
	payload := map[string]any{"from": a.Keys.From, "why": why, "lasted": words.Took(r.env.Now().Sub(a.Keys.Since))}
	if was.id != "" { // else nobody knows how many
		payload["keys"] = was.keys
	}
	return engine.EventAbout(r.env.Engine, event.AgentKeysOff, a, payload)
}

// takesKeys reports whether the agent's pane takes keys from a browser.
func takesKeys(a *daemon.Agent) bool { return a.Keys != nil }

// keysOver says why the session of keys on an agent's row is over; "": it is not. again is when it may be over next.
func (r *Room) keysOver(a *daemon.Agent) (why string, again time.Duration) {
	why = "the daemon was restarted"
	r.keys.with(a.ID, func(s *keySession) {
		switch {
		case s == nil || s.id != a.Keys.Session:
			if r.env.TimeSpent(a.Keys.Since) < KeysGone {
				why, again = "", time.Second // BeginKeys may have committed the row, and remembers the session in a moment
			}
		case !a.Active():
			why = "the agent has ended"
		case r.env.Settings().NoKeys:
			why = "dashboard.keys forbids it"
		case time.Since(s.heard) >= KeysGone:
			why = "the page is gone"
		case time.Since(s.pressed) >= KeysIdle:
			why = fmt.Sprintf("no key for %s", words.Took(KeysIdle))
		default:
			why, again = "", min(KeysGone-time.Since(s.heard), KeysIdle-time.Since(s.pressed), time.Second)
		}
	})
	return why, again
}
