package pipelines

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// TestDecide: an output decides which step comes next only if it certainly says so.
func TestDecide(t *testing.T) {
	t.Parallel()
	rule := func(heading, contains string, to int) personas.Rule {
		return personas.Rule{When: personas.Condition{Heading: heading, Contains: contains}, Goto: to}
	}
	review := daemon.Step{Number: 2, Next: []personas.Rule{rule("Verdict", "changes requested", 1)}}
	strict := daemon.Step{Next: review.Next, Otherwise: personas.Stop}
	longer := daemon.Step{Next: []personas.Rule{rule("Verdict", "not ready", 1), rule("Verdict", "ready", 3)}}
	shorter := daemon.Step{Next: []personas.Rule{rule("Verdict", "ready", 3), rule("Verdict", "not ready", 1)}}
	two := daemon.Step{Next: []personas.Rule{rule("Verdict", "changes requested", 1), rule("Risk", "high", 2)}}
	for _, test := range []struct {
		step   daemon.Step
		output string
		want   int // 0: the following step
		why    daemon.Undecided
	}{
		{review, "**Verdict:** Changes requested", 1, ""},
		{review, "## Verdict: changes requested", 1, ""},
		{review, "### 4. **Verdict**\n\n❌ CHANGES_REQUESTED", 1, ""},
		{review, "Verdict\r\n-------\r\nChanges requested\r\n", 1, ""},
		{review, "## Verdict: changes requested\n\nNo changes requested for the docs.", 1, ""},
		{review, "## Verdict\n\n## Verdict\nchanges requested", 1, ""},
		{review, "## Verdict\nApproved. No changes requested.", 0, ""},
		{review, "## Verdict\nready", 0, ""},
		{review, "ready", 0, daemon.UndecidedMissing},
		{review, "", 0, daemon.UndecidedMissing},
		{review, "```\n## Verdict\nchanges requested\n```\nand so on", 0, daemon.UndecidedMissing},
		{review, "> ## Verdict\n> changes requested", 0, daemon.UndecidedMissing},
		{review, "## Verdict", 0, daemon.UndecidedEmpty},
		{review, "## Verdict: ❌", 0, daemon.UndecidedEmpty},
		{review, "## Verdict\n- [ ] approved\n- [ ] changes requested", 0, daemon.UndecidedEmpty},
		{review, "## Verdict\n<!-- changes requested -->", 0, daemon.UndecidedEmpty},
		{review, "## Verdict\nREQUEST_CHANGES", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\napproved | changes requested", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nready\n## Verdict\nchanges requested", 0, daemon.UndecidedUnclear},
		{review, "**Verdict**: request changes", 0, daemon.UndecidedUnclear},
		{review, "Verdict - Changes Requested", 1, ""},
		{review, "# 4) Verdict ✅\nchanges requested", 1, ""},
		{review, "## Final Verdict\nChanges requested", 1, ""},
		{review, "**Overall verdict:** changes requested", 1, ""},
		{review, "Verdict:\n\nchanges requested", 1, ""},
		{review, "### Verdict\n\n> Changes requested", 1, ""},
		{review, "| Item | Result |\n|---|---|\n| Verdict | Changes requested |", 1, ""},
		{review, "~~~\n## Verdict\nchanges requested\n~~~\n## Verdict\nApproved with comments", 0, ""},
		{review, "## Verdict\nLGTM 👍", 0, ""},
		{review, "## Verdict\nApproved, no blocking issues. Needs a ticket.", 0, ""},
		{review, "## Verdict\n0 changes requested", 0, ""},
		{review, "## Verdict\n[x] Approved\n[ ] Changes requested", 0, ""},
		{review, "## Verdict\n✅ Approved\n⬜ Changes requested", 0, ""},
		{review, "## Verdict\nAll changes requested have been made. Approved.", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nPreviously: changes requested. Now: approved.", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nNeeds changes", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nChanges required", 0, daemon.UndecidedUnclear},
		{review, "## Verdict: Rejected", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nNot approved", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nIt cannot be approved as it is", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nApproved: no", 0, daemon.UndecidedUnclear},
		{review, "## Verdict\nApproved: ❌", 0, daemon.UndecidedUnclear},
		{strict, "## Verdict\nready", 0, daemon.UndecidedNoRule},
		{strict, "## Verdict\nchanges requested", 1, ""},
		{longer, "## Verdict\nnot ready", 1, ""},
		{longer, "## Verdict\nready", 3, ""},
		{shorter, "## Verdict\nnot ready", 1, ""},
		{shorter, "## Verdict\nready", 3, ""},
		{shorter, "## Verdict: not ready\n\nIt will be ready tomorrow.", 1, ""},
		{two, "## Risk\nhigh", 2, ""},
		{two, "## Risk\nlow", 0, daemon.UndecidedMissing},
		{two, "## Verdict\nready\n## Risk\nlow", 0, ""},
	} {
		rule, why := decide(&test.step, test.output)
		got := 0
		if rule != nil {
			got = rule.Goto
		}
		if got != test.want || why != test.why {
			t.Errorf("%q with %v leads to %d, %q; want %d, %q", test.output, test.step.Next, got, why, test.want, test.why)
		}
	}
}
