package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/data"
)

func TestDescribeRecord(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	r := api.Record{
		HandoffID: 12, AgentID: 7, Agent: "developer-con-1", Persona: "developer-con-1", Progress: true, At: at,
		Decisions:  []data.Decision{{Summary: "One key\x1b[2J", Rationale: "Two would drift", RelatedArtifacts: []string{"a.go", "b.go"}}, {Summary: "No lock"}},
		Todos:      []data.Todo{{Text: "Mend it", Status: "in_progress"}, {Text: "Sweep", Status: "pending"}},
		References: []data.Reference{{Path: "a.go", Note: "modified, +3 -1"}, {Path: "b.go"}},
		Messages:   []data.Message{{Role: "user", Text: "Begin\x1b[2J\nnow\n", At: at}},
	}
	var b bytes.Buffer
	DescribeRecord(&term.UI{Out: &b}, &r)
	wantText(t, b.String(), `handoff   12
agent     7 (developer-con-1)
persona   developer-con-1
recorded  2026-07-01 09:00:00 UTC
progress  yes

2 decisions
  One key[2J
      Two would drift
      files: a.go, b.go
  No lock

2 open todos
  Mend it (in progress)
  Sweep

2 files
  a.go: modified, +3 -1
  b.go

1 message
  user, 2026-07-01 09:00:00 UTC
  │ Begin[2J
  │ now
`)

	b.Reset()
	long := strings.TrimSpace(strings.Repeat("seventeen letters ", 12))
	DescribeRecord(&term.UI{Out: &b, Terminal: true}, &api.Record{
		Agent: "a", At: at, Decisions: []data.Decision{{Summary: long, Rationale: long, RelatedArtifacts: []string{long}}},
		Todos: []data.Todo{{Text: long}}, References: []data.Reference{{Path: "a.go", Note: long}}, Messages: []data.Message{{Role: "user", Text: long, At: at}},
	})
	cmdtest.WantNarrow(t, b.String())
}
