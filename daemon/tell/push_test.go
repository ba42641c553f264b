package tell

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// TestRoutes: which events go to which target. The news that a target is down goes to the others.
func TestRoutes(t *testing.T) {
	t.Parallel()
	routes := []Route{
		{Name: "all"}, {Name: "errors", Levels: []string{"error"}}, {Name: "waits", Levels: []string{"waiting"}},
		{Name: "handoffs", Types: []string{"handoff_*", "agent_stuck"}},
	}
	agent := int64(7)
	for _, tt := range []struct {
		e    event.Event
		want string
	}{
		{event.Event{Type: "handoff_failed", Alert: true}, "all errors handoffs"},
		{event.Event{Type: "agent_stuck", Alert: true}, "all errors handoffs"},
		{event.Event{Type: "agent_stuck_more", Alert: true}, "all errors"},
		{event.Event{Type: "agent_waiting", Notice: event.NoticeWaiting}, "all waits"},
		{event.Event{Type: "handoff_completed", Notice: event.NoticeCompleted}, "all handoffs"},
		{event.Event{Type: event.NotificationFailed, Alert: true, Payload: event.Payload(map[string]any{"target": "all"})}, "errors"},
	} {
		tt.e.ID, tt.e.Host, tt.e.At, tt.e.AgentID = 12, "h", time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), &agent
		var names []string
		for _, p := range pushesFor(routes, []event.Event{tt.e}, &Notification{Title: "t", Message: "m"}, time.Now()) {
			names = append(names, p.Target)
			if p.Key != "understudy-12-motptv3c-"+p.Target || p.Message.EventID != 12 || *p.Message.AgentID != 7 {
				t.Errorf("%+v", p)
			}
		}
		equal(t, fmt.Sprint(tt.e.Type), strings.Join(names, " "), tt.want)
	}
}

// TestPushesAreQueuedWithTheMark: the rows for the targets are committed with the mark that the operator was told, also
// if the desktop failed, and so once for each notification.
func TestPushesAreQueuedWithTheMark(t *testing.T) {
	tellers(t, func(s *telling) {
		s.rows.change(func() { s.rows.fails = errors.New("the database is away") })
		s.fails(7)
		s.pass(20 * time.Second)
		s.rows.change(func() { s.rows.fails = nil })
		s.pass(20 * time.Second)
		s.rows.mu.Lock()
		defer s.rows.mu.Unlock()
		var got []string
		for _, p := range s.rows.pushes {
			got = append(got, p.Target+" "+p.Message.Level)
		}
		equal(t, "queued", got, []string{"phone error"})
	})
}

// TestShape: what agents say stays here unless it is asked for; the link opens the very thing; a late message says so.
func TestShape(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	id := int64(7)
	m := Message{Title: "Agent 7 in trouble", Text: "It says " + words.Quote("the key is hush") + ": `understudy agent show 7`.", Type: "agent_trouble", At: at, AgentID: &id, PipelineID: &id}
	r := &Route{}
	if got := r.shaped(m, "https://desk.example/", at); got.Text != "It says ‹…›: `understudy agent show 7`." || got.Link != "https://desk.example/ui/agents/7" {
		t.Errorf("%+v", got)
	}
	r.IncludeText = true
	if got := r.shaped(m, "", at.Add(3*time.Hour)); !strings.Contains(got.Text, "‹the key is hush›") || got.Link != "" || !strings.Contains(got.Text, "from 07:08 UTC on 6 May, 3 h ago") {
		t.Errorf("%+v", got)
	}
	m.HandoffID = &id
	equal(t, "path of a handoff", pathOf(&m), "/ui/handoffs/7")
	equal(t, "path of a pipeline", pathOf(&Message{Type: "pipeline_failed", PipelineID: &id, AgentID: &id}), "/ui/pipelines/7")
	equal(t, "path of a target that is down", pathOf(&Message{Type: event.NotificationFailed}), "/ui/settings")
}
