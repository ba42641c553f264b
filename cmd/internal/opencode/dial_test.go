package opencode

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux"
)

// TestAStrangersListenerGetsNothing: somebody has read the port in the list of processes, and listens there first.
func TestAStrangersListenerGetsNothing(t *testing.T) {
	own := value(tmux.FindProcess(os.Getpid()))(t)
	parent := value(tmux.FindProcess(os.Getppid()))(t)
	var heard atomic.Int32
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer l.Close()
	ask := func(agent tmux.Process) error {
		address := l.Listener.Addr().String()
		server := newServer(engine.Link{Process: agent, Server: runtimes.Server{Password: "secret"}}, "http://"+address,
			&http.Client{Transport: &http.Transport{DialContext: dialAgent(agent), DisableKeepAlives: true}})
		return server.call(t.Context(), http.MethodGet, "/global/health", nil, nil)
	}
	for _, inside := range []tmux.Process{own, parent} { // the listener runs inside the test's parent, too
		if err := ask(inside); err != nil {
			t.Error(err)
		}
	}
	for _, stranger := range []tmux.Process{{}, {PID: 1 << 30}} {
		wantErr(t, fmt.Sprintf("a listener that is not in process %d", stranger.PID), ask(stranger), engine.ErrStranger)
	}
	equal(t, "requests that were heard", heard.Load(), int32(2))
}
