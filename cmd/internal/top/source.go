package top

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/event"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/calendar"
	"github.com/understudyd/understudy/daemon/views"
)

const (
	pace       = 100 * time.Millisecond // the pause for each read, so that there are at most ten a second
	lookAgain  = 2 * time.Second        // between two looks, because no event reports a fuller context or the end of the daemon
	wholly     = 5                      // every fifth look reads everything
	comeBack   = 500 * time.Millisecond // the time between two attempts to reach a daemon that is away
	patience   = 10 * time.Second       // the time limit for one look
	page       = 100                    // the number of rows of a list
	countAgain = time.Minute            // between two questions what was used today
	single     = 3                      // up to three changed handoffs are read one by one, more of them as a list
)

// freshMsg is a new snapshot.
type freshMsg snapshot

// lostMsg says why the source can't read the daemon.
type lostMsg struct{ err error }

// source reads the daemon. One goroutine calls run. run starts a second goroutine that follows the feed and only notes
// what has changed.
type source struct {
	client   *api.Client
	agents   []daemon.Agent
	handoffs map[int64]daemon.Handoff
	needs    []views.Attention
	usage    usage
	counted  time.Time // when usage was asked for

	wake chan struct{} // capacity 1; it holds a token if there is an unread note

	mu      sync.Mutex
	noted   changes
	last    int64 // the id of the newest event; negative before the first event
	breakUp context.CancelFunc
}

// changes names the data that must be read again.
type changes struct {
	everything, agents bool // agents includes all needs of a person
	handoffs           map[int64]bool
}

func newSource(c *api.Client) *source {
	return &source{client: c, handoffs: map[int64]daemon.Handoff{}, wake: make(chan struct{}, 1), last: -1, breakUp: func() {}}
}

// begin reads everything. If it can't, it returns the reason.
func (s *source) begin(ctx context.Context) (snapshot, error) {
	_, err := s.read(ctx, changes{everything: true})
	return s.seen(), err
}

// run sends a snapshot after each change, until ctx ends.
func (s *source) run(ctx context.Context, send func(tea.Msg)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.follow(ctx)
	}()
	defer func() { <-ended }()
	s.note(changes{everything: true}) // no event of this feed reports changes between begin and the feed
	away := false
	for looks := 1; ctx.Err() == nil; looks++ {
		rest := lookAgain
		if away {
			rest = comeBack
		}
		if !s.await(ctx, rest, away) {
			return
		}
		due := s.take()
		due.everything = due.everything || away || looks%wholly == 0
		reads, err := s.read(ctx, due)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !away {
				s.cut() // otherwise the lists would be back before the feed
			}
			away = true
			send(lostMsg{err})
		default:
			away = false
			send(freshMsg(s.seen()))
		}
		pause(ctx, time.Duration(reads)*pace)
	}
}

// await waits for a note, but not longer than rest. While the daemon is away, it always waits for rest. It returns false
// if ctx has ended.
func (s *source) await(ctx context.Context, rest time.Duration, away bool) bool {
	wake := s.wake
	if away {
		wake = nil
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-timer.C:
	}
	return true
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// follow reads the feed and notes which data its events change, until ctx ends.
func (s *source) follow(ctx context.Context) {
	for ctx.Err() == nil {
		once, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		s.breakUp = cancel
		last := s.last
		s.mu.Unlock()
		_ = s.client.Follow(once, last, nil, s.hear) // ignore the error: the next read returns the same one
		cancel()
		pause(ctx, comeBack)
	}
}

// cut ends the open feed, or the wait for a feed. Then follow opens the next feed.
func (s *source) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakUp()
}

// hear notes which data an event changes.
func (s *source) hear(e event.Event) error {
	due := changes{agents: e.AgentID != nil || e.PipelineID != nil}
	if e.HandoffID != nil {
		due.handoffs = map[int64]bool{*e.HandoffID: true}
	}
	s.mu.Lock()
	s.last = e.ID
	s.mu.Unlock()
	s.note(due)
	return nil
}

func (s *source) note(c changes) {
	s.mu.Lock()
	n := &s.noted
	n.everything, n.agents = n.everything || c.everything, n.agents || c.agents
	if n.handoffs == nil {
		n.handoffs = map[int64]bool{}
	}
	maps.Copy(n.handoffs, c.handoffs)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // run has an unread note
	}
}

// take returns the notes since its last call. It always adds the agents, because each look reads them.
func (s *source) take() changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.noted
	s.noted = changes{}
	c.agents = true
	return c
}

// read reads the changed data, and returns the number of reads.
func (s *source) read(ctx context.Context, due changes) (reads int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	if due.agents || due.everything {
		n, err := s.readAgents(ctx)
		if reads += n; err != nil {
			return reads, slow(ctx, err)
		}
		reads++
		if s.needs, err = s.client.Attention(ctx); err != nil {
			return reads, slow(ctx, err)
		}
	}
	n, err := s.readHandoffs(ctx, due)
	if reads += n; err != nil || time.Since(s.counted) < countAgain {
		return reads, slow(ctx, err)
	}
	s.readUsage(ctx)
	return reads + 1, nil
}

// readUsage reads what was used since midnight, of all agents at once. If it can't, the last numbers stay: the next look
// tells of a daemon that is away.
func (s *source) readUsage(ctx context.Context) {
	s.counted = time.Now()
	report, err := s.client.Usage(ctx, views.UsageByAgent, daemon.UsageQuery{Since: calendar.DayBegins(s.counted, 0)})
	if err == nil {
		s.usage = usage{report.ByAgent(), report.Total}
	}
}

// errSlow is the error of a look that took longer than patience, or of an action that took longer than actionTime.
var errSlow = &daemon.Error{Kind: daemon.KindUnavailable, Code: "no_answer", Message: "the daemon does not answer: look at its log"}

func slow(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return errSlow
	}
	return err
}

// readAgents reads all agents that have not ended.
func (s *source) readAgents(ctx context.Context) (reads int, err error) {
	o := api.ListOptions{State: "active", Limit: page}
	var all []daemon.Agent
	for {
		reads++
		list, err := s.client.Agents(ctx, o)
		if err != nil {
			return reads, err
		}
		all = append(all, list...)
		if len(list) < page {
			s.agents = all
			return reads, nil
		}
		o.Before = list[len(list)-1].ID
	}
}

func (s *source) readHandoffs(ctx context.Context, due changes) (reads int, err error) {
	if !due.everything && len(due.handoffs) <= single {
		for id := range due.handoffs {
			reads++
			h, err := s.client.Handoff(ctx, id)
			if err != nil {
				return reads, err
			}
			s.handoffs[id] = h
		}
		return reads, nil
	}
	all := map[int64]daemon.Handoff{}
	for _, status := range []daemon.Status{"", daemon.StatusPending, daemon.StatusInProgress} {
		reads++
		list, err := s.client.Handoffs(ctx, api.ListOptions{Status: string(status), Limit: page})
		if err != nil {
			return reads, err
		}
		for _, h := range list {
			all[h.ID] = h
		}
	}
	s.handoffs = all
	return reads, nil
}

// seen returns the newest snapshot.
func (s *source) seen() snapshot {
	list := slices.SortedFunc(maps.Values(s.handoffs), func(a, b daemon.Handoff) int { return cmp.Compare(b.ID, a.ID) })
	return snapshot{at: time.Now(), agents: s.agents, handoffs: list, needs: s.needs, usage: s.usage}
}
