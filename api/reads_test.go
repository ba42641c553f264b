package api

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// apartStore notes how agents were read.
type apartStore struct {
	daemon.Store
	mu    sync.Mutex
	apart map[string]bool // by what was read
}

func (s *apartStore) note(what string, ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apart[what] = daemon.IsReader(ctx)
}

func (s *apartStore) Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error) {
	if f.Host == "" { // else it is the daemon's own work
		s.note("list", ctx)
	}
	return s.Store.Agents(ctx, f)
}

func (s *apartStore) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	s.note("one", ctx)
	return s.Store.Agent(ctx, id)
}

// TestReadsAreServedApart: what is asked with GET has connections of its own, what changes something has those of hooks.
func TestReadsAreServedApart(t *testing.T) {
	t.Parallel()
	store := &apartStore{apart: map[string]bool{}}
	h := build(t, func(s *Server) {
		store.Store = s.Daemon.Store
		s.Daemon.Store = store
	})
	h.mainDoor().do(http.MethodGet, "/api/agents", "")
	h.mainDoor().do(http.MethodPost, "/api/agents/1/messages", `{"text":"x"}`)
	store.mu.Lock()
	defer store.mu.Unlock()
	if !store.apart["list"] || store.apart["one"] || len(store.apart) != 2 {
		t.Errorf("read apart: %v", store.apart)
	}
}
