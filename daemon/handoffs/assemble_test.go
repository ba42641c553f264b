package handoffs

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
)

// lineStore is a store that has only what the assembly reads.
type lineStore struct {
	daemon.Store
	line []daemon.Record
	err  error
	read []daemon.UsageRead
	dirs []daemon.Agent
}

func (s lineStore) AgentsByID(context.Context, []int64) ([]daemon.Agent, error) { return s.dirs, nil }
func (s lineStore) UsageReads(context.Context, string, int64, []string) ([]daemon.UsageRead, error) {
	return s.read, nil
}

func (s lineStore) LineRecords(context.Context, daemon.LineQuery) ([]daemon.Record, error) {
	return s.line, s.err
}
func (s lineStore) Handoffs(context.Context, daemon.HandoffFilter) ([]daemon.Handoff, error) {
	return nil, nil
}

// assembler makes a handoffRun whose assembly reads store and transcript.
func assembler(t testing.TB, store lineStore, transcript string) *handoffRun {
	t.Helper()
	set := daemon.DefaultHandoff
	d := testFlow(engine.Config{Host: "here", Store: store, Data: data.At(t.TempDir()), Settings: engine.Settings{Handoff: set}, Log: slog.New(slog.DiscardHandler)})
	a := &daemon.Agent{ID: 7, Name: "con", Runtime: "claude", AgentSession: daemon.AgentSession{Cwd: t.TempDir(), TranscriptPath: &transcript}, CreatedAt: time.Now()}
	h := &daemon.Handoff{ID: 3, Ref: "handoff_con_con_1_00c0ffee", Persona: "writer-con-1", SourceAgent: "con", TargetAgent: "con", FilePath: "/d/h.md"}
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
	store := lineStore{line: []daemon.Record{
		{Messages: said("d", "e"), Decisions: []data.Decision{{Agent: "con", Summary: "second"}}, Progress: true},
		{Messages: said("a", "b", "c"), Decisions: []data.Decision{{Agent: "con", Summary: "third"}}},
	}}
	r := assembler(t, store, transcripttest.File(t, transcripttest.User("f")))
	r.settings.MaxMessages = 4
	got := value(r.assemble(goodDocument))(t)
	text := string(got.Context)
	at := -1
	for _, part := range []string{"> c\n", "> d\n", "> e\n", "> f\n"} {
		i := strings.Index(text, part)
		if i <= at {
			t.Errorf("%q is missing or out of order", part)
		}
		at = i
	}
	if strings.Contains(text, "> b\n") || got.Rendered.Messages != 4 {
		t.Errorf("%d messages, want the newest 4", got.Rendered.Messages)
	}
	if i, j, k := strings.Index(text, "- Tabs"), strings.LastIndex(text, "second"), strings.LastIndex(text, "third"); i < 0 || j < i || k < j || got.Rendered.Decisions != 3 {
		t.Errorf("decisions at %d, %d, %d", i, j, k)
	}
	if len(got.Record.Messages) != 1 || len(got.Record.Decisions) != 1 {
		t.Errorf("the record holds %d messages and %d decisions, want this agent's alone", len(got.Record.Messages), len(got.Record.Decisions))
	}
}

// TestIdleGenerations: the assembly counts the generations in a row without progress, and warns at the fifth.
func TestIdleGenerations(t *testing.T) {
	t.Parallel()
	nothing := data.Document{Bytes: []byte("## What Was Done\nLooked around.\n")}
	line := slices.Repeat([]daemon.Record{{}}, 4)
	for _, c := range []struct {
		what   string
		line   []daemon.Record
		reason string
		doc    data.Document
		idle   int
		warned bool
	}{
		{"the fifth", line, daemon.ReasonContext, nothing, 5, true},
		{"the fourth", line[:3], daemon.ReasonContext, nothing, 4, false},
		{"asked for by a person", line, "manual", nothing, 5, false},
		{"one that decided something", line, daemon.ReasonContext, goodDocument, 0, false},
		{"after one that got somewhere", append([]daemon.Record{{Progress: true}}, line...), daemon.ReasonContext, nothing, 1, false},
	} {
		r := assembler(t, lineStore{line: c.line}, transcripttest.File(t, ""))
		r.h.Reason = c.reason
		got, err := r.assemble(c.doc)
		warned := slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "generations in a row") })
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
	slow := assembler(t, lineStore{}, transcript) // what git says is the least important part
	slow.settings.AssemblyTimeout = 2 * time.Second
	slow.d.Worktree = func(ctx context.Context, _ worktree.Query) (worktree.Tree, error) {
		<-ctx.Done()
		return worktree.Tree{}, ctx.Err()
	}
	if got, err := slow.assemble(goodDocument); err != nil || got.Rendered.Messages != 1 || !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "git took longer than 1s") }) {
		t.Errorf("a slow git: %v, %d messages, %q", err, got.Rendered.Messages, got.Warnings)
	}
}

// BenchmarkAssemble measures the assembly after a day of work, without git and the database.
func BenchmarkAssemble(b *testing.B) {
	r := assembler(b, lineStore{}, transcripttest.Large(b, transcripttest.Workday()))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		value(r.assemble(goodDocument))(b)
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
	got := lineDecisions([]data.Decision{one}, []daemon.Record{{Decisions: []data.Decision{again, other}}, {Decisions: []data.Decision{other}}})
	if len(got) != 2 || got[0].Agent != "b" || got[1].Rationale != "a house rule" {
		t.Errorf("decisions %+v", got)
	}
}

// TestFilesOfLine: the context names the files of all generations, this agent's first and then the newest, each once; the record
// has this agent's alone.
func TestFilesOfLine(t *testing.T) {
	t.Parallel()
	refs := func(list ...string) (out []data.Reference) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, data.Reference{Path: list[i], Note: list[i+1]})
		}
		return out
	}
	line := []daemon.Record{
		{AgentID: 6, Agent: "second", References: refs("b.go", "edited", "gone.go", "deleted", "/etc/hosts", "edited", "a.go", "edited")},
		{AgentID: 5, Agent: "first", References: refs("b.go", "committed", "sub/c.go", "modified, +1 -0", "/w/tree/d.go", "edited", "given.go", "before, by zeroth")},
	}
	for _, tt := range []struct {
		cwd  string
		dirs map[int64]string
		want []data.Reference
	}{
		{"/w", nil, refs("a.go", "committed", "b.go", "before, by second", "gone.go", "deleted before, by second", "/etc/hosts", "before, by second",
			"sub/c.go", "before, by first", "/w/tree/d.go", "before, by first", "given.go", "before, by zeroth")},
		{"/w/tree", map[int64]string{6: "/w/tree", 5: "/w"}, refs("a.go", "committed", "b.go", "before, by second", "gone.go", "deleted before, by second",
			"/etc/hosts", "before, by second", "/w/b.go", "before, by first", "/w/sub/c.go", "before, by first", "d.go", "before, by first", "/w/given.go", "before, by zeroth")},
	} {
		if got, left := withEarlier(refs("a.go", "committed"), tt.cwd, line, tt.dirs); left != 0 || !slices.Equal(got, tt.want) {
			t.Errorf("in %s: %+v, %d left out\nwant %+v", tt.cwd, got, left, tt.want)
		}
	}
	var many []data.Reference
	for i := range maxFiles {
		many = append(many, data.Reference{Path: strconv.Itoa(i)})
	}
	if got, left := withEarlier(refs("a.go", "edited"), "/w", []daemon.Record{{References: many}}, nil); len(got) != maxFiles || left != 1 || got[0].Path != "a.go" {
		t.Errorf("%d files, %d left out", len(got), left)
	}
	store := lineStore{line: line, dirs: []daemon.Agent{{ID: 6}, {ID: 5}}}
	r := assembler(t, store, transcripttest.File(t, transcripttest.Write("t1", "own.go", "x")))
	got, err := r.assemble(goodDocument)
	if text := string(got.Context); err != nil || !strings.Contains(text, "`own.go`") || !strings.Contains(text, "`sub/c.go`: before, by first") {
		t.Errorf("%v\n%s", err, text)
	}
	equal(t, "this agent's files alone are in the record", len(got.Record.References), 1)
}

// TestEarlierSessionsArePassedOn: what was said before /clear is passed on under a heading of its own, within the bound of all
// messages, and a warning says where all of it is.
func TestEarlierSessionsArePassedOn(t *testing.T) {
	t.Parallel()
	first := transcripttest.File(t, transcripttest.User("the oldest")+transcripttest.Text("m1", "an old answer")+transcripttest.Write("t1", "old.go", "x"))
	second := transcripttest.File(t, transcripttest.User("and another")+transcripttest.Text("m2", "a later answer"))
	current := transcripttest.File(t, transcripttest.User("after it"))
	for name, at := range map[string]time.Time{first: time.Unix(1000, 0), second: time.Unix(2000, 0)} {
		must(t, os.Chtimes(name, at, at))
	}
	reads := func(paths ...string) (out []daemon.UsageRead) {
		for _, path := range paths {
			out = append(out, daemon.UsageRead{Path: path, AgentID: 7})
		}
		return append(out, daemon.UsageRead{Path: "cost of session s"}, daemon.UsageRead{Path: "/gone.jsonl"}, daemon.UsageRead{Path: strings.TrimSuffix(first, ".jsonl") + "/subagents/workflows/w/agent-1.jsonl"})
	}
	for i, path := range []string{first, second, current} { // as they are named after their sessions
		to := filepath.Join(filepath.Dir(path), strconv.Itoa(i)+".jsonl")
		must(t, os.Rename(path, to))
		*[]*string{&first, &second, &current}[i] = to
	}
	r := assembler(t, lineStore{read: reads(current, first, second), line: []daemon.Record{{Agent: "con", Messages: []data.Message{{Role: "user", Text: "of the predecessor"}}}}}, current)
	r.settings.MaxMessages = 4
	got := value(r.assemble(goodDocument))(t)
	text := string(got.Context)
	at := -1
	for _, part := range []string{"`old.go`", "## " + data.EarlierSessions, "> an old answer", "> and another", "> a later answer", "## Conversation before", "> after it"} {
		i := strings.Index(text, part)
		if i <= at {
			t.Errorf("%q is missing or out of order in\n%s", part, text)
		}
		at = i
	}
	if strings.Contains(text, "> the oldest") || strings.Contains(text, "of the predecessor") || got.Rendered.Messages != 4 || len(got.Record.Messages) != 1 {
		t.Errorf("%d messages passed on, %d recorded:\n%s", got.Rendered.Messages, len(got.Record.Messages), text)
	}
	holds(t, "warnings", strings.Join(got.Warnings, "\n"), first, second, "2 of its messages")
	plain, err := assembler(t, lineStore{read: reads(current)}, current).assemble(goodDocument)
	if err != nil || strings.Contains(string(plain.Context), data.EarlierSessions) || len(plain.Warnings) > 0 {
		t.Errorf("without an earlier session: %v, %q\n%s", err, plain.Warnings, plain.Context)
	}
}
