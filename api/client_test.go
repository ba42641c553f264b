package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

func TestClientWithoutDaemon(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	stale := filepath.Join(dir, "stale.sock")
	l := value(ListenUnix(stale))(t)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	must(t, l.Close())
	free := value(ListenTCP(t.Context(), "127.0.0.1:0", false))(t)
	must(t, free.Close())
	for what, client := range map[string]*Client{
		"no socket":      NewClient(filepath.Join(dir, "none.sock")),
		"stale socket":   NewClient(stale),
		"no such folder": NewClient("/nowhere/at/all.sock"),
		"closed port":    NewTCPClient("http://"+free.Addr().String()+"/", "token"),
	} {
		_, err := client.Agents(t.Context(), ListOptions{})
		follow := client.Follow(t.Context(), 0, nil, func(event.Event) error { return nil })
		for _, err := range []error{err, follow} {
			var told *daemon.Error
			if !errors.As(err, &told) || told.Kind != daemon.KindUnavailable || told.Message != "the daemon is not running: start it with `understudy serve`" {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed(NewClient(stale).Health(ctx))(t, "a cancelled call", context.Canceled)
}

// TestNobodyToCall: a client that does not know whom to call says why at once, whatever it is asked.
func TestNobodyToCall(t *testing.T) {
	t.Parallel()
	why := errors.New("there is no home directory")
	c := NoClient(why)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, call := c.Agents(ctx, ListOptions{})
	for what, err := range map[string]error{
		"call":   call,
		"feed":   c.Follow(ctx, 0, nil, func(event.Event) error { return nil }),
		"export": c.ExportAudit(ctx, daemon.AuditFilter{}, "json", io.Discard),
	} {
		if !errors.Is(err, why) || err.Error() != why.Error() {
			t.Errorf("%s: %v, want %v", what, err, why)
		}
	}
}

func TestTCPClient(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	client := NewTCPClient("http://"+h.tcp, h.token)
	defer client.Close()
	equal(t, "health", value(client.Health(t.Context()))(t).Status, "ok")
	h.events(1, "agent_idle", nil)
	wantErr(t, "follow", client.Follow(t.Context(), 0, nil, func(e event.Event) error { return errEnough }), errEnough)
	stranger := NewTCPClient("http://"+h.tcp, "x")
	defer stranger.Close()
	refused(stranger.Health(t.Context()))(t, daemon.KindUnauthorized, "token_required", "")
	wantError(t, stranger.Follow(t.Context(), 0, nil, func(event.Event) error { return nil }), daemon.KindUnauthorized, "token_required", "")
}

// TestClientOddAnswers: the client calls servers that are not the daemon.
func TestClientOddAnswers(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		status int
		body   string
		kind   daemon.Kind
		code   string
	}{
		"a page":        {502, "<html>", daemon.KindInternal, "status_502"},
		"no sentence":   {404, "{}", daemon.KindNotFound, "status_404"},
		"a new status":  {418, `{"error": "Later", "code": "later"}`, daemon.KindInvalid, "later"},
		"a fault":       {500, `{"error": "Internal error", "code": "internal"}`, daemon.KindInternal, "internal"},
		"a redirection": {304, "", daemon.KindInvalid, "status_304"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, row.body)
		}))
		client := NewTCPClient(server.URL, "")
		_, err := client.Agent(t.Context(), 1)
		var told *daemon.Error
		if !errors.As(err, &told) || told.Kind != row.kind || string(told.Code) != row.code || told.Message == "" {
			t.Errorf("%s: %#v", what, err)
		}
		client.Close()
		server.Close()
	}
}

// TestFollowSurvivesARestart: the daemon ends and another one starts.
func TestFollowSurvivesARestart(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	first := make(chan int64)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	client := NewClient(h.main)
	defer client.Close()
	go func() {
		done <- client.Follow(ctx, -1, []string{"agent_idle"}, func(e event.Event) error {
			first <- e.ID
			return nil
		})
	}()
	tmuxtest.Eventually(t, "it follows", func() bool { return h.server.subscribers.Load() == 1 })
	h.events(1, "agent_working", nil)
	h.events(1, "agent_idle", nil)
	equal(t, "first event", <-first, 2)
	must(t, h.quit())
	h.events(1, "agent_idle", nil) // while no server runs

	next := New(h.server.Config)
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	ls := Listeners{Main: value(ListenUnix(h.main))(t), Hook: value(ListenUnix(h.hook))(t)}
	go func() { served <- next.Serve(serving, ls) }()
	defer func() { stop(); must(t, <-served) }()
	equal(t, "event of the time between", <-first, 3)

	// Follow ends with its context, even while it waits for a daemon.
	begun := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || time.Since(begun) > time.Second {
		t.Errorf("it ended with %v after %v", err, time.Since(begun))
	}
}

func TestServeTellsWhichListenerFailed(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	s := New(Config{House: house.New(engine.Config{Store: memory.New()})}) // whose log the server follows
	ls := Listeners{Main: value(ListenUnix(filepath.Join(dir, "a")))(t), Hook: value(ListenUnix(filepath.Join(dir, "b")))(t)}
	must(t, ls.Hook.Close())
	wantErr(t, "Serve", s.Serve(t.Context(), ls), net.ErrClosed, filepath.Join(dir, "b"))
	failed(os.Stat(filepath.Join(dir, "a")))(t, "the other socket is left", os.ErrNotExist)
}
