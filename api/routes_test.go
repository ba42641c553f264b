package api

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// readStore notes whether agents were read as a reader; see [daemon.AsReader].
type readStore struct {
	daemon.Store
	mu       sync.Mutex
	asReader map[string]bool // by what was read
}

func (s *readStore) note(what string, ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asReader[what] = daemon.IsReader(ctx)
}

func (s *readStore) Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error) {
	if f.Host == "" { // with a host it is the daemon's own read
		s.note("list", ctx)
	}
	return s.Store.Agents(ctx, f)
}

func (s *readStore) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	s.note("one", ctx)
	return s.Store.Agent(ctx, id)
}

// TestReadsAreServedApart: a GET request uses the connections for readers, a request that changes something those for hooks.
func TestReadsAreServedApart(t *testing.T) {
	t.Parallel()
	store := &readStore{asReader: map[string]bool{}}
	h := build(t, func(s *Server) {
		store.Store = s.Daemon.Store
		s.Daemon.Store = store
	})
	h.mainDoor().do(http.MethodGet, "/api/agents", "")
	h.mainDoor().do(http.MethodPost, "/api/agents/1/messages", `{"text":"x"}`)
	store.mu.Lock()
	defer store.mu.Unlock()
	if !store.asReader["list"] || store.asReader["one"] || len(store.asReader) != 2 {
		t.Errorf("read apart: %v", store.asReader)
	}
}
