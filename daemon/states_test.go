package daemon

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
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestStates keeps docs/states.md what the table says. After a change of the table:
//
//	go test ./daemon -run TestStates -update
func TestStates(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "states.md")
	want := drawStates()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the tables in flow.go and pipeline.go say: run go test ./daemon -run TestStates -update", path)
	}
}

// TestStepsAreConnected finds phases that nothing leads to or that lead nowhere.
func TestStepsAreConnected(t *testing.T) {
	t.Parallel()
	reached := map[Phase]bool{Requested: true}
	for _, s := range handoffSteps {
		if !reached[s.at] {
			t.Errorf("%s: no step above it leads here", s.at)
		}
		if len(s.next) == 0 || len(s.retry) == 0 || s.do == nil || s.does == "" || s.who == "" {
			t.Errorf("%s: the step leads nowhere, has no retry, does nothing or does not say what, or who does it", s.at)
		}
		if (s.limit != nil) != (s.code != "") || s.limit != nil && s.limitName == "" {
			t.Errorf("%s: a limit needs a name and a code, and a code a limit", s.at)
		}
		for _, w := range slices.Concat(s.next, s.retry) {
			if _, ok := stepAt(w.to); !ok && w.to != Completed {
				t.Errorf("%s leads to %s, which is neither a step nor an end", s.at, w.to)
			}
		}
		for _, w := range s.next {
			reached[w.to] = true
		}
		for _, w := range s.retry {
			if BeforeRecord(s.at) != BeforeRecord(w.to) {
				t.Errorf("%s: a retry that goes on at %s passes the record by", s.at, w.to)
			}
		}
		if back := Target(s.next, onWorkedOn); back != "" && !BeforeRecord(back) {
			t.Errorf("%s: another document is asked for before the record, not in %s", s.at, back)
		}
		if (Target(s.retry, onSuccessorGone) != "") != hasSuccessor(s.at) || hasSuccessor(s.at) == (Target(s.retry, "") != "") {
			t.Errorf("%s: a retry needs a way without condition, or one with a successor and one without", s.at)
		}
	}
	if !reached[Completed] {
		t.Error("nothing leads to completed")
	}
}

// TestStagesAreConnected finds statuses of pipelines and steps that nothing leads to.
func TestStagesAreConnected(t *testing.T) {
	t.Parallel()
	connected(t, "pipeline", PipelineStages, PipelineDone)
	connected(t, "step", StepStages, StepDone, StepSkipped)
}

func connected[S ~string](t *testing.T, what string, stages []stage[S], ends ...S) {
	t.Helper()
	reached := map[S]bool{stages[0].at: true}
	for _, s := range stages {
		for _, w := range s.next {
			reached[w.to] = true
			if !slices.Contains(ends, w.to) && len(WaysFrom(stages, w.to)) == 0 {
				t.Errorf("%s: %s leads to %s, which is neither a row nor an end", what, s.at, w.to)
			}
		}
	}
	for _, s := range stages {
		if !reached[s.at] || len(s.next) == 0 || s.does == "" || s.who == "" {
			t.Errorf("%s: nothing leads to %s, or it leads nowhere, or it does not say what it does, or who does it", what, s.at)
		}
	}
	for _, end := range ends {
		if !reached[end] {
			t.Errorf("%s: nothing leads to %s", what, end)
		}
	}
}

const statesTop = `<!-- Generated from the tables in daemon/flow.go and daemon/pipeline.go by daemon/states_test.go.
     Do not edit: run go test ./daemon -run TestStates -update -->
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
	drawStart(&b, handoffSteps[0].at)
	for _, s := range handoffSteps {
		drawWays(&b, s.at, s.next)
		if s.cancel {
			drawWays(&b, s.at, []way[Phase]{{Cancelled, "cancel"}})
		}
		drawWays(&b, s.at, []way[Phase]{{to: Failed}})
	}
	drawn := map[way[Phase]]bool{}
	for _, s := range handoffSteps {
		for _, w := range s.retry {
			if label := strings.TrimSuffix("retry where "+w.on, " where "); !drawn[w] {
				drawWays(&b, Failed, []way[Phase]{{w.to, label}})
			}
			drawn[w] = true
		}
	}
	drawEnds(&b, Completed, Cancelled)
	b.WriteString("| phase | status | who | kind | what is done, or waited for | limit | then | cancel | retry |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range handoffSteps {
		limit, cancel := s.limitName, ""
		if s.code != "" {
			limit += " (`" + string(s.code) + "`)"
		}
		if s.cancel {
			cancel = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s | %s | %s | %s |\n",
			s.at, s.at.Status(), s.who, kindWords(s.acts), s.does, limit, wayWords(s.next), cancel, wayWords(s.retry))
	}
	b.WriteString(statesBottom)
	drawStages(&b, PipelineStages, PipelineDone)
	b.WriteString(stepsTop)
	drawStages(&b, StepStages, StepDone, StepSkipped)
	b.WriteString(stepsBottom)
	b.WriteString(holdsTop)
	for i := range holdKinds {
		row := &holdKinds[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.kind, row.ends, cmp.Or(row.says, (&Hold{Kind: row.kind}).Words(), "…"))
	}
	return b.Bytes()
}

func drawStages[S ~string](b *bytes.Buffer, stages []stage[S], ends ...S) {
	drawStart(b, stages[0].at)
	for _, s := range stages {
		drawWays(b, s.at, s.next)
	}
	drawEnds(b, ends...)
	b.WriteString("| status | who | kind | what is done, or waited for | then |\n|---|---|---|---|---|\n")
	for _, s := range stages {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", s.at, s.who, kindWords(s.acts), s.does, wayWords(s.next))
	}
}

func drawStart[S ~string](b *bytes.Buffer, first S) {
	fmt.Fprintf(b, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", first)
}

func drawWays[S ~string](b *bytes.Buffer, from S, ways []way[S]) {
	for _, w := range ways {
		fmt.Fprintf(b, "    %s --> %s%s\n", from, w.to, strings.TrimSuffix(": "+w.on, ": "))
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
func wayWords[S ~string](ways []way[S]) string {
	var words []string
	for _, w := range ways {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("`%s` (%s)", w.to, w.on), " ()"))
	}
	return strings.Join(words, ", ")
}
