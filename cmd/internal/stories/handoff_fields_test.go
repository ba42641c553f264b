package stories

import (
	"fmt"
	"slices"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// TestDocumentFieldsReachOperatorAndSuccessor: The operator can read the document's fields, and the successor reads
// them first. The document itself stays unchanged.
func TestDocumentFieldsReachOperatorAndSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "look at the parser @decide Tables: they are smaller")
		h, c, _ := r.handOver(a.ID)

		document := r.readFile(h.FilePath)
		if wrote := r.writtenByTool(a.ID, h.FilePath); document != wrote {
			t.Errorf("document on disk\n%s\nis not what the agent wrote\n%s", document, wrote)
		}
		if c.document != document {
			t.Errorf("document in the context file\n%s\nis not the one on disk\n%s", c.document, document)
		}
		fields := [4]string{
			sectionOf(t, document, "What Was Done"), sectionOf(t, document, "Decisions Made"),
			sectionOf(t, document, "Open Questions"), sectionOf(t, document, "Next Agent Context"),
		}
		s := h.Structured
		if s == nil || s.WhatWasDone == nil || s.DecisionsMade == nil || s.OpenQuestions == nil || s.NextAgentContext == nil {
			t.Fatalf("structured %+v, want all four fields", s)
		}
		if got := [4]string{*s.WhatWasDone, *s.DecisionsMade, *s.OpenQuestions, *s.NextAgentContext}; got != fields {
			t.Errorf("structured\n%q\nin the document\n%q", got, fields)
		}
		want := fmt.Sprintf("## Handoff from previous step (%s)\n\n**What was done**: %s\n\n**Decisions made**:\n%s\n\n**Open questions**:\n%s\n\n**Your task**: %s\n\n",
			a.Name, fields[0], fields[1], fields[2], fields[3])
		if c.header != want {
			t.Errorf("header\n%s\nwant\n%s", c.header, want)
		}
		r.wantStored(h.ID, map[string]any{
			"what_was_done": fields[0], "decisions_made": fields[1], "open_questions": fields[2], "next_agent_context": fields[3],
		})
		r.wantPayload(h.ID, "handoff_created", map[string]any{"handoff_id": float64(h.ID), "has_structured_data": true})
		if types := r.types(h.ID); slices.Contains(types, "handoff_extraction_failed") {
			t.Errorf("events %v of a document that has all headings", types)
		}
	})
}

// TestMissingFieldIsNull: The API has null for a field that the document lacks. Neither the database nor the
// successor's context has the field.
func TestMissingFieldIsNull(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
		r.writeDocument(h)
		r.retryHandoff(h.ID)
		h = r.awaitPhase(h.ID, daemon.Completed)
		r.wantStored(h.ID, map[string]any{"what_was_done": "All.", "next_agent_context": "Go on."})
		want := "## Handoff from previous step (" + a.Name + ")\n\n**What was done**: All.\n\n**Your task**: Go on.\n\n"
		if c := r.contextOf(h); c.header != want {
			t.Errorf("header\n%s\nwant\n%s", c.header, want)
		}
		shown := r.sit(false, "handoff", "show", fmt.Sprint(h.ID), "--json")
		shown.awaitPrinted(`"decisions_made":\s*null`, 1)
		shown.awaitPrinted(`"open_questions":\s*null`, 1)
		shown.awaitPrinted(`"what_was_done":\s*"All\."`, 1)
	})
}

// TestDocumentWithoutHeadingsIsPassedOnWhole: The document is passed on as it is. The log and the operator say that
// no field was found.
func TestDocumentWithoutHeadingsIsPassedOnWhole(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		log := r.keepLog()
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-headings")
		h, c, _ := r.handOver(a.ID)
		if h.Structured != nil || h.Degraded || h.ContextValidated {
			t.Errorf("handoff %+v: want it whole, without fields, and not validated", h)
		}
		if c.header != "" || c.document != r.readFile(h.FilePath) {
			t.Errorf("context file begins with %q and holds the document\n%s", c.header, c.document)
		}
		r.wantStored(h.ID, nil)
		r.wantPayload(h.ID, "handoff_created", map[string]any{"handoff_id": float64(h.ID), "has_structured_data": false})
		r.wantPayload(h.ID, "handoff_extraction_failed", map[string]any{"handoff_id": float64(h.ID)})
		if line := r.awaitLogged(log, "handoff_extraction_failed", h.ID, 1)[0]; line["level"] != "WARN" || line["error"] == "" {
			t.Errorf("logged %v, want a warning that says why", line)
		}
		r.awaitLogged(log, "handoff_extracted", h.ID, 0)
		r.sit(false, "handoff", "show", fmt.Sprint(h.ID)).awaitPrinted(`structured +no\b`, 1)
	})
}

// TestRequestThatIsTriedAgainKeepsItsID: what a person reads of handoff 1 is not about the second attempt to write its row.
func TestRequestThatIsTriedAgainKeepsItsID(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		tries := 0
		r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
			if c.NewHandoff != nil {
				if tries++; tries < 3 {
					return daemon.ErrMoved
				}
			}
			return do()
		}}).start()
		if id := r.requestHandoff(r.startWorked(con).ID); id != 1 || tries != 3 {
			t.Errorf("handoff %d after %d tries", id, tries)
		}
	})
}
