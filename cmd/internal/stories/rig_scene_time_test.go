//go:build e2e

package stories

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// stageTime gives some agents of the scene a past: the states of two days, and how full their windows were.
func (s *scene) stageTime() {
	s.r.t.Helper()
	for i, key := range []string{"old", "past", "building", "asks", "testing"} {
		s.live(s.agents[key], time.Duration(i)*7*time.Minute)
	}
	for i, use := range []float64{2, 5, 9} {
		s.commit(&daemon.Change{Samples: []daemon.ContextSample{{AgentID: s.agents["heir"], At: s.now.Add(time.Duration(i-4) * time.Minute), Tokens: 1, Percent: &use}}})
	}
}

// live commits what an agent did from 50 hours ago until five minutes ago: a turn each half hour, with a dialog now and then.
func (s *scene) live(id int64, late time.Duration) {
	s.r.t.Helper()
	c := &daemon.Change{}
	begin := s.now.Add(-50 * time.Hour)
	for at, n := begin, 0; at.Before(s.now.Add(-50 * time.Minute)); at, n = at.Add(30*time.Minute), n+1 {
		moment := at.Add(late)
		is := func(typ event.Type, took time.Duration) {
			e := s.newEvent(string(typ), id, map[string]any{})
			e.At, moment = moment, moment.Add(took)
			c.Events = append(c.Events, e)
		}
		if n == 0 {
			is(event.AgentCreated, time.Second)
		}
		is(event.AgentWorking, time.Duration(3+n%9)*time.Minute)
		if n%5 == 2 {
			is(event.AgentWaiting, 6*time.Minute)
			is(event.AgentWorking, 2*time.Minute)
		}
		if n%23 == 11 {
			is(event.AgentLimited, 25*time.Minute)
		} else {
			is(event.AgentIdle, 0)
		}
		use := 4 + float64(n*n%97)*0.3 + float64(n)*0.6
		c.Samples = append(c.Samples, daemon.ContextSample{AgentID: id, At: moment, Tokens: int64(2000 * use), Percent: &use})
	}
	s.commit(c)
}
