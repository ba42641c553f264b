package transcript

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// tree writes transcripts of Claude Code in which each line names the line that it follows.
type tree struct{ strings.Builder }

// line writes a line; parent "" means that it is the first. more goes over the fields of the line.
func (t *tree) line(id, parent string, more map[string]any) *tree {
	line := map[string]any{"uuid": id, "parentUuid": nil, "isSidechain": false, "timestamp": "2026-11-25T10:00:00Z"}
	if parent != "" {
		line["parentUuid"] = parent
	}
	for key, v := range more {
		line[key] = v
	}
	b, _ := json.Marshal(line) // texts cannot fail
	t.Write(append(b, '\n'))
	return t
}

func (t *tree) user(id, parent, text string) *tree {
	return t.line(id, parent, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
}

func (t *tree) result(id, parent, call string) *tree {
	return t.line(id, parent, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": call, "content": "ok"}}}})
}

// says writes an answer of one text; its message has the id of the line.
func (t *tree) says(id, parent, text string) *tree {
	return t.block(id, parent, id, map[string]any{"type": "text", "text": text})
}

func (t *tree) writes(id, parent, message, call, path string) *tree {
	return t.block(id, parent, message, map[string]any{"type": "tool_use", "id": call, "name": "Write", "input": map[string]any{"file_path": path}})
}

func (t *tree) block(id, parent, message string, block map[string]any) *tree {
	return t.line(id, parent, map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "id": message, "model": "m",
		"content": []any{block}, "usage": map[string]any{"input_tokens": len(t.String())}}})
}

func (t *tree) raw(line string) *tree {
	t.WriteString(line + "\n")
	return t
}

func (t *tree) boundary(id, logical string, more map[string]any) *tree {
	m := map[string]any{"type": "system", "subtype": "compact_boundary", "compactMetadata": more}
	if logical != "" {
		m["logicalParentUuid"] = logical
	}
	return t.line(id, "", m)
}

func (t *tree) summary(id, parent string) *tree {
	return t.line(id, parent, map[string]any{"type": "user", "isCompactSummary": true, "message": map[string]any{"role": "user", "content": "the summary"}})
}

// begun begins a conversation: u1 "one" and a1 "two".
func begun() *tree { return new(tree).user("u1", "", "one").says("a1", "u1", "two") }

// left has a branch behind a1 that is taken back.
func left() *tree {
	return begun().user("u2", "a1", "XML").writes("a2", "u2", "m2", "t2", "xml.py").result("r2", "a2", "t2").says("a3", "r2", "XML is written")
}

var branches = map[string]struct {
	text     *tree
	messages []string
	edited   []string
}{
	"taken back": {left().user("u3", "a1", "CSV").writes("a4", "u3", "m4", "t4", "csv.py").result("r4", "a4", "t4").says("a5", "r4", "kept"),
		[]string{"u one", "a two", "u CSV", "a kept"}, []string{"csv.py"}},
	"not taken back":          {left(), []string{"u one", "a two", "u XML", "a XML is written"}, []string{"xml.py"}},
	"from the very beginning": {left().user("u3", "", "anew").says("a4", "u3", "well"), []string{"u anew", "a well"}, nil},
	"twice": {left().user("u3", "a1", "JSON").writes("a4", "u3", "m4", "t4", "json.py").user("u5", "a1", "CSV").says("a5", "u5", "kept"),
		[]string{"u one", "a two", "u CSV", "a kept"}, nil},
	"a part of what was taken back": {left().user("u3", "a1", "CSV").says("a4", "u3", "kept").user("u5", "u3", "CSV, please").says("a5", "u5", "yes"),
		[]string{"u one", "a two", "u CSV", "u CSV, please", "a yes"}, nil},
	"and nothing said since": {left().raw(`{"type":"last-prompt","lastPrompt":"XML","leafUuid":"a1","rewound":true,"sessionId":"s"}`).
		raw(`{"type":"last-prompt","leafUuid":"a1","sessionId":"s"}`), []string{"u one", "a two"}, nil},
	"all of it, and nothing said since": {left().raw(`{"type":"last-prompt","leafUuid":null,"rewound":true,"sessionId":"s"}`), nil, nil},
	"back to the end": {left().raw(`{"type":"last-prompt","leafUuid":"a1","rewound":true}`).user("u3", "a3", "after all"),
		[]string{"u one", "a two", "u XML", "a XML is written", "u after all"}, []string{"xml.py"}},
	"only noted where it was": {left().raw(`{"type":"last-prompt","leafUuid":"a1","sessionId":"s"}`), []string{"u one", "a two", "u XML", "a XML is written"}, []string{"xml.py"}},
	"interrupted": {begun().user("u2", "a1", "XML").line("i2", "u2", map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "[Request interrupted by user]"}}}}).user("u3", "i2", "CSV"), []string{"u one", "a two", "u XML", "u CSV"}, nil},
	"interrupted before an answer, prompt given anew": {begun().user("u2", "a1", "XM").user("u3", "a1", "XML"), []string{"u one", "a two", "u XML"}, nil},
	"calls at once": {begun().user("u2", "a1", "both").writes("b1", "u2", "m", "t1", "one.py").writes("b2", "b1", "m", "t2", "two.py").writes("b3", "b2", "m", "t3", "three.py").
		result("r1", "b1", "t1").result("r2", "b2", "t2").result("r3", "b3", "t3").says("a3", "r3", "done"),
		[]string{"u one", "a two", "u both", "a done"}, []string{"one.py", "three.py", "two.py"}},
	"calls at once, on after the first": {begun().user("u2", "a1", "both").writes("b1", "u2", "m", "t1", "one.py").writes("b2", "b1", "m", "t2", "two.py").
		result("r2", "b2", "t2").result("r1", "b1", "t1").says("a3", "r1", "done"), []string{"u one", "a two", "u both", "a done"}, []string{"one.py", "two.py"}},
	"calls at once, taken back": {begun().user("u2", "a1", "both").writes("b1", "u2", "m", "t1", "one.py").writes("b2", "b1", "m", "t2", "two.py").
		result("r2", "b2", "t2").result("r1", "b1", "t1").says("a3", "r1", "done").user("u3", "a1", "none"), []string{"u one", "a two", "u none"}, nil},
	"a prompt while a tool ran": {begun().line("q", "a1", map[string]any{"type": "attachment", "attachment": map[string]any{"type": "queued_command", "prompt": "and this"}}).says("a2", "q", "both"),
		[]string{"u one", "a two", "u and this", "a both"}, nil},
	"an attachment of what was taken back": {begun().line("q", "a1", map[string]any{"type": "attachment", "attachment": map[string]any{"type": "queued_command", "prompt": "and this"}}).user("u2", "a1", "no"),
		[]string{"u one", "a two", "u no"}, nil},
	"progress between": {begun().writes("b1", "a1", "m", "t1", "one.py").line("p1", "b1", map[string]any{"type": "progress"}).line("p2", "p1", map[string]any{"type": "progress"}).
		result("r1", "p2", "t1").says("a3", "r1", "done"), []string{"u one", "a two", "a done"}, []string{"one.py"}},
	"on after progress, with the result beside it": {begun().writes("b1", "a1", "m", "t1", "one.py").result("r1", "b1", "t1").line("p1", "b1", map[string]any{"type": "progress"}).
		says("a3", "p1", "done"), []string{"u one", "a two", "a done"}, []string{"one.py"}},
	"compacted": {left().boundary("c", "a3", map[string]any{"postTokens": 7}).summary("s", "c").user("u4", "s", "go on"),
		[]string{"u one", "a two", "u XML", "a XML is written", "u the summary", "u go on"}, []string{"xml.py"}},
	"compacted, of an older version": {left().boundary("c", "", nil).summary("s", "c").user("u4", "s", "go on"),
		[]string{"u one", "a two", "u XML", "a XML is written", "u the summary", "u go on"}, []string{"xml.py"}},
	"compacted and taken back": {left().boundary("c", "a3", nil).summary("s", "c").user("u4", "s", "go on").user("u5", "a1", "CSV"), []string{"u one", "a two", "u CSV"}, nil},
	"taken back and compacted": {left().user("u3", "a1", "CSV").boundary("c", "u3", nil).summary("s", "c").user("u4", "s", "go on"),
		[]string{"u one", "a two", "u CSV", "u the summary", "u go on"}, nil},
	"compacted, and some kept": {begun().boundary("c", "a1", map[string]any{"preservedMessages": map[string]any{"anchorUuid": "s", "uuids": []string{"u1", "a1"}}}).summary("s", "c").user("u4", "a1", "go on"),
		[]string{"u one", "a two", "u the summary", "u go on"}, nil},
	"compacted, and a part kept": {begun().boundary("c", "a1", map[string]any{"preservedSegment": map[string]any{"headUuid": "u1", "anchorUuid": "s", "tailUuid": "a1"}}).summary("s", "c").user("u4", "a1", "go on"),
		[]string{"u one", "a two", "u the summary", "u go on"}, nil},
	"a line is missing": {begun().says("a2", "gone", "three").user("u3", "a2", "four"), []string{"u one", "a two", "a three", "u four"}, nil},
	"a line cannot be read": {begun().user("u2", "a1", "XML").says("a2", "u2", "no").raw(`{"uuid":"u3","parentUuid":"a2","type":"us`).says("a3", "u3", "three"),
		[]string{"u one", "a two", "u XML", "a no", "a three"}, nil},
	"a line is too long": {begun().user("u2", "a1", strings.Repeat("x", maxLine)).says("a3", "u2", "three"), []string{"u one", "a two", "a three"}, nil},
	"each line names itself": {new(tree).user("u1", "u1", "1").says("a1", "a1", "2").user("u2", "u2", "3").says("a2", "a2", "4").user("u3", "u3", "5").says("a3", "a3", "6").user("u4", "u4", "7"),
		[]string{"u 1", "a 2", "u 3", "a 4", "u 5", "a 6", "u 7"}, nil},
	"an older version's lines name nothing": {new(tree).raw(strings.TrimSpace(transcripttest.User("one") + transcripttest.Text("m1", "two"))), []string{"u one", "a two"}, nil},
	"a sub-agent's": {begun().line("k1", "", map[string]any{"type": "user", "isSidechain": true, "message": map[string]any{"role": "user", "content": "look"}}).
		line("k2", "k1", map[string]any{"type": "assistant", "isSidechain": true, "message": map[string]any{"role": "assistant", "id": "k", "content": []any{
			map[string]any{"type": "tool_use", "id": "kt", "name": "Write", "input": map[string]any{"file_path": "sub.py"}}}}}).user("u2", "a1", "so?"),
		[]string{"u one", "a two", "u so?"}, []string{"sub.py"}},
	"a sub-agent's of what was taken back": {begun().user("u2", "a1", "delegate").line("k2", "", map[string]any{"type": "assistant", "isSidechain": true, "message": map[string]any{"role": "assistant", "id": "k", "content": []any{
		map[string]any{"type": "tool_use", "id": "kt", "name": "Write", "input": map[string]any{"file_path": "sub.py"}}}}}).says("a2", "u2", "delegated").user("u3", "a1", "no"),
		[]string{"u one", "a two", "u no"}, nil},
}

// TestReadFollowsTheBranchThatHolds: what a person has taken back is not part of the conversation, and nothing else is lost.
func TestReadFollowsTheBranchThatHolds(t *testing.T) {
	t.Parallel()
	for name, tt := range branches {
		got, err := Read(t.Context(), claude.Runtime, transcripttest.File(t, tt.text.String()), Want{All: true, Edited: true})
		if messages := told(got.Messages); err != nil || !slices.Equal(messages, tt.messages) || !slices.Equal(got.Edited, tt.edited) {
			t.Errorf("%s:\n got %q, %q, %v\nwant %q, %q", name, messages, got.Edited, err, tt.messages, tt.edited)
		}
		wardentest.Equal(t, name+": messages counted", got.Count, len(got.Messages))
	}
}

// TestReadRewound reads a recorded transcript of which a branch was taken back.
func TestReadRewound(t *testing.T) {
	t.Parallel()
	const path = "testdata/rewind.jsonl"
	got, err := Read(t.Context(), claude.Runtime, path, Want{All: true, Edited: true})
	want := []string{"u Build the importer.", "a Which format shall it read?", "u Use CSV, keep all of it.", "a Good, the CSV code stays."}
	if messages := told(got.Messages); err != nil || !slices.Equal(messages, want) || len(got.Edited) > 0 {
		t.Errorf("got %q, %q, %v", messages, got.Edited, err)
	}
	wardentest.Equal(t, "prompts and answers", wardentest.Value(Count(claude.Runtime, path, 100))(t), 4)
	line, spent := 0, int64(0)
	text, err := os.ReadFile(path)
	for raw := range strings.Lines(string(text)) {
		if u, ok := claude.Runtime.Usage(path, []byte(raw)); ok {
			line, spent = line+1, spent+u.Total()
		}
	}
	if err != nil || line != 4 || spent != 4*1015 {
		t.Errorf("%d answers used %d tokens, %v: what was taken back was spent", line, spent, err)
	}
}

// TestTakenBackIsNotInUse: the todos are those of the branch that holds, and so are the tokens in the context.
func TestTakenBackIsNotInUse(t *testing.T) {
	t.Parallel()
	todos := func(text string) map[string]any {
		return map[string]any{"type": "tool_use", "id": "t" + text, "name": "TodoWrite", "input": map[string]any{"todos": []any{map[string]any{"content": text, "status": "pending"}}}}
	}
	text := begun().block("b1", "a1", "m1", todos("keep")).user("u2", "b1", "XML").block("b2", "u2", "m2", todos("delete")).
		line("a9", "b2", map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "id": "m9", "content": []any{}, "usage": map[string]any{"input_tokens": 99999}}}).
		raw(`{"type":"last-prompt","leafUuid":"b1","rewound":true}`)
	path := transcripttest.File(t, text.String())
	got, err := Read(t.Context(), claude.Runtime, path, Want{All: true, Todos: true})
	if err != nil || len(got.Todos) != 1 || got.Todos[0].Text != "keep" || got.Used >= 99999 {
		t.Errorf("todos %+v, %d tokens, %v", got.Todos, got.Used, err)
	}
	if used, _, ok, err := Use(claude.Runtime, path); err != nil || !ok || used != got.Used {
		t.Errorf("%d tokens in the context, %t, %v", used, ok, err)
	}
}

// TestReadFollowsOtherRuntimes: each runtime says in its own way what a person has taken back.
func TestReadFollowsOtherRuntimes(t *testing.T) {
	t.Parallel()
	codex := func(role, text string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-22T04:41:57Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}}`+"\n", role, text)
	}
	back := func(turns int) string {
		return fmt.Sprintf(`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":%d}}`+"\n", turns)
	}
	patch := func(path string) string {
		return fmt.Sprintf(`{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":"*** Add File: %s\n"}}`+"\n", path)
	}
	turn := func(n string) string { return codex("user", "ask "+n) + patch(n+".py") + codex("assistant", "did "+n) }
	gemini := func(id, kind, text string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-22T04:41:57Z","type":%q,"content":%q}`+"\n", id, kind, text)
	}
	rewind := func(id string) string { return fmt.Sprintf(`{"$rewindTo":%q}`+"\n", id) }
	talk := gemini("1", "user", "one") + gemini("2", "gemini", "two") + gemini("3", "user", "three") + gemini("4", "gemini", "four")
	omp := func(id, parent, role, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-11-22T04:57:00Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`+"\n", id, parent, role, text)
	}
	tree := `{"type":"session","version":3,"id":"s"}` + "\n" + `{"type":"model_change","id":"m","parentId":null,"model":"fake/fake-1"}` + "\n" +
		omp("1", `"m"`, "user", "one") + omp("2", `"1"`, "assistant", "two") + omp("3", `"2"`, "user", "three") + omp("4", `"3"`, "assistant", "four")
	for _, tt := range []struct {
		runtime, text    string
		messages, edited []string
	}{
		{"codex", turn("a") + turn("b"), []string{"u ask a", "a did a", "u ask b", "a did b"}, []string{"a.py", "b.py"}},
		{"codex", turn("a") + turn("b") + back(1) + turn("c"), []string{"u ask a", "a did a", "u ask c", "a did c"}, []string{"a.py", "c.py"}},
		{"codex", turn("a") + turn("b") + turn("c") + back(2), []string{"u ask a", "a did a"}, []string{"a.py"}},
		{"codex", turn("a") + turn("b") + back(1) + turn("c") + back(1) + turn("d"), []string{"u ask a", "a did a", "u ask d", "a did d"}, []string{"a.py", "d.py"}},
		{"codex", turn("a") + turn("b") + back(1) + back(1) + turn("c"), []string{"u ask c", "a did c"}, []string{"c.py"}},
		{"codex", codex("user", "<environment_context>x</environment_context>") + turn("a") + codex("user", "<hook_prompt>x</hook_prompt>") + codex("assistant", "more") + back(1), nil, nil},
		{"codex", turn("a") + back(7) + turn("b"), []string{"u ask b", "a did b"}, []string{"b.py"}},
		{"gemini", talk + rewind("3") + gemini("5", "user", "five"), []string{"u one", "a two", "u five"}, nil},
		{"gemini", talk + rewind("3"), []string{"u one", "a two"}, nil},
		{"gemini", talk + gemini("4", "gemini", "four") + rewind("3") + gemini("5", "user", "five") + rewind("1") + gemini("6", "user", "six"), []string{"u six"}, nil},
		{"gemini", talk + rewind("nobody") + gemini("6", "user", "six"), []string{"u six"}, nil},
		{"omp", tree + omp("5", `"2"`, "user", "five"), []string{"u one", "a two", "u five"}, nil},
		{"omp", tree + `{"type":"branch_summary","id":"b","parentId":"2","fromId":"4","summary":"three was tried"}` + "\n" + omp("5", `"b"`, "user", "five"),
			[]string{"u one", "a two", "u three was tried", "u five"}, nil},
		{"omp", tree + omp("5", "null", "user", "anew"), []string{"u anew"}, nil},
		{"omp", tree, []string{"u one", "a two", "u three", "a four"}, nil},
	} {
		rt := wardentest.Value(catalog.For(tt.runtime))(t)
		got, err := Read(t.Context(), rt, transcripttest.File(t, tt.text), Want{All: true, Edited: true})
		if messages := told(got.Messages); err != nil || !slices.Equal(messages, tt.messages) || !slices.Equal(got.Edited, tt.edited) {
			t.Errorf("%s:\n%s got %q, %q, %v\nwant %q, %q", tt.runtime, tt.text, messages, got.Edited, err, tt.messages, tt.edited)
		}
	}
}
