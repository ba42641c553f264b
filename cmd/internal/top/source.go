package top

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

const (
	pace      = 100 * time.Millisecond // for each read: there are at most ten a second
	lookAgain = 2 * time.Second        // what no event tells of: how full a context is, and that the daemon is gone
	wholly    = 5                      // each so many looks everything is read
	comeBack  = 500 * time.Millisecond // until a daemon that is away is asked again
	patience  = 10 * time.Second       // for one look
	page      = 100                    // rows of a list
	single    = 3                      // so many handoffs are read one by one
)

// freshMsg is what there is, as of now.
type freshMsg snapshot

// lostMsg says that the daemon can't be read.
type lostMsg struct{ err error }

// source reads the daemon. One goroutine calls run; the feed's, which that one owns, only notes what
// has changed.
type source struct {
	client   *api.Client
	agents   []daemon.Agent
	handoffs map[int64]daemon.Handoff
	needs    []daemon.Attention

	wake chan struct{} // of size 1: something is noted

	mu      sync.Mutex
	noted   changes
	last    int64 // the newest event; negative: none yet
	breakUp context.CancelFunc
}

// changes are what must be read again.
type changes struct {
	everything, agents bool // with agents all that needs a person
	handoffs           map[int64]bool
}

func newSource(c *api.Client) *source {
	return &source{client: c, handoffs: map[int64]daemon.Handoff{}, wake: make(chan struct{}, 1), last: -1, breakUp: func() {}}
}

// begin reads everything, or says why that can't be.
func (s *source) begin(ctx context.Context) (snapshot, error) {
	_, err := s.read(ctx, changes{everything: true})
	return s.seen(), err
}

// run sends what changes, until ctx ends.
func (s *source) run(ctx context.Context, send func(tea.Msg)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.follow(ctx)
	}()
	defer func() { <-ended }()
	s.note(changes{everything: true}) // between begin and the feed something may have happened
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
				s.cut() // else the feed would come back later than the lists
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

// await waits until something is noted, or for a time; when the daemon is away for that alone. It
// returns false when ctx has ended.
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

// follow notes what the events of the feed concern, until ctx ends.
func (s *source) follow(ctx context.Context) {
	for ctx.Err() == nil {
		once, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		s.breakUp = cancel
		last := s.last
		s.mu.Unlock()
		_ = s.client.Follow(once, last, nil, s.hear) // why it ended the next read tells
		cancel()
		pause(ctx, comeBack)
	}
}

// cut ends the feed that is open, or waits to be; follow opens the next one.
func (s *source) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakUp()
}

// hear notes what an event concerns.
func (s *source) hear(e daemon.Event) error {
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
	default: // it was told, and has not looked yet
	}
}

// take returns what was noted since it was last called; agents are read at each look.
func (s *source) take() changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.noted
	s.noted = changes{}
	c.agents = true
	return c
}

// read reads what is due, and returns how many reads that took.
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
	return reads + n, slow(ctx, err)
}

// errSlow is what the operator reads of a look that took too long.
var errSlow = &daemon.Error{Kind: daemon.KindUnavailable, Code: "no_answer", Message: "the daemon does not answer: look at its log"}

func slow(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return errSlow
	}
	return err
}

// readAgents reads all that have not ended.
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

// seen is what was read last.
func (s *source) seen() snapshot {
	list := slices.SortedFunc(maps.Values(s.handoffs), func(a, b daemon.Handoff) int { return cmp.Compare(b.ID, a.ID) })
	return snapshot{at: time.Now(), agents: s.agents, handoffs: list, needs: s.needs}
}
