package handoffs

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestStates keeps docs/states.md what the table says. After a change of the table:
//
//	go test ./daemon/handoffs -run TestStates -update
func TestStates(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "states.md")
	want := drawStates()
	if *update {
		must(t, os.WriteFile(path, want, 0o644))
	}
	got := value(os.ReadFile(path))(t)
	equal(t, path+" is not what the tables in flow.go and pipeline.go say: run go test ./daemon/handoffs -run TestStates -update", got, want)
}

// TestStepsAreConnected finds phases that nothing leads to or that lead nowhere.
func TestStepsAreConnected(t *testing.T) {
	t.Parallel()
	reached := map[daemon.Phase]bool{daemon.Requested: true}
	for _, s := range daemon.HandoffSteps {
		if !reached[s.At] {
			t.Errorf("%s: no step above it leads here", s.At)
		}
		if len(s.Next) == 0 || len(s.Retry) == 0 || doPhase[s.At] == nil || s.Does == "" || s.Who == "" {
			t.Errorf("%s: the step leads nowhere, has no retry, does nothing or does not say what, or who does it", s.At)
		}
		if (s.Limit != nil) != (s.Code != "") || s.Limit != nil && s.LimitName == "" {
			t.Errorf("%s: a limit needs a name and a code, and a code a limit", s.At)
		}
		for _, w := range slices.Concat(s.Next, s.Retry) {
			if _, ok := daemon.StepAt(w.To); !ok && w.To != daemon.Completed {
				t.Errorf("%s leads to %s, which is neither a step nor an end", s.At, w.To)
			}
		}
		for _, w := range s.Next {
			reached[w.To] = true
		}
		for _, w := range s.Retry {
			equal(t, fmt.Sprint(s.At, ": a retry that goes on at ", w.To, " passes the record by"), daemon.BeforeRecord(s.At), daemon.BeforeRecord(w.To))
		}
		if back := daemon.Target(s.Next, daemon.OnWorkedOn); back != "" && !daemon.BeforeRecord(back) {
			t.Errorf("%s: another document is asked for before the record, not in %s", s.At, back)
		}
		if (daemon.Target(s.Retry, daemon.OnSuccessorGone) != "") != hasSuccessor(s.At) || hasSuccessor(s.At) == (daemon.Target(s.Retry, "") != "") {
			t.Errorf("%s: a retry needs a way without condition, or one with a successor and one without", s.At)
		}
	}
	if !reached[daemon.Completed] {
		t.Error("nothing leads to completed")
	}
}

// TestStagesAreConnected finds statuses of pipelines and steps that nothing leads to.
func TestStagesAreConnected(t *testing.T) {
	t.Parallel()
	connected(t, "pipeline", daemon.PipelineStages, daemon.PipelineDone)
	connected(t, "step", daemon.StepStages, daemon.StepDone, daemon.StepSkipped)
}

func connected[S ~string](t *testing.T, what string, stages []daemon.Stage[S], ends ...S) {
	t.Helper()
	reached := map[S]bool{stages[0].At: true}
	for _, s := range stages {
		for _, w := range s.Next {
			reached[w.To] = true
			if !slices.Contains(ends, w.To) && len(daemon.WaysFrom(stages, w.To)) == 0 {
				t.Errorf("%s: %s leads to %s, which is neither a row nor an end", what, s.At, w.To)
			}
		}
	}
	for _, s := range stages {
		if !reached[s.At] || len(s.Next) == 0 || s.Does == "" || s.Who == "" {
			t.Errorf("%s: nothing leads to %s, or it leads nowhere, or it does not say what it does, or who does it", what, s.At)
		}
	}
	for _, end := range ends {
		if !reached[end] {
			t.Errorf("%s: nothing leads to %s", what, end)
		}
	}
}

const statesTop = `<!-- Generated from the tables in daemon/flow.go and daemon/pipeline.go by daemon/handoffs/states_test.go.
     Do not edit: run go test ./daemon/handoffs -run TestStates -update -->
# The states of a handoff

A handoff is a row; its phase is one of the states below. An *acting* phase has an effect and moves on; a *waiting* one stands
until what it names has happened. Every move is a guarded write, with its event in the same transaction.

`

const statesBottom = `
From every phase above a handoff can become ` + "`failed`" + `; what the limits' failures are called, and what to do about each,
stands in [operating.md](operating.md#when-a-handoff-fails). It stays so until somebody retries it; the column "retry" has
where it goes on. In the phases of the column "cancel" a person can cancel it. The status is what counts outside.

# The states of a pipeline's run

A run is a row with its steps. Its moves and theirs are guarded by one sequence number, and written together. While it is
` + "`running`" + `, its first step that is neither done nor skipped is what goes on.

`

const stepsTop = `
# The states of a step

`

const stepsBottom = `
What the failures are called, and what to do about each, stands in [operating.md](operating.md#when-a-pipeline-fails).
`

const holdsTop = `
# What holds up agents and handoffs

What is wrong with an agent, and what a handoff or an heir waits for where the phase does not say it, is a *hold* on the row: a kind with values.
The daemon decides by the kind. The note that people read is made of the hold.

| kind | who ends it | note |
|---|---|---|
`

// drawStates renders the tables as diagrams and as tables.
func drawStates() []byte {
	var b bytes.Buffer
	b.WriteString(statesTop)
	drawStart(&b, daemon.HandoffSteps[0].At)
	for _, s := range daemon.HandoffSteps {
		drawWays(&b, s.At, s.Next)
		if s.Cancel {
			drawWays(&b, s.At, []daemon.Way[daemon.Phase]{{To: daemon.Cancelled, On: "cancel"}})
		}
		drawWays(&b, s.At, []daemon.Way[daemon.Phase]{{To: daemon.Failed}})
	}
	drawn := map[daemon.Way[daemon.Phase]]bool{}
	for _, s := range daemon.HandoffSteps {
		for _, w := range s.Retry {
			if label := strings.TrimSuffix("retry where "+w.On, " where "); !drawn[w] {
				drawWays(&b, daemon.Failed, []daemon.Way[daemon.Phase]{{To: w.To, On: label}})
			}
			drawn[w] = true
		}
	}
	drawEnds(&b, daemon.Completed, daemon.Cancelled)
	b.WriteString("| phase | status | who | kind | what is done, or waited for | limit | then | cancel | retry |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range daemon.HandoffSteps {
		limit, cancel := s.LimitName, ""
		if s.Code != "" {
			limit += " (`" + string(s.Code) + "`)"
		}
		if s.Cancel {
			cancel = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s | %s | %s | %s |\n",
			s.At, s.At.Status(), s.Who, kindWords(s.Acts), s.Does, limit, wayWords(s.Next), cancel, wayWords(s.Retry))
	}
	b.WriteString(statesBottom)
	drawStages(&b, daemon.PipelineStages, daemon.PipelineDone)
	b.WriteString(stepsTop)
	drawStages(&b, daemon.StepStages, daemon.StepDone, daemon.StepSkipped)
	b.WriteString(stepsBottom)
	b.WriteString(holdsTop)
	for i := range daemon.HoldKinds {
		row := &daemon.HoldKinds[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Kind, row.Ends, cmp.Or(row.Says, (&daemon.Hold{Kind: row.Kind}).Words(), "…"))
	}
	return b.Bytes()
}

func drawStages[S ~string](b *bytes.Buffer, stages []daemon.Stage[S], ends ...S) {
	drawStart(b, stages[0].At)
	for _, s := range stages {
		drawWays(b, s.At, s.Next)
	}
	drawEnds(b, ends...)
	b.WriteString("| status | who | kind | what is done, or waited for | then |\n|---|---|---|---|---|\n")
	for _, s := range stages {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", s.At, s.Who, kindWords(s.Acts), s.Does, wayWords(s.Next))
	}
}

func drawStart[S ~string](b *bytes.Buffer, first S) {
	fmt.Fprintf(b, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", first)
}

func drawWays[S ~string](b *bytes.Buffer, from S, ways []daemon.Way[S]) {
	for _, w := range ways {
		fmt.Fprintf(b, "    %s --> %s%s\n", from, w.To, strings.TrimSuffix(": "+w.On, ": "))
	}
}

func drawEnds[S ~string](b *bytes.Buffer, ends ...S) {
	for _, end := range ends {
		fmt.Fprintf(b, "    %s --> [*]\n", end)
	}
	b.WriteString("```\n\n")
}

func kindWords(acts bool) string {
	if acts {
		return "acts"
	}
	return "waits"
}

// wayWords are the ways out of a state with their conditions.
func wayWords[S ~string](ways []daemon.Way[S]) string {
	var words []string
	for _, w := range ways {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("`%s` (%s)", w.To, w.On), " ()"))
	}
	return strings.Join(words, ", ")
}
