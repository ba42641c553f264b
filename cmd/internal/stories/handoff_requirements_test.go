package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/personas"
)

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

// TestMissingRequirementsAreWarnedOf: One warning for the operator and the successor names the missing parts, in each
// record, and nothing else happens. A file in the working directory counts like a heading.
func TestMissingRequirementsAreWarnedOf(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-further")
		h, c, next := r.handOver(a.ID)
		if h.ContextValidated || h.Degraded {
			t.Errorf("handoff %+v: want it whole and not validated", h)
		}
		const all = "Current Story, Architecture Decisions, Code Patterns"
		r.wantWarned(h, c, "The role developer requires "+all)
		r.sit(false, "handoff", "show", fmt.Sprint(h.ID)).awaitPrinted(`validated +no, it lacks `+all, 1)

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
		r.wantWarned(h, c, "The role developer requires Architecture Decisions") // each record says what it lacks
		if want := []string{"architecture_decisions"}; !slices.Equal(h.Missing, want) {
			t.Errorf("the handoff lacks %q, want %q", h.Missing, want)
		}
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
		r.wantWarned(h, c, "House Rules")

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
