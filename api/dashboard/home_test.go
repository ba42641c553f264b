package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
)

// ids are the agents of cards, sorted.
func ids(cards []card) (out []int64) {
	for _, c := range cards {
		out = append(out, c.ID)
	}
	slices.Sort(out)
	return out
}

// TestHomeOfTheEnded: ended agents are sorted by their end and not by their id. An agent that died needs a person for a
// day, unless another agent goes on with its work.
func TestHomeOfTheEnded(t *testing.T) {
	t.Parallel()
	h := build(t)
	end := func(ago time.Duration, reason string, asked bool) *daemon.Agent {
		return h.agent(func(a *daemon.Agent) {
			at := h.now.Add(-ago)
			a.State, a.EndedAt, a.EndReason, a.Managed = daemon.Ended, &at, &reason, true
			if asked {
				a.StopAskedAt = &at
			}
		})
	}
	long := end(time.Minute, "prompt_input_exit", false) // the agent with the oldest id and the newest end
	for range 10 {
		end(48*time.Hour, "process_gone", false)
	}
	died := end(time.Hour, "process_gone", false)
	end(2*time.Hour, "process_gone", true)
	followed := end(time.Hour, "other", false)
	h.agent(func(a *daemon.Agent) { a.PreviousAgentID = &followed.ID })

	page := value(h.Home(t.Context()))(t)
	drawn(t, page)
	got := page.Data.(*home)
	equal(t, "in need", ids(got.Needs), []int64{died.ID})
	if len(got.Ended) != maxEnded || got.Ended[0].ID != long.ID {
		t.Errorf("ended lately: %d, want %d, the first of them %d", ids(got.Ended), maxEnded, long.ID)
	}
}

// TestHomeOffersToResumeAll: after the end of a tmux server the first page lists the agents that died, each with a button, and one
// button for all. It does not offer what cannot be resumed.
func TestHomeOffersToResumeAll(t *testing.T) {
	t.Parallel()
	h := build(t)
	die := func(with func(*daemon.Agent)) *daemon.Agent {
		return h.agent(func(a *daemon.Agent) {
			at, reason, session := h.now.Add(-time.Minute), "tmux_server_gone", "s"
			a.State, a.EndedAt, a.EndReason, a.Managed, a.EndCause, a.SessionID, a.RegisteredAt = daemon.Ended, &at, &reason, true, "tmux server 1", &session, &at
			with(a)
		})
	}
	first, mute := die(func(*daemon.Agent) {}), die(func(a *daemon.Agent) { a.Note = "its session has no conversation" })
	other, second := die(func(a *daemon.Agent) { a.Host = "elsewhere" }), die(func(a *daemon.Agent) { a.EndCause = "" })
	doc, text := drawn(t, value(h.Home(t.Context()))(t))
	all := find(doc, "resume-all")
	if all == nil || attribute(all, "data-body") != fmt.Sprintf(`{"ids":[%d,%d]}`, first.ID, second.ID) {
		t.Fatalf("the button for all sends %q, want agents %d and %d", attribute(all, "data-body"), first.ID, second.ID)
	}
	for _, ids := range [][]int64{{first.ID, mute.ID, other.ID}, {second.ID}} {
		body, _ := json.Marshal(map[string][]int64{"ids": ids})
		equal(t, fmt.Sprintf("buttons that dismiss agents %d", ids), strings.Count(text, fmt.Sprintf(`data-call="POST /api/agents/dismiss" data-body="%s"`, html.EscapeString(string(body)))), 1)
	}
	for _, a := range []*daemon.Agent{first, second, mute, other} {
		offered := strings.Count(text, fmt.Sprintf(`data-call="POST /api/agents/%d/resume"`, a.ID))
		equal(t, fmt.Sprintf("buttons of agent %d", a.ID), offered, map[bool]int{true: 1}[a == first || a == second])
		equal(t, fmt.Sprint("agent ", a.ID, " is listed with those of the server"), find(doc, fmt.Sprint("died-", a.ID)) != nil, a != second)
	}
}

// TestBrowserCountsAges: the page gives app.js the units in which Go counts ages.
func TestBrowserCountsAges(t *testing.T) {
	t.Parallel()
	doc, _ := drawn(t, value(build(t).Home(t.Context()))(t))
	body := find(doc, "main").Parent
	inBrowser := func(s int64) string {
		for unit := range strings.SplitSeq(attribute(body, "data-ages"), ",") {
			var below, per int64
			var name string
			if _, err := fmt.Sscan(unit, &below, &per, &name); err == nil && s < below {
				return fmt.Sprintf("%d %s", s/per, name)
			}
		}
		return ""
	}
	for _, s := range []int64{0, 59, 119, 120, 7199, 7200, 172_799, 172_800, 1 << 30} {
		equal(t, fmt.Sprintf("%d seconds, in the browser and on the server", s), inBrowser(s), words.Age(time.Duration(s)*time.Second))
	}
}

// asked counts the reads of handoffs.
type asked struct {
	daemon.Store
	handoffs int
}

func (s *asked) Handoffs(ctx context.Context, f daemon.HandoffFilter) ([]daemon.Handoff, error) {
	s.handoffs++
	return s.Store.Handoffs(ctx, f)
}

// TestHomeReadsFailedHandoffsAtOnce: the page reads all failed handoffs in one call. Of an agent's handoffs the last one
// counts.
func TestHomeReadsFailedHandoffsAtOnce(t *testing.T) {
	t.Parallel()
	h := build(t)
	var failed []int64
	for i := range 5 {
		a := h.agent(nil)
		h.handoff(a, func(hf *daemon.Handoff) {
			hf.Error = &daemon.Failure{Phase: daemon.Instructing, Code: "c", Message: "it went wrong"}
		}, daemon.Instructing, daemon.Failed)
		if i > 0 {
			failed = append(failed, a.ID)
			continue
		}
		h.handoff(a, nil, daemon.Cancelled)
	}
	store := &asked{Store: h.Daemon.Store}
	h.Daemon.Store = store
	page := value(h.Home(t.Context()))(t)
	drawn(t, page)
	equal(t, "handoffs were read … times, want once those that are open and once those that have failed", store.handoffs, 2)
	equal(t, "agents that need somebody", ids(page.Data.(*home).Needs), failed)
}

// TestPagesAgreeOnWhoNeedsAPerson: the first page, the page of an agent, that of its successor and that of their handoff
// count the same.
func TestPagesAgreeOnWhoNeedsAPerson(t *testing.T) {
	t.Parallel()
	h := build(t)
	left := "prompt_input_exit"
	outgoing := h.agent(func(a *daemon.Agent) { a.State, a.EndedAt, a.EndReason = daemon.Ended, &h.now, &left })
	next := h.agent(func(a *daemon.Agent) { a.PreviousAgentID, a.Generation = &outgoing.ID, 2 })
	failed := h.handoff(outgoing, func(o *daemon.Handoff) {
		o.SuccessorID, o.Error = &next.ID, &daemon.Failure{Phase: daemon.Briefing, Code: "c", Message: "it was not told", Hint: "tell it yourself"}
	}, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.ShuttingDown, daemon.Spawning,
		daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Failed)
	for what, draw := range map[string]func() (*Page, error){
		"home":      func() (*Page, error) { return h.Home(t.Context()) },
		"successor": func() (*Page, error) { return h.Agent(t.Context(), next.ID, pictures.Day) },
		"handoff":   func() (*Page, error) { return h.Handoff(t.Context(), failed.ID) },
	} {
		page := value(draw())(t)
		doc, _ := drawn(t, page)
		equal(t, what+": … need somebody", page.Needs, 1)
		wantText(t, doc, "main", "it was not told", "tell it yourself")
	}
	page := value(h.Agent(t.Context(), outgoing.ID, pictures.Day))(t)
	drawn(t, page)
	equal(t, "an agent whose successor is there needs somebody", page.Needs, 0)
}
