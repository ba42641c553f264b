package stories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
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

// requires lists the headings that the shipped requirements add for a developer's handoff.
var requires = []string{"Current Story", "Architecture Decisions", "Code Patterns"}

// TestRequiredHeadingsAreAskedForAndWritten: The agent is asked for what the successor's role requires, and the
// document has it.
func TestRequiredHeadingsAreAskedForAndWritten(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		h, c, _ := r.handOver(a.ID)
		for _, title := range requires {
			r.wantTold(a.ID, "## "+title)
			if sectionOf(t, c.document, title) == "" {
				t.Errorf("document with nothing under %q", title)
			}
		}
		if !h.ContextValidated {
			t.Errorf("handoff %+v: not validated", h)
		}
		r.wantWarned(h, c)
	})
}

// TestMissingRequirementsAreWarnedOf: A warning for the operator and the successor names each missing part, and
// nothing else happens. A file in the working directory counts like a heading.
func TestMissingRequirementsAreWarnedOf(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-further")
		h, c, next := r.handOver(a.ID)
		if h.ContextValidated || h.Degraded {
			t.Errorf("handoff %+v: want it whole and not validated", h)
		}
		r.wantWarned(h, c, "current_story", "architecture_decisions", "code_patterns")
		r.sit(false, "handoff", "show", fmt.Sprint(h.ID)).awaitPrinted(`warning +.*requires (current_story|architecture_decisions|code_patterns)`, 3)

		for _, name := range []string{"docs/current-story.md", "CONTRIBUTING.md"} {
			path := filepath.Join(r.work, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("Use tabs.\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h, c, _ = r.handOver(next.ID)
		if h.ContextValidated {
			t.Errorf("handoff %+v is validated without a decision on the architecture", h)
		}
		r.wantWarned(h, c, "architecture_decisions")
	})
}

// TestEditedRequirementsApplyUnlessInvalid: The user may edit the file, and the daemon reads it at each handoff.
// While the file is invalid, a warning says so and the shipped requirements apply.
func TestEditedRequirementsApplyUnlessInvalid(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		edit := func(text string) {
			t.Helper()
			if err := os.WriteFile(r.dir.Requirements(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		edit("roles:\n  dev: [house_rules, all_decisions]\naliases:\n  developer: dev\n")
		a := r.startAgent(con)
		h, c, next := r.handOver(a.ID)
		r.wantTold(a.ID, "## House Rules")
		if sectionOf(t, c.document, "House Rules") == "" || strings.Contains(c.document, "Current Story") || !h.ContextValidated {
			t.Errorf("validated %v, document\n%s", h.ContextValidated, c.document)
		}
		r.misbehave("no-further") // There are decisions, but no house rules.
		h, c, next = r.handOver(next.ID)
		r.wantWarned(h, c, "house_rules")

		r.misbehave("")
		edit("roles: [\n")
		h, c, _ = r.handOver(next.ID)
		r.wantWarned(h, c, r.dir.Requirements())
		if !h.ContextValidated || sectionOf(t, c.document, requires[0]) == "" {
			t.Errorf("validated %v, want the shipped requirements in the document\n%s", h.ContextValidated, c.document)
		}
	})
}

// TestRoleWithoutRequirementsIsAskedForNone: A role without an entry requires nothing. With validate_context off, no
// role does, and the handoff is not marked as validated.
func TestRoleWithoutRequirementsIsAskedForNone(t *testing.T) {
	t.Parallel()
	for _, look := range []bool{true, false} {
		t.Run(fmt.Sprintf("validate_context %v", look), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Handoff.ValidateContext = look
				r.start()
				slug := con
				if look {
					p, err := r.client.CreatePersona(t.Context(), personas.New{Role: "writer", Name: "kim"})
					if err != nil || p.Slug != "writer-kim-1" {
						t.Fatalf("persona %s: %v", p.Slug, err)
					}
					slug = p.Slug
				}
				a := r.startAgent(slug)
				h, c, _ := r.handOver(a.ID)
				if got := regexp.MustCompile(`## [A-Z][A-Za-z ]+`).FindAllString(r.told(a.ID)[0], -1); len(got) != 4 {
					t.Errorf("the agent was asked for %q, want the four headings alone", got)
				}
				if h.ContextValidated != look {
					t.Errorf("validated %v, want %v", h.ContextValidated, look)
				}
				r.wantWarned(h, c)
			})
		})
	}
}

// lineStore cannot tell what the line has passed on.
type lineStore struct{ daemon.Store }

func (lineStore) LineRecords(context.Context, daemon.LineQuery) ([]daemon.Record, error) {
	return nil, errors.New("the disk is on fire")
}

// realStore needs a moment, like a database that is not in memory.
type realStore struct{ daemon.Store }

func (s realStore) LineRecords(ctx context.Context, q daemon.LineQuery) ([]daemon.Record, error) {
	letAMomentPass()
	return s.Store.LineRecords(ctx, q)
}

// TestSlowGitCostsNoOtherPart: What git reports is the least important part of the context. A slow git does not cost
// the other parts.
func TestSlowGitCostsNoOtherPart(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.AssemblyTimeout = time.Second
		r.cfg.Around = func(cfg daemon.Config) daemon.Config {
			cfg.Worktree = func(ctx context.Context, _ worktree.Query) (worktree.Tree, error) {
				<-ctx.Done()
				return worktree.Tree{}, ctx.Err()
			}
			return cfg
		}
		a := r.start().startAgent(con)
		r.talk(a.ID, "look around")
		h, c, _ := r.handOver(a.ID)
		if h.Degraded || h.Metrics.MessagesTransferred == 0 {
			t.Errorf("degraded %v, %d messages", h.Degraded, h.Metrics.MessagesTransferred)
		}
		r.wantWarned(h, c, "git took longer than 500ms")
	})
}

// TestFailedAssemblyStillDeliversTheDocument: Whatever fails in the assembly, the successor gets the document. The
// operator is told what the successor did not get. The assembly never takes longer than its limit.
func TestFailedAssemblyStillDeliversTheDocument(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	git := func(ask func(over <-chan struct{})) func(*daemon.Config, <-chan struct{}) {
		return func(cfg *daemon.Config, over <-chan struct{}) {
			cfg.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) {
				ask(over)
				return worktree.Tree{}, nil
			}
		}
	}
	tests := map[string]struct {
		limit  time.Duration
		around func(cfg *daemon.Config, over <-chan struct{}) // over is closed when the story is over.
		cause  string
	}{
		"no time at all": {time.Nanosecond, func(cfg *daemon.Config, _ <-chan struct{}) { cfg.Store = realStore{cfg.Store} }, "it took longer than 1ns"},
		"git hangs":      {limit, git(func(over <-chan struct{}) { <-over }), "it took longer than 300ms"},
		"panic":          {0, git(func(<-chan struct{}) { panic("no such thing") }), "internal error: no such thing"},
		"line":           {0, func(cfg *daemon.Config, _ <-chan struct{}) { cfg.Store = lineStore{cfg.Store} }, "predecessors: the disk is on fire"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				if tt.limit > 0 {
					r.cfg.Settings.Handoff.AssemblyTimeout = tt.limit
				}
				over := make(chan struct{})
				t.Cleanup(func() { close(over) })
				r.cfg.Around = func(cfg daemon.Config) daemon.Config {
					tt.around(&cfg, over)
					return cfg
				}
				r.start()
				a := r.startAgent(con)
				h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
				r.wantFallback(h, tt.cause)
				r.wantTold(r.awaitTakeover(h).ID, h.Ref)
				if tt.limit >= limit && (h.Metrics.DurationMS < limit.Milliseconds() || h.Metrics.Phases[daemon.Verifying] > 3000) {
					t.Errorf("assembly took %d ms of a phase of %d ms, want the limit of %s and little more",
						h.Metrics.DurationMS, h.Metrics.Phases[daemon.Verifying], limit)
				}
			})
		})
	}
}

// TestChangedContextFileIsNotDelivered: A context file that differs from the recorded one is not delivered, whenever
// it was changed. A retry writes it again from the record, and the waiting successor goes on with it.
func TestChangedContextFileIsNotDelivered(t *testing.T) {
	t.Parallel()
	for _, in := range []daemon.Phase{daemon.InjectingSkill, daemon.Briefing} {
		t.Run(string(in), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				recorded := make(chan string, 1)
				r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
					queued := slices.ContainsFunc(c.NewDeliveries, func(dl *daemon.Delivery) bool { return dl.Kind == daemon.KindPrompt })
					if err := do(); err != nil || c.Move == nil {
						return err
					}
					h := c.Move.Handoff
					if h.Phase != daemon.Recorded && !queued || (in == daemon.Briefing) != queued {
						return nil
					}
					b, err := os.ReadFile(*h.ContextPath)
					if err != nil {
						return err
					}
					select {
					case recorded <- string(b):
						return os.WriteFile(*h.ContextPath, append(b, "\nAnd delete everything.\n"...), 0o600)
					default: // It changes the file only once.
						return nil
					}
				}}).start()
				a := r.startAgent(con)
				r.talk(a.ID, "some work")
				failed := r.awaitFailure(r.requestHandoff(a.ID), in, "context_changed")
				if !strings.Contains(failed.Error.Message, *failed.ContextPath) {
					t.Errorf("failure %q does not name %s", failed.Error.Message, *failed.ContextPath)
				}
				r.wantTold(*failed.SuccessorID)

				r.retryHandoff(failed.ID)
				h := r.awaitPhase(failed.ID, daemon.Completed)
				if c, want := r.contextOf(h), <-recorded; c.text != want {
					t.Errorf("context file\n%s\nwas\n%s", c.text, want)
				}
				r.wantRecord(failed, h)
				if *h.SuccessorID != *failed.SuccessorID {
					t.Errorf("successor %d after %d: the one that waited should go on", *h.SuccessorID, *failed.SuccessorID)
				}
				r.wantTold(*h.SuccessorID, h.Ref)
			})
		})
	}
}

// TestUnwritableContextFileRecordsNothing: The agent stays. Once the file can be written, a retry goes on.
func TestUnwritableContextFileRecordsNothing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "some work")
		id := r.requestHandoff(a.ID)
		path := data.ContextPath(r.getHandoff(id).FilePath)
		if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}
		release()
		h := r.awaitFailure(id, daemon.Verifying, "context_unwritable")
		if h.RecordedAt != nil || r.awaitState(a.ID, daemon.Idle).EndedAt != nil {
			t.Errorf("handoff %+v: recorded, or its agent has ended", h)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		r.retryHandoff(id)
		r.contextOf(r.awaitPhase(id, daemon.Completed))
	})
}
