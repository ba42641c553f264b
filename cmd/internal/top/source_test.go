package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux/warden/wardentest"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// answers is a daemon's HTTP, with what a test wants answered.
type answers struct {
	t      *testing.T
	client *api.Client

	mu     sync.Mutex
	away   bool
	asked  []string // method, path and body, but for the feed
	feeds  []string // the id after which each feed was opened
	bodies map[string]any
	events chan event.Event // what the feed tells
}

func newAnswers(t *testing.T) *answers {
	a := &answers{t: t, bodies: map[string]any{}, events: make(chan event.Event)}
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	a.client = api.NewTCPClient(server.URL, "")
	t.Cleanup(func() {
		a.client.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return a
}

func (a *answers) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	feed := r.URL.Path == "/api/events"
	a.mu.Lock()
	away := a.away
	answer, ok := a.bodies[r.Method+" "+r.URL.Path]
	switch {
	case feed:
		a.feeds = append(a.feeds, r.Header.Get("Last-Event-ID"))
	default:
		a.asked = append(a.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
	}
	a.mu.Unlock()
	switch {
	case away:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":"The database does not answer","code":"database_unavailable"}`)
	case feed:
		a.feed(w, r)
	default:
		if !ok {
			answer = []any{}
		}
		must(a.t, json.NewEncoder(w).Encode(answer))
	}
}

func (a *answers) feed(w http.ResponseWriter, r *http.Request) {
	flusher, _ := w.(http.Flusher)
	_, _ = io.WriteString(w, ": here\n\n")
	flusher.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-a.events:
			b, _ := json.Marshal(e)
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Type, b)
			flusher.Flush()
		}
	}
}

func (a *answers) reads() (asked, feeds []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked), slices.Clone(a.feeds)
}

func (a *answers) be(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

// watched runs a source, and returns what it sends.
func (a *answers) watched() <-chan tea.Msg {
	s := newSource(a.client)
	wardentest.Value(s.begin(a.t.Context()))(a.t)
	ctx, cancel := context.WithCancel(context.Background())
	sent, ended := make(chan tea.Msg), make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx, func(m tea.Msg) {
			select {
			case sent <- m:
			case <-ctx.Done():
			}
		})
	}()
	a.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return sent
}

// until waits for a message that is as it should be.
func until(t *testing.T, sent <-chan tea.Msg, what string, ok func(tea.Msg) bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		select {
		case m := <-sent:
			if ok(m) {
				return
			}
		case <-deadline:
			t.Fatal("not sent: " + what)
		}
	}
}

func isFresh(m tea.Msg) bool { _, ok := m.(freshMsg); return ok }

// However many events come, the daemon is asked ten times a second at most.
func TestReadsAreCoalesced(t *testing.T) {
	t.Parallel()
	a := newAnswers(t)
	sent := a.watched()
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		one := int64(1)
		for id := int64(1); ; id++ {
			select {
			case a.events <- event.Event{ID: id, Type: "agent_working", AgentID: &one, PipelineID: &one}:
			case <-stop:
				return
			}
		}
	}()
	until(t, sent, "the beginning", isFresh)
	before, _ := a.reads()
	begun := time.Now()
	const looks = 6
	for range looks {
		until(t, sent, "a look", isFresh)
	}
	asked, _ := a.reads()
	if n, took := len(asked)-len(before), time.Since(begun); n < looks || float64(n)/took.Seconds() > 15 { // of two reads some come at once
		t.Errorf("%d reads in %s", n, took)
	}
}

func TestHandoffsAreReadOneByOne(t *testing.T) {
	t.Parallel()
	a := newAnswers(t)
	a.bodies["GET /api/handoffs/7"] = handoff(7, 1, daemon.Briefing)
	sent := a.watched()
	until(t, sent, "the beginning", isFresh)
	id := int64(7)
	a.events <- event.Event{ID: 3, Type: "handoff_briefing", HandoffID: &id}
	until(t, sent, "the handoff", func(m tea.Msg) bool {
		s, ok := m.(freshMsg)
		return ok && len(s.handoffs) == 1 && s.handoffs[0].Phase == daemon.Briefing
	})
}

// A daemon that is away is said to be, and its feed goes on where it broke off.
func TestDaemonGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	a := newAnswers(t)
	sent := a.watched()
	until(t, sent, "the beginning", isFresh)
	one := int64(1)
	a.events <- event.Event{ID: 41, Type: "agent_idle", AgentID: &one}
	until(t, sent, "the event", isFresh)
	a.be(true)
	until(t, sent, "that it is away", func(m tea.Msg) bool {
		lost, ok := m.(lostMsg)
		return ok && lost.err.Error() == "The database does not answer"
	})
	a.be(false)
	until(t, sent, "that it is back", isFresh)
	a.events <- event.Event{ID: 42, Type: "agent_idle", AgentID: &one} // somebody listens
	if _, feeds := a.reads(); feeds[0] != "" || feeds[len(feeds)-1] != "41" {
		t.Errorf("feeds were opened after %q, want the last after 41", feeds)
	}
}

func TestNoDaemonToBeginWith(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Config{Client: api.NewClient(t.TempDir() + "/none.sock")})
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != "daemon_not_running" {
		t.Errorf("got %v", err)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	run := gate(3, 1)
	for _, c := range []struct {
		action action
		asked  []string
		said   string
	}{
		{action{verb: handOff, agent: 2, reason: " full ", text: " the login "},
			[]string{`POST /api/agents/2/handoff {"reason":"full","focus":"the login","mode":"","force":false}`}, "handoff 12 of agent 2 is under way"},
		{action{verb: cancelHandoff, agent: 2, handoff: 8}, []string{`DELETE /api/agents/2/handoff {"handoff_id":8}`}, "handoff 8 is cancelled; agent 2 lives on"},
		{action{verb: retryHandoff, handoff: 8}, []string{`POST /api/handoffs/8/retry {}`}, "handoff 8 goes on"},
		{action{verb: approve, pipeline: 3, step: 32, text: "fine "}, []string{`POST /api/pipelines/3/approve {"step_id":32,"comment":"fine"}`}, "pipeline 3 is approved and goes on"},
		{action{verb: reject, pipeline: 3, step: 32}, []string{`POST /api/pipelines/3/reject {"step_id":32,"comment":""}`}, "pipeline 3 is rejected; do this"},
		{action{verb: startAgent, start: agents.NewAgent{Persona: "p", Cwd: "~/app", Name: " n ", Prompt: "go\n", Columns: 80, Rows: 24}, home: "/srv/ann"},
			[]string{`POST /api/agents {"persona":"p","cwd":"/srv/ann/app","runtime":"","prompt":"go","name":"n","columns":80,"rows":24}`}, "agent 9 (n) is starting"},
		{action{verb: sendMessage, agent: 2, text: "one\ntwo"}, []string{`POST /api/agents/2/messages {"text":"one\ntwo","command":false}`}, "queued for agent 2"},
		{action{verb: stopAgent, agent: 2, force: true}, []string{`POST /api/agents/2/stop {"force":true}`}, "agent 2 is asked to stop"},
		{action{verb: renameAgent, agent: 2, text: " new "}, []string{`PATCH /api/agents/2 {"name":"new"}`}, "agent 2 is called new"},
		{action{verb: resumeAgents, ids: []int64{3, 4}}, []string{"POST /api/agents/3/resume {}", "POST /api/agents/4/resume {}"}, "2 sessions opened again, as agents 9, 10"},
	} {
		a := newAnswers(t)
		rejected := run
		rejected.Hint = "do this"
		a.bodies = map[string]any{
			"DELETE /api/agents/2/handoff": handoff(8, 2, daemon.Cancelled),
			"POST /api/agents/2/handoff":   map[string]any{"handoff_id": 12}, "POST /api/handoffs/8/retry": handoff(8, 2, daemon.Verifying),
			"POST /api/agents": daemon.Agent{ID: 9, Name: "n"}, "PATCH /api/agents/2": daemon.Agent{ID: 2, Name: "new"},
			"POST /api/agents/2/messages": daemon.Delivery{ID: 5, AgentID: 2}, "POST /api/agents/2/stop": daemon.Agent{ID: 2},
			"POST /api/agents/3/resume": daemon.Agent{ID: 9}, "POST /api/agents/4/resume": daemon.Agent{ID: 10},
			"POST /api/pipelines/3/approve": run, "POST /api/pipelines/3/reject": rejected,
		}
		msg := c.action.do(t.Context(), a.client)
		said := msg.said
		if msg.err != nil {
			said = msg.err.Error()
		}
		if asked, _ := a.reads(); said != c.said || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: said %q after %q", c.action, said, asked)
		}
	}
}

// What was used today is asked for once a minute, for all agents at once, and shown with the agent and in the title.
func TestUsageIsReadOnce(t *testing.T) {
	t.Parallel()
	a := newAnswers(t)
	cost := 1.5
	a.bodies["GET /api/agents"] = []daemon.Agent{agent(7, daemon.Idle, 1), agent(8, daemon.Idle, 1)}
	a.bodies["GET /api/usage"] = views.UsageReport{By: views.UsageByAgent, Rows: []views.UsageRow{{Of: "7", Total: 42_000, CostUSD: &cost}}, Total: views.UsageRow{Total: 50_000}}
	s := newSource(a.client)
	for range 3 {
		wardentest.Value(s.read(t.Context(), changes{everything: true}))(t)
	}
	asked, _ := a.reads()
	equal(t, "usage was asked for", strings.Count(strings.Join(asked, "\n"), "GET /api/usage"), 1)
	s.counted = s.counted.Add(-countAgain)
	delete(a.bodies, "GET /api/usage") // an answer that makes no sense
	if _, err := s.read(t.Context(), changes{agents: true}); err != nil {
		t.Errorf("without an answer about usage there is no list: %v", err)
	}
	m := opened(t, s.seen())
	m.now = noon
	if lines := m.screenLines(); !strings.Contains(lines[0], "today 50k tokens") || !strings.Contains(m.bare(), "42k $1.50") {
		t.Errorf("it shows\n%s", m.bare())
	}
}
