package daemon

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
		t.Errorf("%s is not what the table in handoff.go says: run go test ./daemon -run TestStates -update", path)
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
		if len(s.next) == 0 || s.do == nil || s.does == "" {
			t.Errorf("%s: the step leads nowhere, does nothing or does not say what", s.at)
		}
		if (s.limit != nil) != (s.code != "") || s.limit != nil && s.limitName == "" {
			t.Errorf("%s: a limit needs a name and a code, and a code a limit", s.at)
		}
		for _, next := range s.next {
			reached[next] = true
			if _, ok := stepAt(next); !ok && next != Completed {
				t.Errorf("%s leads to %s, which is neither a step nor an end", s.at, next)
			}
		}
	}
	if !reached[Completed] {
		t.Error("nothing leads to completed")
	}
}

// codes find the failures of handoffs in the source, and those of the document that they pass on.
var codes = []struct{ file, pattern string }{
	{"handoff.go", `code:\s+"([a-z_]+)"`},
	{"handoff_run.go", `failed\("([a-z_]+)"[,+]`},
	{"record_run.go", `failed\("([a-z_]+)"[,+]`},
	{"generate_run.go", `notGenerated\("([a-z_]+)",`},
	{"pipeline_run.go", `code:\s+"([a-z_]+)"`},
	{"pipeline_step.go", `code:\s+"([a-z_]+)"`},
	{"pipelines.go", `code:\s+"([a-z_]+)"`},
	{filepath.Join("..", "data", "document.go"), `Document\w+\s+= "(document_[a-z_]+)"`},
}

// TestFailureCodesAreDocumented keeps the table in docs/operating.md complete.
func TestFailureCodesAreDocumented(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile(filepath.Join("..", "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "## When a handoff fails")
	var explained []string
	for _, row := range regexp.MustCompile(`(?m)^\| (`+"`"+`[^|]*) \|`).FindAllStringSubmatch(table, -1) {
		explained = append(explained, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	for _, c := range codes {
		source, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.pattern).FindAllSubmatch(source, -1)
		if len(found) == 0 {
			t.Errorf("%s: no failure codes found: adapt the pattern", c.file)
		}
		for _, m := range found {
			code := string(m[1])
			if !slices.ContainsFunc(explained, func(e string) bool {
				return e == code || strings.HasSuffix(code, "_") && strings.HasPrefix(e, code) // a verdict follows
			}) {
				t.Errorf("failure code %s in %s is not in docs/operating.md: say there what to do", code, c.file)
			}
		}
	}
}

// TestStagesAreConnected finds statuses of runs and steps that nothing leads to.
func TestStagesAreConnected(t *testing.T) {
	t.Parallel()
	connected(t, "run", pipelineStages, PipelineDone)
	connected(t, "step", stepStages, StepDone, StepSkipped)
}

func connected[S ~string](t *testing.T, what string, stages []stage[S], ends ...S) {
	t.Helper()
	reached := map[S]bool{stages[0].at: true}
	for _, s := range stages {
		for _, next := range s.next {
			reached[next] = true
			if !slices.Contains(ends, next) && !slices.ContainsFunc(stages, func(s stage[S]) bool { return s.at == next }) {
				t.Errorf("%s: %s leads to %s, which is neither a row nor an end", what, s.at, next)
			}
		}
	}
	for _, s := range stages {
		if !reached[s.at] || len(s.next) == 0 || s.does == "" {
			t.Errorf("%s: nothing leads to %s, or it leads nowhere, or it does not say what it does", what, s.at)
		}
	}
	for _, end := range ends {
		if !reached[end] {
			t.Errorf("%s: nothing leads to %s", what, end)
		}
	}
}

const statesTop = `<!-- Generated from the tables in daemon/handoff.go and daemon/pipeline.go by daemon/states_test.go.
     Do not edit: run go test ./daemon -run TestStates -update -->
# The states of a handoff

A handoff is a row; its phase is one of the states below. An *acting* phase has an effect and moves on; a *waiting* one stands
until what it names has happened. Every move is a guarded write, with its event in the same transaction.

`

const statesBottom = `
From every phase above a handoff can become ` + "`failed`" + `; what the limits' failures are called, and what to do about each,
stands in [operating.md](operating.md#when-a-handoff-fails). Until the document is recorded it can be ` + "`cancelled`" + `.

A failed handoff stays where it is until somebody retries it. Before the record, a retry goes to ` + "`verifying`" + `, and from
there to ` + "`instructing`" + ` if there is still no acceptable document. After the record it goes on from the phase that failed:
to ` + "`shutting_down`" + `, to ` + "`spawning`" + ` with a new successor if the first one is gone, else to
` + "`awaiting_registration`" + ` or ` + "`briefing`" + `.

A handoff whose agent was given work that its document may not mention waits in ` + "`shutting_down`" + ` for a person. A retry
goes back to ` + "`verifying`" + `, before the record, and asks for another document; ` + "`agent stop`" + ` goes on with the one there is.

Outside, ` + "`requested`" + ` counts as ` + "`pending`" + ` and every other phase that is not an end as ` + "`in_progress`" + `.
`

// drawStates renders the table as a diagram and as a table.
func drawStates() []byte {
	var b bytes.Buffer
	b.WriteString(statesTop)
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s: asked for\n", handoffSteps[0].at)
	for i, s := range handoffSteps {
		for _, next := range s.next {
			label := ""
			if j := slices.IndexFunc(handoffSteps, func(s step) bool { return s.at == next }); j >= 0 && j < i {
				label = ": retry without a document"
			}
			fmt.Fprintf(&b, "    %s --> %s%s\n", s.at, next, label)
		}
		if beforeRecord(s.at) {
			fmt.Fprintf(&b, "    %s --> %s: until recorded\n", s.at, Cancelled)
		}
	}
	for _, s := range handoffSteps {
		fmt.Fprintf(&b, "    %s --> %s\n", s.at, Failed)
	}
	for _, end := range []Phase{Completed, Cancelled} {
		fmt.Fprintf(&b, "    %s --> [*]\n", end)
	}
	fmt.Fprintf(&b, "    %s --> %s: retry before the record\n", Failed, Verifying)
	fmt.Fprintf(&b, "    %s --> %s: retry where work came after the document\n", ShuttingDown, Verifying)
	fmt.Fprintf(&b, "    %s --> %s: retry after the record, from the phase that failed\n", Failed, ShuttingDown)
	b.WriteString("```\n\n| phase | kind | what is done, or waited for | limit | then |\n|---|---|---|---|---|\n")
	for _, s := range handoffSteps {
		kind := "waits"
		if s.acts {
			kind = "acts"
		}
		next := make([]string, len(s.next))
		for i, p := range s.next {
			next[i] = "`" + string(p) + "`"
		}
		limit := s.limitName
		if s.code != "" {
			limit += " (`" + s.code + "`)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.at, kind, s.does, limit, strings.Join(next, ", "))
	}
	b.WriteString(statesBottom)
	b.WriteString(runsTop)
	drawStages(&b, pipelineStages, PipelineDone)
	b.WriteString(stepsTop)
	drawStages(&b, stepStages, StepDone, StepSkipped)
	b.WriteString(runsBottom)
	return b.Bytes()
}

const runsTop = `
# The states of a pipeline's run

A run is a row with its steps. Its moves and theirs are guarded by one sequence number, and written together. While it is
` + "`running`" + `, its first step that is neither done nor skipped is what goes on.

`

const stepsTop = `
# The states of a step

`

const runsBottom = `
What the failures are called, and what to do about each, stands in [operating.md](operating.md#when-a-pipeline-fails).
`

func drawStages[S ~string](b *bytes.Buffer, stages []stage[S], ends ...S) {
	fmt.Fprintf(b, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", stages[0].at)
	for _, s := range stages {
		for _, next := range s.next {
			fmt.Fprintf(b, "    %s --> %s\n", s.at, next)
		}
	}
	for _, end := range ends {
		fmt.Fprintf(b, "    %s --> [*]\n", end)
	}
	b.WriteString("```\n\n| status | kind | what is done, or waited for | then |\n|---|---|---|---|\n")
	for _, s := range stages {
		kind := "waits"
		if s.acts {
			kind = "acts"
		}
		next := make([]string, len(s.next))
		for i, n := range s.next {
			next[i] = "`" + string(n) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", s.at, kind, s.does, strings.Join(next, ", "))
	}
}
