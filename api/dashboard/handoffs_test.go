package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/data"
)

func TestStages(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(phases ...daemon.Phase) (out []daemon.Transition) {
		for i, p := range phases {
			out = append(out, daemon.Transition{Seq: int64(i), To: p, At: now})
		}
		return out
	}
	fail := func(p daemon.Phase) *daemon.Failure { return &daemon.Failure{Phase: p} }
	for _, row := range []struct {
		what    string
		handoff daemon.Handoff
		moves   []daemon.Transition
		want    string // the first letters of the states
	}{
		{"asked for", daemon.Handoff{Phase: daemon.Requested}, nil, "naaaaaaaaa"},
		{"under way", daemon.Handoff{Phase: daemon.Verifying}, at(daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying), "dddnaaaaaa"},
		{"generating", daemon.Handoff{Phase: daemon.Generating, Mode: daemon.ModeGenerate}, at(daemon.Generating), "dnaaaaaaa"},
		{"failed", daemon.Handoff{Phase: daemon.Failed, Error: fail(daemon.AwaitingDocument)}, at(daemon.Instructing, daemon.AwaitingDocument, daemon.Failed), "ddfaaaaaaa"},
		{"cancelled", daemon.Handoff{Phase: daemon.Cancelled, Error: fail(daemon.Instructing)}, at(daemon.Instructing, daemon.Cancelled), "dcaaaaaaaa"},
		{"the other mode after a failure", daemon.Handoff{Phase: daemon.Generating, Mode: daemon.ModeGenerate},
			at(daemon.Instructing, daemon.Failed, daemon.Verifying, daemon.Generating), "ddnaaaaaaa"},
		{"found the document", daemon.Handoff{Phase: daemon.Recorded}, at(daemon.Instructing, daemon.Failed, daemon.Verifying, daemon.Recorded), "ddsdnaaaaa"},
		{"completed", daemon.Handoff{Phase: daemon.Completed, Mode: daemon.ModeGenerate}, at(daemon.Generating, daemon.Verifying, daemon.Recorded,
			daemon.ShuttingDown, daemon.Spawning, daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Completed), "ddddddddd"},
		{"several heirs", daemon.Handoff{Phase: daemon.BriefingHeirs, Heirs: make([]daemon.HandoffHeir, 2)},
			at(daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.BriefingHeirs), "dddddna"},
		{"the agent is kept", daemon.Handoff{Phase: daemon.Completed, Keep: true},
			at(daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.BriefingHeirs, daemon.Completed), "dddddd"},
	} {
		if row.handoff.Mode == "" {
			row.handoff.Mode = daemon.ModeAgent
		}
		got := ""
		for _, s := range stages(&row.handoff, row.moves) {
			got += s.State[:1]
		}
		equal(t, row.what, got, row.want)
	}
}

func TestHandoffPage(t *testing.T) {
	t.Parallel()
	h := build(t)
	deadline := h.now.Add(90 * time.Minute)
	done := "It is *done*"
	begin := func(o *daemon.Handoff) {
		o.Deadline, o.Note = &deadline, "the agent is busy"
		o.Structured = &daemon.Structured{WhatWasDone: &done}
		o.Error = &daemon.Failure{Phase: daemon.AwaitingDocument, Code: "document_timeout", Message: "It took too long", Hint: "retry it"}
	}
	toRecord := []daemon.Phase{daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.ShuttingDown}
	for _, row := range []struct {
		what  string
		away  bool
		moves []daemon.Phase
		calls []string // {a} is the agent, {h} the handoff
		says  []string
		link  string // in the page; "": to no document
	}{
		{"waiting", false, toRecord[:2], []string{`DELETE /api/agents/{a}/handoff{"handoff_id":{h}}`}, []string{"the agent is busy", "Time left: 89 min.", "no successor yet"}, ""},
		{"failed", false, append(toRecord[:2:2], daemon.Failed), []string{"POST /api/handoffs/{h}/retry", `POST /api/handoffs/{h}/retry{"mode":"generate"}`},
			[]string{"It took too long", "retry it", "document_timeout", "Failed while awaiting document"}, ""},
		{"failed elsewhere", true, append(toRecord[:2:2], daemon.Failed), nil, []string{"Retry it on the dashboard of host elsewhere."}, ""},
		{"cancelled", false, []daemon.Phase{daemon.Cancelled}, nil, []string{"Cancelled"}, ""},
		{"recorded", false, toRecord, nil, []string{"What was done", "It is done", "Recorded", "Open todos 1 Mend the callers in progress",
			"Decisions of this document 1 One keytwo would drift scan.go", "Files of this agent 1 b.go new", "the last 50 of 52", "message 2.", "message 51."}, "/ui/handoffs/{h}/document"},
		{"failed after the record", false, append(toRecord[:5:5], daemon.Failed), []string{"POST /api/handoffs/{h}/retry"}, nil, "/ui/handoffs/{h}/document"},
	} {
		a := h.agent(func(a *daemon.Agent) {
			if row.away {
				a.Host = "elsewhere"
			}
		})
		o := h.handoff(a, begin, row.moves...)
		fill := strings.NewReplacer("{a}", fmt.Sprint(a.ID), "{h}", fmt.Sprint(o.ID)).Replace
		page := value(h.Handoff(t.Context(), o.ID))(t)
		doc, body := drawn(t, page)
		for i := range row.calls {
			row.calls[i] = fill(row.calls[i])
		}
		wantCalls(t, row.what, doc, row.calls...)
		wantText(t, doc, "main", row.says...)
		if has := strings.Contains(body, "/document\""); has != (row.link != "") || !strings.Contains(body, fill(row.link)) {
			t.Errorf("%s: has a document: %v", row.what, has)
		}
		equal(t, row.what+": watches", page.Watch, fmt.Sprintf("handoff:%d agent:%d", o.ID, a.ID))
	}
	empty := h.handoff(h.agent(nil), func(o *daemon.Handoff) {
		o.Mode, o.Error = daemon.ModeGenerate, &daemon.Failure{Phase: daemon.Verifying, Code: data.DocumentSaysNothing, Message: "Too few words"}
	}, daemon.Generating, daemon.Verifying, daemon.Failed)
	again := fmt.Sprintf("POST /api/handoffs/%d/retry", empty.ID)
	drawnSays, _ := drawn(t, value(h.Handoff(t.Context(), empty.ID))(t))
	wantCalls(t, "says nothing", drawnSays, again, again+`{"force":true}`, again+`{"mode":"agent"}`)
	toy := h.agent(func(a *daemon.Agent) { a.Runtime = "toy" }) // a runtime that cannot copy a session
	o := h.handoff(toy, begin, append(toRecord[:2:2], daemon.Failed)...)
	doc, _ := drawn(t, value(h.Handoff(t.Context(), o.ID))(t))
	wantCalls(t, "failed, and no copy", doc, fmt.Sprintf("POST /api/handoffs/%d/retry", o.ID))
	page := value(h.Handoffs(t.Context(), daemon.HandoffFilter{Status: daemon.StatusFailed}))(t)
	if doc, _ := drawn(t, page); len(page.Data.(*handoffs).Handoffs) != 5 || find(doc, "handoff-1") != nil {
		t.Errorf("failed handoffs: %d", len(page.Data.(*handoffs).Handoffs))
	}
}

func TestDocumentPages(t *testing.T) {
	t.Parallel()
	h := build(t)
	path := "/nowhere/c.md"
	o := h.handoff(h.agent(nil), func(o *daemon.Handoff) { o.ContextPath = &path }, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded)
	for kind, draw := range map[string]func() (*Page, error){
		"document": func() (*Page, error) { return h.Document(t.Context(), o.ID) },
		"context":  func() (*Page, error) { return h.Context(t.Context(), o.ID) },
	} {
		_, body := drawn(t, value(draw())(t))
		holds(t, kind, body, fmt.Sprintf(`href="/api/handoffs/%d/%s" data-save download=`, o.ID, kind), map[string]string{"document": "<strong>done</strong>", "context": "<em>kept</em>"}[kind])
	}
	var told *daemon.Error
	open := h.handoff(h.agent(nil), nil, daemon.Instructing)
	if _, err := h.Document(t.Context(), open.ID); !errors.As(err, &told) || told.Kind != daemon.KindNotFound {
		t.Errorf("a document that is not there: %v", err)
	}
}

// TestHandoffPageShowsHeirs: the page says who each heir is, how far it has come and what it waits for, and it follows the
// heirs' agents. The pages of the agents show the branch. Each page offers to whom an agent can be handed over.
func TestHandoffPageShowsHeirs(t *testing.T) {
	t.Parallel()
	h := build(t)
	a := h.agent(nil)
	next := func(persona string) *daemon.Agent {
		return h.agent(func(b *daemon.Agent) { b.PreviousAgentID, b.Generation, b.Persona = &a.ID, 2, &persona })
	}
	one, two := next("tester-kit-1"), next("reviewer-ada-1")
	o := h.handoff(a, func(o *daemon.Handoff) {
		o.Keep, o.SuccessorID = true, &one.ID
		o.Heirs = []daemon.HandoffHeir{
			{Heir: daemon.Heir{Persona: "tester-kit-1", Runtime: "claude", Model: "opus"}, AgentID: &one.ID, Phase: daemon.Completed},
			{Heir: daemon.Heir{Persona: "reviewer-ada-1"}, AgentID: &two.ID, Phase: daemon.Briefing, Note: "its composer is not ready"},
			{Heir: daemon.Heir{Persona: "dev-eve-1"}},
		}
	}, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.BriefingHeirs)
	page := value(h.Handoff(t.Context(), o.ID))(t)
	doc, body := drawn(t, page)
	wantText(t, doc, "heir-0", "tester-kit-1", fmt.Sprintf("agent %d, has its briefing", one.ID), "claude", "opus")
	wantText(t, doc, "heir-1", "reviewer-ada-1", fmt.Sprintf("agent %d, briefing", two.ID), "its composer is not ready")
	wantText(t, doc, "heir-2", "dev-eve-1", "not started")
	wantText(t, doc, "main", "the agent lives on")
	for _, b := range []*daemon.Agent{one, two} {
		holds(t, "what the page follows", page.Watch, fmt.Sprintf("agent:%d", b.ID))
	}
	for _, field := range []string{"to", "runtime", "model", "permission_mode", "keep"} {
		holds(t, "the form", body, `name="`+field+`"`)
	}
	doc, _ = drawn(t, value(h.Agent(t.Context(), a.ID, pictures.Day))(t))
	for _, b := range []*daemon.Agent{one, two} {
		wantText(t, doc, fmt.Sprintf("generation-%d", b.ID), fmt.Sprintf("from agent %d", a.ID), "plays "+*b.Persona)
	}
	doc, _ = drawn(t, value(h.Handoffs(t.Context(), daemon.HandoffFilter{}))(t))
	wantText(t, doc, fmt.Sprintf("handoff-%d", o.ID), fmt.Sprintf("agent %d, agent %d", one.ID, two.ID))
}
