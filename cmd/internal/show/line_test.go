package show

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// aLine is a line of two generations, of which the second is still at it, newest first.
func aLine() []daemon.Handoff {
	const folder = "/srv/me/personas/developer-con-1/handoffs/"
	day := time.Date(2025, 11, 20, 12, 0, 0, 0, time.UTC)
	return []daemon.Handoff{
		{ID: 4, AgentID: 2, Generation: 2, Phase: daemon.Generating, FilePath: folder + "20251120T120000-00000002.md"},
		{
			ID: 3, AgentID: 1, Generation: 1, Phase: daemon.Completed, RecordedAt: &day, SuccessorID: new(int64(2)),
			FilePath: folder + "20251119T120000-00000001.md", Warnings: []string{"file \x1b[2Jx", "more"},
			ContextUse: &daemon.ContextUse{Percent: new(76.0), Tier: daemon.TierHigh},
			Metrics: daemon.Metrics{TotalMS: 83_400, Phases: map[daemon.Phase]int64{
				daemon.AwaitingDocument: 61_000, daemon.AwaitingRegistration: 12_000, daemon.Briefing: 900,
			}},
		},
		{ID: 2, AgentID: 1, Generation: 1, Phase: daemon.Cancelled, FilePath: folder + "20251119T110000-00000001.md"},
	}
}

func TestDescribeLine(t *testing.T) {
	t.Parallel()
	rows := wardentest.Value(Generations(t.Context(), nil, aLine(), 3))(t)
	var pipe, screen bytes.Buffer
	for b, terminal := range map[*bytes.Buffer]bool{&pipe: false, &screen: true} {
		wardentest.Must(t, DescribeLine(&term.UI{Out: b, Terminal: terminal, Home: "/srv/me"}, rows, 3))
	}
	const want = `
line of generations
   GEN  AGENT  HANDED OVER  CONTEXT    TOTAL    WARN
▸  1    1      2025-11-20   76 % high  83.40 s  2
      awaiting document 61.00 s, awaiting registration 12.00 s  FOLDER/20251119T120000-00000001.md
   2    2      generating   -          -        -
      FOLDER/20251120T120000-00000002.md
`
	equal(t, "in a pipe", pipe.String(), strings.ReplaceAll(want, "FOLDER", "/srv/me/personas/developer-con-1/handoffs"))
	for line := range strings.Lines(screen.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if got := screen.String(); !strings.Contains(got, "line of generations, documents in ~/personas/developer-con-1/handoffs\n") ||
		!strings.Contains(got, "12.00 s\n      20251119T120000-00000001.md\n") {
		t.Errorf("on a terminal:\n%s", got)
	}
}

// TestGenerationsShowWhatWasAskedFor: an attempt that came to nothing has no row, unless it is the
// one.
func TestGenerationsShowWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	for shown, want := range map[int64]string{2: "[2* 4]", 3: "[3* 4]", 4: "[3 4*]"} {
		rows := wardentest.Value(Generations(t.Context(), nil, aLine(), shown))(t)
		var got []string
		for _, g := range rows {
			mark := ""
			if g.Handoff.ID == shown {
				mark = "*"
			}
			got = append(got, fmt.Sprint(g.Handoff.ID)+mark)
		}
		equal(t, fmt.Sprintf("handoff %d", shown), fmt.Sprint(got), want)
	}
}

func TestDescribeHandoff(t *testing.T) {
	t.Parallel()
	h := aLine()[1]
	h.Mode, h.Structured = daemon.ModeGenerate, &daemon.Structured{}
	var b bytes.Buffer
	DescribeHandoff(&term.UI{Out: &b}, &h, nil)
	wantIn(t, b.String(),
		"mode          generate\n", "generation    1\n", "structured    yes\n", "validated     no, it was not checked\n", "degraded      no\n",
		"context used  76 % high", "warning       file [2Jx\nwarning       more\n",
	)
	h = daemon.Handoff{Phase: daemon.Failed, Error: &daemon.Failure{Phase: daemon.Generating, Code: "generation_empty", Message: "Handoff failed: generation produced no content", Hint: "ask once more"}}
	b.Reset()
	DescribeHandoff(&term.UI{Out: &b}, &h, nil)
	if got := b.String(); !strings.Contains(got, "error       Handoff failed: generation produced no content\nhint        ask once more\n") || strings.Contains(got, "structured") {
		t.Errorf("a failure:\n%s", got)
	}
}

// TestDescribeDurations: each phase has its time, the median of the others, how they relate, and a bar; a handoff without
// others to compare it with has none of that.
func TestDescribeDurations(t *testing.T) {
	t.Parallel()
	ms := func(v int64) *int64 { return &v }
	var b bytes.Buffer
	d := pictures.Durations{TotalMS: 61_000, MedianMS: ms(40_000), Of: 3, Phases: []pictures.PhaseDuration{
		{Phase: daemon.Requested, MS: 10, MedianMS: ms(0), Of: 3}, {Phase: daemon.AwaitingDocument, MS: 60_000, MedianMS: ms(40_000), Of: 3}, {Phase: daemon.Spawning, MS: 30_000}}}
	wardentest.Must(t, DescribeDurations(&term.UI{Out: &b}, &d))
	wantText(t, b.String(), `
beside the median of 3 other completed handoffs
PHASE                                TIME     MEDIAN   RATIO
requested                            0.01 s   0.00 s   -
awaiting document  ████████████████  60.00 s  40.00 s  1.5×
spawning           ████████          30.00 s  -        -
total                                61.00 s  40.00 s  1.5×
`)
	b.Reset()
	if err := DescribeDurations(&term.UI{Out: &b}, &pictures.Durations{}); err != nil || b.Len() != 0 {
		t.Errorf("%q (%v)", b.String(), err)
	}
}

// TestPhases: a move prints the phase that it ended, and a retry prints where the handoff goes on.
func TestPhases(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewWatcher(&term.UI{Out: &out})
	w.phase(daemon.Transition{From: daemon.Instructing, To: daemon.AwaitingDocument}, &daemon.Handoff{AgentID: 1}, 1500*time.Millisecond)
	w.phase(daemon.Transition{From: daemon.Verifying, To: daemon.Failed}, &daemon.Handoff{}, time.Second)
	w.phase(daemon.Transition{From: daemon.Failed, To: daemon.Verifying}, &daemon.Handoff{}, time.Second)
	w.phase(daemon.Transition{From: daemon.Verifying, To: daemon.Instructing, Cause: "retry: document_missing"}, &daemon.Handoff{}, time.Second)
	const want = `  ✓ instructing                 1.50 s  agent 1 took the instruction
  ✗ verifying                   1.00 s  failed
  ↻ retried: verifying
  ✗ verifying                   1.00 s  retry: document_missing
`
	equal(t, "printed", out.String(), want)
}
