package daemon

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
)

// lineStore is a store that has only what the assembly reads.
type lineStore struct {
	Store
	line []Record
	err  error
}

func (s lineStore) LineRecords(context.Context, LineQuery) ([]Record, error)   { return s.line, s.err }
func (s lineStore) Handoffs(context.Context, HandoffFilter) ([]Handoff, error) { return nil, nil }

// assembler makes a handoffRun whose assembly reads store and transcript.
func assembler(t testing.TB, store lineStore, transcript string) *handoffRun {
	t.Helper()
	set := DefaultHandoff
	d := New(Config{Host: "here", Store: store, Data: data.At(t.TempDir()), Settings: Settings{Handoff: set}, Log: slog.New(slog.DiscardHandler)})
	a := &Agent{ID: 7, Name: "con", Runtime: "claude", Cwd: t.TempDir(), TranscriptPath: &transcript, CreatedAt: time.Now()}
	h := &Handoff{ID: 3, Ref: "handoff_con_con_1_00c0ffee", Persona: "writer-con-1", SourceAgent: "con", TargetAgent: "con", FilePath: "/d/h.md"}
	return &handoffRun{d: d, ctx: t.Context(), now: time.Now(), h: h, agent: a, settings: set}
}

var goodDocument = data.Document{Bytes: []byte("## What Was Done\nThe parser.\n\n## Decisions Made\n- Tabs are an error: they hide.\n")}

// TestConversationOfLine: the context has the newest messages of the whole line, the oldest first, and the decisions
// of the line, beginning with the outgoing agent's.
func TestConversationOfLine(t *testing.T) {
	t.Parallel()
	said := func(texts ...string) (out []data.Message) {
		for _, text := range texts {
			out = append(out, data.Message{Agent: "con", Role: "user", Text: text})
		}
		return out
	}
	store := lineStore{line: []Record{
		{Messages: said("d", "e"), Decisions: []data.Decision{{Agent: "con", Summary: "second"}}, Progress: true},
		{Messages: said("a", "b", "c"), Decisions: []data.Decision{{Agent: "con", Summary: "third"}}},
	}}
	r := assembler(t, store, transcripttest.File(t, transcripttest.User("f")))
	r.settings.MaxMessages = 4
	got, err := r.assemble(goodDocument)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got.context)
	at := -1
	for _, part := range []string{"> c\n", "> d\n", "> e\n", "> f\n"} {
		i := strings.Index(text, part)
		if i <= at {
			t.Errorf("%q is missing or out of order", part)
		}
		at = i
	}
	if strings.Contains(text, "> b\n") || got.rendered.Messages != 4 {
		t.Errorf("%d messages, want the newest 4", got.rendered.Messages)
	}
	if i, j, k := strings.Index(text, "- Tabs"), strings.LastIndex(text, "second"), strings.LastIndex(text, "third"); i < 0 || j < i || k < j || got.rendered.Decisions != 3 {
		t.Errorf("decisions at %d, %d, %d", i, j, k)
	}
	if len(got.record.Messages) != 1 || len(got.record.Decisions) != 1 {
		t.Errorf("the record holds %d messages and %d decisions, want this agent's alone", len(got.record.Messages), len(got.record.Decisions))
	}
}

// TestIdleGenerations: the assembly counts the generations in a row without progress, and warns at the fifth.
func TestIdleGenerations(t *testing.T) {
	t.Parallel()
	nothing := data.Document{Bytes: []byte("## What Was Done\nLooked around.\n")}
	line := slices.Repeat([]Record{{}}, 4)
	for _, c := range []struct {
		what   string
		line   []Record
		reason string
		doc    data.Document
		idle   int
		warned bool
	}{
		{"the fifth", line, ReasonContext, nothing, 5, true},
		{"the fourth", line[:3], ReasonContext, nothing, 4, false},
		{"asked for by a person", line, "manual", nothing, 5, false},
		{"one that decided something", line, ReasonContext, goodDocument, 0, false},
		{"after one that got somewhere", append([]Record{{Progress: true}}, line...), ReasonContext, nothing, 1, false},
	} {
		r := assembler(t, lineStore{line: c.line}, transcripttest.File(t, ""))
		r.h.Reason = c.reason
		got, err := r.assemble(c.doc)
		warned := slices.ContainsFunc(got.warnings, func(w string) bool { return strings.Contains(w, "generations in a row") })
		if err != nil || got.idleGenerations != c.idle || warned != c.warned {
			t.Errorf("%s: %d, warned %v, %v", c.what, got.idleGenerations, warned, err)
		}
	}
}

// TestAssemblyEndsInTime: an assembly that fails, panics or hangs ends with an error.
func TestAssemblyEndsInTime(t *testing.T) {
	t.Parallel()
	transcript := transcripttest.File(t, transcripttest.User("hello"))
	boom := assembler(t, lineStore{}, transcript)
	boom.d.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) { panic("boom") }
	hangs := assembler(t, lineStore{}, transcript)
	hangs.settings.AssemblyTimeout = 50 * time.Millisecond
	release := make(chan struct{})
	defer close(release)
	hangs.d.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) { <-release; return worktree.Tree{}, nil }
	for _, c := range []struct {
		what string
		r    *handoffRun
		want string
	}{
		{"a store that fails", assembler(t, lineStore{err: errors.New("no rows")}, transcript), "predecessors: no rows"},
		{"a panic", boom, "internal error: boom"},
		{"a system call that does not end", hangs, "it took longer than 50ms"},
	} {
		if _, err := c.r.assemble(goodDocument); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// BenchmarkAssemble measures the assembly after a day of work, without git and the database.
func BenchmarkAssemble(b *testing.B) {
	r := assembler(b, lineStore{}, transcripttest.Large(b, transcripttest.Workday()))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if _, err := r.assemble(goodDocument); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MB-allocated/op")
}

// TestRepeatedDecisionIsPassedOnOnce: an agent repeats decisions that it took over.
func TestRepeatedDecisionIsPassedOnOnce(t *testing.T) {
	t.Parallel()
	one, other := data.Decision{Agent: "b", Summary: "Tabs", Rationale: "they hide"}, data.Decision{Agent: "a", Summary: "Tabs", Rationale: "a house rule"}
	again := one
	again.Agent = "a"
	got := lineDecisions([]data.Decision{one}, []Record{{Decisions: []data.Decision{again, other}}, {Decisions: []data.Decision{other}}})
	if len(got) != 2 || got[0].Agent != "b" || got[1].Rationale != "a house rule" {
		t.Errorf("decisions %+v", got)
	}
}
