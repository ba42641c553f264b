package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
)

func TestAgentPage(t *testing.T) {
	t.Parallel()
	h := build(t)
	session := "s-1"
	ended := h.now.Add(10 * time.Minute)
	limit, percent := int64(200_000), 71.0
	first := h.agent(func(a *daemon.Agent) {
		reason := "handed off"
		a.State, a.EndedAt, a.EndReason, a.SessionID = daemon.Ended, &ended, &reason, &session
		a.Context = &daemon.ContextUse{Tokens: 142_000, Limit: &limit, Percent: &percent}
	})
	second := h.agent(func(a *daemon.Agent) { a.PreviousAgentID, a.Generation = &first.ID, 2 })
	passed := h.handoff(first, func(o *daemon.Handoff) { o.SuccessorID = &second.ID }, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying,
		daemon.Recorded, daemon.ShuttingDown, daemon.Spawning, daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Completed)
	h.delivery(second, "hello there", daemon.Unconfirmed)
	h.event("agent_stop_failed", second.ID, map[string]any{"message": "It does not go."})

	page := value(h.Agent(t.Context(), second.ID, pictures.Day))(t)
	doc, body := drawn(t, page)
	if page.Watch != idWatch("agent", second.ID) || !strings.Contains(body, `href="/ui/static/palette.css"`) {
		t.Errorf("watches %q, or has no palette", page.Watch)
	}
	id := idWatch("", second.ID)[1:]
	wantCalls(t, "idle", doc, append([]string{"message", "hand-off"}, callsOfActive(id)...)...)
	wantText(t, doc, "main", "understudy agent attach "+id, "/work", "generation 2", "It does not go")
	if screen := find(doc, "screen"); screen == nil || attribute(screen, "data-screen") != "/api/agents/"+id+"/screen?format=html" {
		t.Errorf("screen: %v", screen)
	}
	wantText(t, doc, "generation-"+idWatch("", first.ID)[1:], "Generation 1", "10 min", "context 71 %, 142k of 200k tokens", "handed off", "completed", "document")
	wantText(t, doc, "handoff-"+idWatch("", passed.ID)[1:], "completed", "manual")
	wantText(t, doc, "main", "unconfirmed", "hello there")

	doc, _ = drawn(t, value(h.Agent(t.Context(), first.ID, pictures.Day))(t))
	wantCalls(t, "handed off", doc) // its session goes on as another agent's work
	if find(doc, "screen") != nil {
		t.Error("an ended agent has a screen")
	}
}

// TestQueuedMessagesCanBeCancelled: each has its button, also one that is older than the deliveries that the page shows.
func TestQueuedMessagesCanBeCancelled(t *testing.T) {
	t.Parallel()
	h := build(t)
	a := h.agent(nil)
	calls := append([]string{"message", "hand-off"}, callsOfActive(fmt.Sprint(a.ID))...)
	cancel := fmt.Sprintf("DELETE /api/agents/%d/messages", a.ID)
	first, second := h.delivery(a, "mend the fence", ""), h.delivery(a, "mend the roof", "")
	for range ownDeliveries {
		h.delivery(a, "done", daemon.Submitted)
	}
	doc, _ := drawn(t, value(h.Agent(t.Context(), a.ID, pictures.Day))(t))
	wantCalls(t, "two queued", doc, append(calls, cancel, fmt.Sprintf(`%s{"delivery_id":%d}`, cancel, second.ID), fmt.Sprintf(`%s{"delivery_id":%d}`, cancel, first.ID))...)
	wantText(t, doc, "main", "mend the fence", "Cancel all 2 queued")
}

func TestAgentPageOffersWhatCanBeDone(t *testing.T) {
	t.Parallel()
	h := build(t)
	session := "s-1"
	end := func(a *daemon.Agent) { a.State, a.EndedAt, a.SessionID = daemon.Ended, &h.now, &session }
	for _, row := range []struct {
		what  string
		agent func(*daemon.Agent)
		moves []daemon.Phase // of its handoff; nil: it has none
		want  func(id, handoff string) []string
		says  string
	}{
		{"ended", end, nil, func(id, _ string) []string { return []string{"POST /api/agents/" + id + "/resume"} }, "ended"},
		{"ended elsewhere", func(a *daemon.Agent) { end(a); a.Host = "elsewhere" }, nil, func(string, string) []string { return nil }, "elsewhere"},
		{"elsewhere", func(a *daemon.Agent) { a.Host = "elsewhere" }, nil, func(id, _ string) []string {
			return append([]string{"message", "hand-off"}, callsOfActive(id)...)
		}, "The pane is on host elsewhere. The dashboard of that host shows its screen."},
		{"no persona", func(a *daemon.Agent) { a.Persona = nil }, nil, func(id, _ string) []string {
			return append(append([]string{"message"}, callsOfActive(id)...), "PATCH /api/agents/"+id)
		}, "none, generation 1"},
		{"no pane", func(a *daemon.Agent) { a.Pane = nil }, nil, func(id, _ string) []string { return callsOfActive(id) }, "no pane"},
		{"handing off", nil, []daemon.Phase{daemon.Instructing}, func(id, handoff string) []string {
			return append([]string{"DELETE /api/agents/" + id + `/handoff{"handoff_id":` + handoff + "}", "message"}, callsOfActive(id)...)
		}, "instructing"},
		{"recorded", nil, []daemon.Phase{daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.ShuttingDown}, func(id, _ string) []string {
			return append([]string{"message"}, callsOfActive(id)...)
		}, "shutting down"},
		{"failed", nil, []daemon.Phase{daemon.Instructing, daemon.Failed}, func(id, handoff string) []string {
			return append([]string{"POST /api/handoffs/" + handoff + "/retry", "message", "hand-off"}, callsOfActive(id)...)
		}, "its handoff failed: it went wrong"},
		{"waiting", func(a *daemon.Agent) { a.State, a.WaitsFor = daemon.Waiting, "permission for Bash: ls" }, nil, func(id, _ string) []string {
			return append([]string{"message", "hand-off"}, callsOfActive(id)...)
		}, "it asks for permission for Bash: ls"},
	} {
		a := h.agent(row.agent)
		handoff := ""
		if row.moves != nil {
			o := h.handoff(a, func(o *daemon.Handoff) {
				o.Error = &daemon.Failure{Phase: daemon.Instructing, Code: "x", Message: "it went wrong"}
			}, row.moves...)
			handoff = idWatch("", o.ID)[1:]
		}
		doc, _ := drawn(t, value(h.Agent(t.Context(), a.ID, pictures.Day))(t))
		wantCalls(t, row.what, doc, row.want(idWatch("", a.ID)[1:], handoff)...)
		wantText(t, doc, "main", row.says)
	}
	var told *daemon.Error
	if _, err := h.Agent(t.Context(), 4711, pictures.Day); !errors.As(err, &told) || told.Kind != daemon.KindNotFound {
		t.Errorf("an agent that is not there: %v", err)
	}
}

// TestPersonaOfManyAgents: the page of a persona has a button to hand off each agent, unless many play it.
func TestPersonaOfManyAgents(t *testing.T) {
	t.Parallel()
	h := build(t)
	for n := 1; n <= 5; n++ {
		h.agent(nil)
		_, text := drawn(t, value(h.Persona(t.Context(), slug))(t))
		equal(t, fmt.Sprintf("buttons of %d agents", n), strings.Count(text, `data-open="hand-off"`), n%5)
	}
}

// TestPermissionIsSaidOnce: where a permission stands with its buttons, no other sentence says what the agent asks for, neither with
// one permission nor with two; the first line of each is emphasized.
func TestPermissionIsSaidOnce(t *testing.T) {
	t.Parallel()
	h := build(t)
	a := h.agent(func(a *daemon.Agent) { a.State, a.WaitsFor = daemon.Waiting, "permission for Bash: ls -l /work" })
	for i, command := range []string{"ls -l /work", "make deploy"} {
		h.commit(&daemon.Change{NewPermissions: []*daemon.Permission{{ID: int64(i + 1), AgentID: a.ID, Host: "here", Tool: "Bash", Subject: command, Shown: command,
			Whole: true, State: daemon.PermissionOpen, AskedAt: h.now, HeldUntil: new(h.now.Add(time.Hour))}}})
		for what, draw := range map[string]func() (*Page, error){
			"card": func() (*Page, error) { return h.Home(t.Context()) },
			"page": func() (*Page, error) { return h.Agent(t.Context(), a.ID, pictures.Day) },
		} {
			doc, text := drawn(t, value(draw())(t))
			for id := 1; id <= i+1; id++ {
				holds(t, fmt.Sprintf("%s: permission %d says", what, id), textIn(find(doc, fmt.Sprint("permission-", id))), fmt.Sprintf("it asks for permission %d for Bash", id))
			}
			if strings.Count(textIn(find(doc, "main")), "for Bash") != i+1 || strings.Count(text, `class="why"`) != i+1 {
				t.Errorf("%s: with %d permissions, what they are about is not said and emphasized once for each", what, i+1)
			}
		}
	}
}

func TestPersonaPages(t *testing.T) {
	t.Parallel()
	h := build(t)
	first := h.agent(func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, &h.now })
	other := h.agent(nil)
	second := h.agent(func(a *daemon.Agent) { a.PreviousAgentID, a.Generation = &first.ID, 2 })
	h.handoff(other, nil, daemon.Instructing)

	doc, _ := drawn(t, value(h.People(t.Context()))(t))
	wantText(t, doc, "persona-"+slug, "played by 2 agents")
	page := value(h.Persona(t.Context(), slug))(t)
	doc, _ = drawn(t, page)
	wantCalls(t, "played", doc, "hand-off", "POST /api/agents") // the other one is being handed off
	wantText(t, doc, "main", "Hand off agent "+idWatch("", second.ID)[1:])
	for i, want := range [][]int64{{second.ID, first.ID}, {other.ID}} {
		var got []int64
		for _, g := range page.Data.(*persona).Lines[i] {
			got = append(got, g.ID)
		}
		equal(t, fmt.Sprint("line ", i), got, want)
	}
	must(t, h.Personas.Archive(t.Context(), slug))
	doc, _ = drawn(t, value(h.Persona(t.Context(), slug))(t))
	wantCalls(t, "archived", doc, "hand-off")
}

func TestUnplayedPersona(t *testing.T) {
	t.Parallel()
	h := build(t)
	doc, _ := drawn(t, value(h.Persona(t.Context(), slug))(t))
	wantCalls(t, "unplayed", doc, "DELETE /api/personas/"+slug, "POST /api/agents")
	wantText(t, doc, "main", "No agent has played it yet")
}

// callsOfActive are the calls that the page of each active agent offers below the others.
func callsOfActive(id string) []string {
	change := "PATCH /api/agents/" + id
	return []string{
		"POST /api/agents/" + id + "/stop", "POST /api/agents/" + id + `/stop{"force":true}`,
		change, change + `{"notify_finished":"on"}`, change + `{"notify_finished":"off"}`, change + `{"notify_finished":""}`,
	}
}

// TestUnreadAgents: an agent that has finished its turn is shown as finished, with where it works and what it was asked, until
// its page tells that it was seen.
func TestUnreadAgents(t *testing.T) {
	t.Parallel()
	h := build(t)
	at := time.Date(2031, 5, 4, 12, 0, 0, 5000, time.UTC)
	a := h.agent(func(a *daemon.Agent) {
		a.Unread, a.FinishedAt, a.Asked, a.LastMessage = true, &at, "Fix the cart", "It is fixed."
		a.Cwd, a.Repository, a.Branch = "/srv/shop", "shop", "fix-cart"
	})
	read := h.agent(func(a *daemon.Agent) { a.FinishedAt = &at })
	doc, _ := drawn(t, value(h.Home(t.Context()))(t))
	wantText(t, doc, "group-finished", "finished", "/srv/shop fix-cart", "Fix the cart", "It is fixed.")
	id := idWatch("agent-", a.ID)
	if find(doc, strings.Replace(id, ":", "", 1)) == nil {
		t.Errorf("no card %s", id)
	}
	_, body := drawn(t, value(h.Agent(t.Context(), a.ID, pictures.Day))(t))
	holds(t, "the page tells that it was seen", body, fmt.Sprintf(`data-seen="POST /api/agents/%d/seen" data-body='{"finished_at":"2031-05-04T12:00:00.000005Z"}'`, a.ID))
	if _, body := drawn(t, value(h.Agent(t.Context(), read.ID, pictures.Day))(t)); strings.Contains(body, "data-seen") {
		t.Error("the page of an agent that nobody must look at tells that it was seen")
	}
}

// TestTroubleNeedsYou: an agent whose turn failed needs a person, until it begins another turn.
func TestTroubleNeedsYou(t *testing.T) {
	t.Parallel()
	h := build(t)
	fails := func(a *daemon.Agent) {
		a.Trouble = &daemon.Trouble{Code: "usage_limit", Message: "You've hit your limit", Since: h.now.Add(-time.Hour)}
	}
	a := h.agent(fails)
	h.agent(func(a *daemon.Agent) { fails(a); a.State = daemon.Working })
	page := value(h.Home(t.Context()))(t)
	doc, _ := drawn(t, page)
	equal(t, "need somebody", page.Needs, 1)
	id := idWatch("", a.ID)[1:]
	wantText(t, doc, "needs", "its turns fail: usage_limit: You've hit your limit", "60 min", "understudy agent attach "+id)
	doc, _ = drawn(t, value(h.Agent(t.Context(), a.ID, pictures.Day))(t))
	wantText(t, doc, "main", "usage_limit: You've hit your limit", "understudy agent send "+id)
}
