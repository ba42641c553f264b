package tell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/presence"
)

// alertRows is the store of a teller. Everything happens in one bubble of synctest.
type alertRows struct {
	mu        sync.Mutex
	events    []event.Event
	state     map[int64]string // by the id of the event: "", told or spared
	pushes    []Push
	marks     []map[string]any // the payloads of the events given to MarkAlerted
	want      Preferences
	waits     map[int64]bool // the agents that wait for a person
	pipelines map[int64]bool // the pipelines that do
	fails     error          // of MarkAlerted, while not nil
}

func (s *alertRows) PendingAlerts(_ context.Context, _ string, limit int) ([]event.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := map[int64]int{} // of a notice, within its topic
	count := map[string]int{}
	var pending []event.Event
	for _, e := range s.events {
		if s.state[e.ID] != "" {
			continue
		}
		pending = append(pending, e)
		if !e.Alert {
			count[noticeTopic(&e)]++
			place[e.ID] = count[noticeTopic(&e)]
		}
	}
	slices.SortStableFunc(pending, func(a, b event.Event) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return pending[:min(limit, len(pending))], nil
}

// change changes the rows as another writer would.
func (s *alertRows) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
}

func (s *alertRows) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.fails, ctx.Err()); err != nil {
		return err
	}
	for _, id := range ids {
		if s.state[id] != "" {
			return nil
		}
	}
	for _, id := range ids {
		s.state[id] = "spared"
		if told != nil {
			s.state[id] = "told"
		}
	}
	s.pushes = append(s.pushes, pushes...)
	if told != nil {
		var payload map[string]any
		_ = json.Unmarshal(told.Payload, &payload)
		s.marks = append(s.marks, payload)
	}
	return nil
}

func (s *alertRows) NotificationPreferences(context.Context, string) (Preferences, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want, nil
}

func (s *alertRows) Over(_ context.Context, e *event.Event) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.PipelineID != nil {
		return !s.pipelines[*e.PipelineID], nil
	}
	return !s.waits[*e.AgentID], nil
}

// desk is a notifier that notes each notification and its time.
type desk struct {
	mu    sync.Mutex
	began time.Time
	shown []string
	takes time.Duration
	deaf  bool // Notify goes on when its context ends
	fails error
}

func (d *desk) Notify(ctx context.Context, n Notification) (string, error) {
	line := fmt.Sprintf("%s %s", time.Since(d.began), strings.TrimPrefix(n.Title, "understudy: "))
	if n.Urgent {
		line += "!"
	}
	d.mu.Lock()
	d.shown = append(d.shown, line)
	takes, fails := d.takes, d.fails
	if d.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	d.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return "log", context.Cause(ctx)
	}
	if fails != nil {
		return "log", fails
	}
	return "desktop", nil
}

// telling is one story: a teller, its store and its notifier.
type telling struct {
	t     *testing.T
	rows  *alertRows
	desk  *desk
	alarm chan struct{}
	stop  func()
	there presence.Presence // the daemon's
	ahead atomic.Int64      // how far the wall clock is ahead, in nanoseconds
}

// tellers runs a story in a bubble of its own, in which time passes when every goroutine waits.
func tellers(t *testing.T, story func(*telling)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &telling{t: t, alarm: make(chan struct{}, 1), desk: &desk{began: time.Now()}, rows: &alertRows{
			state: map[int64]string{}, want: DefaultPreferences, waits: map[int64]bool{}, pipelines: map[int64]bool{},
		}}
		s.start()
		story(s)
		s.stop()
	})
}

// start has the teller of a new daemon work on the rows.
func (s *telling) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	now := func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	tells := New(Config{
		Host: "h", Store: s.rows, Log: slog.New(slog.DiscardHandler), Notifier: s.desk, Clock: now, Routes: []Route{{Name: "phone"}},
		Spent: func(since time.Time) time.Duration { return s.there.Spent(since, now()) },
		Kept:  func(phase string) bool { return phase == "briefing" },
	})
	go func() { defer close(ended); tells.Run(ctx, s.alarm) }()
	s.stop = func() { cancel(); <-ended }
}

// waits commits a notice that an agent waits; done, that its handoff is completed; fails commits an alert.
func (s *telling) waits(agent int64) {
	s.rows.change(func() { s.rows.waits[agent] = true })
	s.add(event.Event{Type: "agent_waiting", AgentID: &agent, Notice: event.NoticeWaiting})
}

func (s *telling) done(agent int64) {
	s.add(event.Event{Type: "handoff_completed", AgentID: &agent, Notice: event.NoticeCompleted})
}

func (s *telling) fails(agent int64) {
	s.add(event.Event{Type: "agent_failed", AgentID: &agent, Alert: true})
}

// add commits events and waits until the teller can do no more.
func (s *telling) add(events ...event.Event) {
	s.rows.change(func() {
		for _, e := range events {
			e.ID = int64(len(s.rows.events) + 1)
			if e.At.IsZero() {
				e.At = time.Now()
			}
			s.rows.events = append(s.rows.events, e)
		}
	})
	select {
	case s.alarm <- struct{}{}:
	default:
	}
	synctest.Wait()
}

// pass lets time pass.
func (s *telling) pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// shown returns what was shown so far; marks, the payloads of the events that say so.
func (s *telling) shown() []string {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	return slices.Clone(s.desk.shown)
}

func (s *telling) marks() (list []map[string]any) {
	s.rows.change(func() { list = slices.Clone(s.rows.marks) })
	return list
}

// shows fails unless exactly want was shown so far.
func (s *telling) shows(want ...string) {
	s.t.Helper()
	equal(s.t, "shown", s.shown(), want)
}

// settled fails unless the events have the states in want, in order.
func (s *telling) settled(want string) {
	s.t.Helper()
	var got []string
	s.rows.change(func() {
		for _, e := range s.rows.events {
			got = append(got, s.rows.state[e.ID])
		}
	})
	equal(s.t, "events are", strings.Join(got, " "), want)
}

func TestNoticesOfAnAgentAreHeld(t *testing.T) {
	tellers(t, func(s *telling) {
		s.waits(1)
		s.pass(time.Second)
		s.done(1)
		s.waits(1)
		s.waits(2) // a notice of another agent is not held
		s.pass(time.Second)
		s.fails(1) // an alert is not held
		s.fails(1)
		s.done(1)
		s.shows("0s agent waiting (agent 1)", "1s agent waiting (agent 2)", "2s agent failed (agent 1)!", "2s agent failed (agent 1)!")
		s.settled("told   told told told ")
		s.pass(10 * time.Second)
		s.shows("0s agent waiting (agent 1)", "1s agent waiting (agent 2)", "2s agent failed (agent 1)!", "2s agent failed (agent 1)!",
			"5s handoff completed (agent 1), and 2 more")
		s.settled("told told told told told told told")
		last := s.marks()[len(s.marks())-1]
		equal(t, "the event that says so", fmt.Sprintf("%v %v %v", last["merged"], last["event_id"], last["kind"]), "[2 3] 7 completed")
		s.done(1) // the gap is over
		equal(t, "after the gap", s.shown()[len(s.shown())-1], "12s handoff completed (agent 1)")
	})
}

func TestNoticesOfPipelinesAreHeld(t *testing.T) {
	tellers(t, func(s *telling) {
		pipeline, other := int64(7), int64(8)
		s.rows.change(func() { s.rows.pipelines[pipeline], s.rows.pipelines[other] = true, true })
		for range 3 {
			s.add(event.Event{Type: "pipeline_waiting_for_approval", PipelineID: &pipeline, Notice: event.NoticeWaiting})
		}
		s.add(event.Event{Type: "pipeline_waiting_for_approval", PipelineID: &other, Notice: event.NoticeWaiting})
		s.rows.change(func() { s.rows.pipelines[pipeline] = false }) // approved
		s.pass(10 * time.Second)
		s.shows("0s pipeline waiting for approval (pipeline 7)", "0s pipeline waiting for approval (pipeline 8)")
		s.settled("told spared spared told")
	})
}

func TestUnwantedAndLateNoticesAreNotTold(t *testing.T) {
	tellers(t, func(s *telling) {
		s.waits(1)
		s.waits(1)
		s.pass(time.Second)
		s.rows.change(func() { s.rows.waits[1] = false }) // somebody has answered
		s.pass(10 * time.Second)
		s.settled("told spared")

		gone := int64(9)
		s.add(event.Event{Type: "agent_waiting", AgentID: &gone, Notice: event.NoticeWaiting})
		s.rows.change(func() { s.rows.want.Completed = false })
		s.done(2)
		s.rows.change(func() { s.rows.want.Completed, s.rows.want.Waiting = true, false })
		s.waits(3)
		s.done(4)
		s.settled("told spared spared spared spared told")

		// Notices of a time in which no daemon ran are too old; alerts are never too old.
		s.stop()
		old, agent := time.Now(), int64(5)
		s.pass(noticeStale + time.Second)
		s.add(event.Event{Type: "handoff_completed", AgentID: &agent, Notice: event.NoticeCompleted, At: old})
		s.add(event.Event{Type: "agent_failed", AgentID: &agent, Alert: true, At: old})
		s.done(6)
		s.start()
		synctest.Wait()
		s.settled("told spared spared spared spared told spared told told")
	})
}

// TestHeldNoticesHoldNothingUp: more notices of one agent are held than the teller reads at once; others are told all
// the same.
func TestHeldNoticesHoldNothingUp(t *testing.T) {
	tellers(t, func(s *telling) {
		agent := int64(1)
		noisy := slices.Repeat([]event.Event{{Type: "handoff_completed", AgentID: &agent, Notice: event.NoticeCompleted}}, 2*alertsAtOnce+1)
		s.done(1)
		s.add(noisy...)
		s.fails(1)
		s.done(2)
		s.shows("0s handoff completed (agent 1)", "0s agent failed (agent 1)!", "0s handoff completed (agent 2)")
		s.pass(20 * time.Second)
		s.settled(strings.TrimSpace(strings.Repeat("told ", len(noisy)+3)))
		s.shows("0s handoff completed (agent 1)", "0s agent failed (agent 1)!", "0s handoff completed (agent 2)",
			"5s handoff completed (agent 1), and 199 more", "10s handoff completed (agent 1), and 199 more", "15s handoff completed (agent 1)")
	})
}

// TestSparedNoticesHoldNothingUp: the teller passes over a page full of notices that are not told, at once.
func TestSparedNoticesHoldNothingUp(t *testing.T) {
	tellers(t, func(s *telling) {
		s.pass(time.Second) // the teller has nothing to tell and waits
		var spared []event.Event
		for agent := range int64(alertsAtOnce) { // none of these agents waits
			spared = append(spared, event.Event{Type: "agent_waiting", AgentID: &agent, Notice: event.NoticeWaiting})
		}
		behind := int64(alertsAtOnce)
		s.add(append(spared, event.Event{Type: "handoff_completed", AgentID: &behind, Notice: event.NoticeCompleted})...)
		s.shows("1s handoff completed (agent 200)")
	})
}

// TestAlertsGoFirst: an alert that comes while a notification is shown is told before the notices that wait.
func TestAlertsGoFirst(t *testing.T) {
	tellers(t, func(s *telling) {
		s.desk.mu.Lock()
		s.desk.takes, s.desk.fails = 2*time.Second, errors.New("no desktop")
		s.desk.mu.Unlock()
		for id := range int64(3) {
			s.done(id)
		}
		s.fails(9)
		s.pass(20 * time.Second)
		s.shows("0s handoff completed (agent 0)", "2s agent failed (agent 9)!", "4s handoff completed (agent 1)", "6s handoff completed (agent 2)")
		if second := s.marks()[1]; second["error"] != "no desktop" || second["channel"] != "log" {
			t.Errorf("marked with %v", second)
		}
	})
}

// TestNothingIsToldTwice: while the store does not take the mark of a told alert, nothing is told.
func TestNothingIsToldTwice(t *testing.T) {
	tellers(t, func(s *telling) {
		s.rows.change(func() { s.rows.fails = errors.New("disk full") })
		s.fails(1)
		s.fails(2)
		s.pass(time.Minute)
		s.shows("0s agent failed (agent 1)!")
		s.rows.change(func() { s.rows.fails = nil })
		s.pass(10 * time.Second)
		s.settled("told told")
		s.stop()
		s.start()
		s.pass(10 * time.Second)
		if len(s.shown()) != 2 || len(s.marks()) != 2 {
			t.Errorf("shown %q, marked with %v", s.shown(), s.marks())
		}
	})
}

// TestStopWhileTelling: the next daemon tells a notification that was cut off, and does not repeat one that was shown.
func TestStopWhileTelling(t *testing.T) {
	tellers(t, func(s *telling) {
		s.desk.mu.Lock()
		s.desk.takes = time.Second
		s.desk.mu.Unlock()
		s.fails(1)
		s.stop()
		s.settled("")
		s.start()
		s.pass(time.Second)
		s.settled("told")
		s.shows("0s agent failed (agent 1)!", "0s agent failed (agent 1)!")
		s.desk.mu.Lock()
		s.desk.deaf = true
		s.desk.mu.Unlock()
		s.fails(2)
		s.stop()
		s.settled("told told")
		s.start()
	})
}

var equal = wardentest.Equal

// TestSecretsAreNotTold: an event that another version has stored is masked where it is told. This version masks it before.
func TestSecretsAreNotTold(t *testing.T) {
	secret := "glpat-" + "x7Kq2LmZ9xTb4WcV1nYs"
	tellers(t, func(s *telling) {
		about := map[string]any{"message": "It printed \"" + secret + "\"."}
		raw := wardentest.Value(json.Marshal(about))(t)
		for i, payload := range []json.RawMessage{raw, event.Payload(about)} {
			s.add(event.Event{Type: "agent_failed", Alert: true, Payload: payload})
			if said := fmt.Sprint(s.marks()[i]["message"]); said != `It printed "glpat-x7…[masked: gitlab-token]".` || i == 1 && strings.Contains(string(payload), secret) {
				t.Errorf("told %s of %s", said, payload)
			}
			if pushed := fmt.Sprintf("%+v", s.rows.pushes); len(s.rows.pushes) <= i || strings.Contains(pushed, secret) {
				t.Errorf("pushed %s", pushed)
			}
		}
	})
}
