package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

const (
	sentAt = `"timestamp":"2026-11-20T12:00:01.500Z"`
	usage  = `"usage":{"input_tokens":1000,"cache_creation_input_tokens":200,"cache_read_input_tokens":30,"output_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":7}}`
)

// said returns a user's line as Claude Code 2.1.329 writes it.
func said(content string) string {
	return `{"parentUuid":null,"isSidechain":false,"promptId":"7af2","type":"user","message":{"role":"user","content":` + content +
		`},"uuid":"182a",` + sentAt + `,"permissionMode":"default","origin":{"kind":"human"},"promptSource":"typed","cwd":"/srv/work","sessionId":"5e41","version":"2.1.329"}`
}

// answered returns a line of an answer with one block. The line's type stands behind the message.
func answered(block string) string {
	return `{"parentUuid":"6ff8","isSidechain":false,"message":{"content":[` + block + `],"id":"msg_1","model":"claude-opus-5-5","role":"assistant","stop_reason":"end_turn","type":"message",` +
		usage + `,"stop_details":null},"apiBlockIndex":0,"type":"assistant","uuid":"60b8",` + sentAt + `,"madeBy":"model"}`
}

var entryAt = time.Date(2026, 11, 20, 12, 0, 1, 500_000_000, time.UTC)

type entryCase struct {
	line string
	want runtimes.Entry
}

func checkEntries(t *testing.T, cases map[string]entryCase) {
	t.Helper()
	for name, tt := range cases {
		if strings.Contains(tt.line, `"permissionMode":"default"`) && !tt.want.Sidechain { // of each prompt, whatever it is
			tt.want.Mode = "default"
		}
		got := value(Runtime.ParseEntry([]byte(tt.line)))(t)
		got.Place = runtimes.Place{} // branch_test.go looks at it
		equal(t, name, got, tt.want)
		line := strings.TrimSpace(tt.line)
		for cut := range len(line) {
			wardentest.Failed(Runtime.ParseEntry([]byte(line[:cut])))(t, fmt.Sprintf("%s: cut off after %d bytes", name, cut))
		}
	}
}

func sub(line string) string {
	return strings.Replace(line, `"isSidechain":false`, `"isSidechain":true`, 1)
}

func TestParseEntryOfUser(t *testing.T) {
	t.Parallel()
	at := entryAt
	user := func(text string) runtimes.Entry { return runtimes.Entry{Role: "user", Text: text, At: at} }
	noise := func(text string) runtimes.Entry { return runtimes.Entry{Text: text, At: at} }
	typed := func(text string) runtimes.Entry { return runtimes.Entry{Text: text, At: at, Ours: true} }
	meta := func(line string) string { return strings.Replace(line, `"uuid"`, `"isMeta":true,"uuid"`, 1) }
	const notification = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>"
	checkEntries(t, map[string]entryCase{
		"a prompt":                 {said(`"go on"`), user("go on")},
		"escapes":                  {said(`" \"a\\\"\n\u00fc\ud83d\ude00 "`), user("\"a\\\"\nü😀")},
		"a NUL":                    {said(`"a\u0000b"`), user("ab")},
		"blocks":                   {said(`[{"type":"text","text":"go on"},{"type":"image","source":{"data":"aGk="}},{"type":"text","text":"there"}]`), user("go on\nthere")},
		"an image alone":           {said(`[{"type":"image","source":{"data":"aGk="}}]`), noise("")},
		"pasted":                   {said(`"\n\n<pasted_content id=\"87ae\">\nfour\nlines\n</pasted_content id=\"87ae\">\n"`), user("four\nlines")},
		"with a reminder":          {said(`"<system-reminder>\nthe date\n</system-reminder>\ngo on <system-reminder>x</system-reminder>"`), user("go on")},
		"of a reminder":            {said(`"what does <system-reminder> mean?"`), user("what does <system-reminder> mean?")},
		"a reminder":               {said(`"<system-reminder>\nthe date\n</system-reminder>"`), noise("<system-reminder>\nthe date\n</system-reminder>")},
		"from the CLI":             {meta(said(`"Continue from where you left off."`)), noise("Continue from where you left off.")},
		"to a sub-agent":           {sub(said(`"look around"`)), runtimes.Entry{Text: "look around", At: at, Sidechain: true}},
		"a result of a tool":       {said(`[{"tool_use_id":"toolu_1","type":"tool_result","content":[{"type":"text","text":"ok"}]}]`), noise("")},
		"a call that failed":       {said(`[{"type":"tool_result","content":"no","is_error":true,"tool_use_id":"toolu_1"},{"type":"tool_result","is_error":false,"tool_use_id":"toolu_2"}]`), runtimes.Entry{At: at, Failed: []string{"toolu_1"}}},
		"put into a turn":          {`{"attachment":{"type":"queued_command","prompt":"also this","commandMode":"prompt"},"type":"attachment",` + sentAt + `}`, user("also this")},
		"blocks put into a turn":   {`{"attachment":{"type":"queued_command","prompt":[{"type":"text","text":"also this"}]},"type":"attachment",` + sentAt + `}`, user("also this")},
		"a task ended in a turn":   {`{"attachment":{"type":"queued_command","prompt":"<task-notification>x</task-notification>"},"type":"attachment",` + sentAt + `}`, noise("<task-notification>x</task-notification>")},
		"another attachment":       {`{"attachment":{"type":"date","prompt":"x"},"type":"attachment",` + sentAt + `}`, noise("")},
		"a command of the CLI":     {said(`"<command-name>/compact</command-name>\n   <command-message>compact</command-message>\n   <command-args>short</command-args>"`), noise("<command-name>/compact</command-name>\n   <command-message>compact</command-message>\n   <command-args>short</command-args>")},
		"a command of the user's":  {said(`"<command-message>mine</command-message>\n<command-name>/mine</command-name>"`), noise("<command-message>mine</command-message>\n<command-name>/mine</command-name>")},
		"what a command printed":   {said(`"<local-command-stdout>\u001b[2mCompacted\u001b[22m</local-command-stdout>"`), noise("<local-command-stdout>\x1b[2mCompacted\x1b[22m</local-command-stdout>")},
		"a shell command":          {said(`"<bash-input> ls</bash-input>"`), noise("<bash-input> ls</bash-input>")},
		"what it printed":          {said(`"<bash-stdout>hi</bash-stdout><bash-stderr></bash-stderr>"`), noise("<bash-stdout>hi</bash-stdout><bash-stderr></bash-stderr>")},
		"cut off marks":            {said(`"<bash-stdout>hi"`), noise("<bash-stdout>hi")},
		"a task ended":             {said(quote(notification)), noise(notification)},
		"a prompt after that":      {said(quote(notification + "\ngo on")), user("go on")},
		"HTML":                     {said(`"<b>go</b> on"`), user("<b>go</b> on")},
		"interrupted":              {said(`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`), noise("[Request interrupted by user for tool use]")},
		"an answer of a hook":      {meta(said(`"Stop hook feedback:\nrun the tests"`)), noise("Stop hook feedback:\nrun the tests")},
		"ours":                     {said(`"[handoff_developer-con-1_next_1795202376124_00c0ffee] understudy: hand over"`), typed("[handoff_developer-con-1_next_1795202376124_00c0ffee] understudy: hand over")},
		"our skill":                {said(`"[skill_con_1] understudy: play"`), typed("[skill_con_1] understudy: play")},
		"about ours":               {said(`"what is [handoff_a] understudy: ?"`), user("what is [handoff_a] understudy: ?")},
		"the gist of a compaction": {strings.Replace(said(`"This session is being continued.\n\n<system-reminder>\nx\n</system-reminder>\nAll is well."`), `"uuid"`, `"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid"`, 1), user("This session is being continued.\n\n\nAll is well.")},
	})
}

func TestParseEntryOfModel(t *testing.T) {
	t.Parallel()
	at := entryAt
	nobody := func(e runtimes.Entry) runtimes.Entry { e.Answered = ""; return e } // no model has answered
	answer := func(role, text string, edited ...string) runtimes.Entry {
		e := runtimes.Entry{Role: role, Text: text, At: at, Used: 1230, MessageID: "msg_1", Answered: "claude-opus-5-5"}
		for i, path := range edited {
			e.Edited = append(e.Edited, runtimes.Edit{Path: path, Call: fmt.Sprintf("toolu_%d", i+1)})
		}
		return e
	}
	tool := func(name, input string) string {
		return answered(`{"id":"toolu_1","input":` + input + `,"name":"` + name + `","type":"tool_use"}`)
	}
	const boundary = `{"isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted",` + sentAt
	checkEntries(t, map[string]entryCase{
		"a compaction":             {boundary + `,"compactMetadata":{"trigger":"auto","preTokens":970000,"postTokens":3234}}`, runtimes.Entry{At: at, Used: 3234, Compacted: true}},
		"one that tells nothing":   {boundary + `,"compactMetadata":{"trigger":"auto"}}`, runtimes.Entry{At: at, Compacted: true}},
		"an answer":                {answered(`{"text":"\n\nDone.\n","type":"text"}`), answer("assistant", "Done.")},
		"a blank answer":           {answered(`{"text":"\n","type":"text"}`), answer("", "")},
		"an old answer":            {`{"type":"assistant",` + sentAt + `,"message":{"role":"assistant","content":"Done."}}`, runtimes.Entry{Role: "assistant", Text: "Done.", At: at}},
		"an answer that quotes us": {answered(`{"text":"[handoff_a] understudy: is done","type":"text"}`), answer("assistant", "[handoff_a] understudy: is done")},
		"thinking":                 {answered(`{"type":"thinking","thinking":"hm","signature":"x"}`), answer("", "")},
		"an answer of a sub-agent": {sub(answered(`{"text":"Done.","type":"text"}`)), runtimes.Entry{Text: "Done.", At: at, Used: 1230, Sidechain: true, MessageID: "msg_1"}},
		"an error of the API":      {strings.Replace(answered(`{"text":"API Error: 400","type":"text"}`), `"madeBy"`, `"isApiErrorMessage":true,"madeBy"`, 1), nobody(answer("", ""))},
		"the CLI for the model":    {strings.Replace(answered(`{"text":"No response requested.","type":"text"}`), "claude-opus-5-5", "<synthetic>", 1), nobody(answer("", ""))},
		"Write":                    {tool("Write", `{"file_path":"notes/a \"b\".md","content":"{\"file_path\":\"x\"}\\"}`), answer("", "", `notes/a "b".md`)},
		"Edit":                     {tool("Edit", `{"replace_all":false,"old_string":"a","new_string":"b","file_path":"/srv/work/a.go"}`), answer("", "", "/srv/work/a.go")},
		"MultiEdit":                {tool("MultiEdit", `{"file_path":"a.go","edits":[{"file_path":"x"}]}`), answer("", "", "a.go")},
		"NotebookEdit":             {tool("NotebookEdit", `{"notebook_path":"a.ipynb","file_path":"x"}`), answer("", "", "a.ipynb")},
		"Read":                     {tool("Read", `{"file_path":"a.go"}`), answer("", "")},
		"Write without a path":     {tool("Write", `{"content":"a"}`), answer("", "")},
		"a text and two calls":     {answered(`{"type":"text","text":"I do."},{"type":"tool_use","id":"toolu_1","name":"Edit","input":{"file_path":"a"}},{"id":"toolu_2","input":{"file_path":"b"},"type":"tool_use","name":"Write"}`), answer("assistant", "I do.", "a", "b")},
		"a copy of a request":      {`{"type":"api-request-blob","hash":"ab50","message":{"role":"user","content":[{"type":"text","text":"go"}]}}`, runtimes.Entry{}},
		"a title":                  {`{"type":"custom-title","customTitle":"developer-con-1"}`, runtimes.Entry{}},
		"an unknown time":          {`{"type":"user","timestamp":"noon","message":{"role":"user","content":"go"}}`, runtimes.Entry{Role: "user", Text: "go"}},
		"of other types":           {`{"type":1,"timestamp":{},"isSidechain":"true","message":[1,"a",{"b":[]}],"attachment":null}`, runtimes.Entry{}},
		"numbers of other types":   {`{"type":"assistant","message":{"role":"assistant","content":7,"usage":{"input_tokens":1.5,"cache_read_input_tokens":-7e1,"cache_creation_input_tokens":"x"}}}`, runtimes.Entry{}},
		"blanks and an escape":     {" {\t\"t\\u0079pe\" : \"user\" ,\r\"message\" : { \"role\" : \"user\" , \"content\" : [ { \"text\" : \"go\" } , null , 1 ] } } \n", runtimes.Entry{Role: "user", Text: "go"}},
		"an empty object":          {`{}`, runtimes.Entry{}},
	})
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestParseEntryRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", " ", "null", "7", `"type"`, "[]", "{}{}", `{} x`, "{", "}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`,
		`{"a":1 "b":2}`, `{"a":nul}`, `{"a":"b}`, `{"a":[{"b":1 2}]}`, `{"message":{"role":"user"}`, "{\x00}", "{}\x00", "\x1f\x8b\x08", strings.Repeat("[", 1e5), `{"a":` + strings.Repeat("[", 1e5)} {
		wardentest.Failed(Runtime.ParseEntry([]byte(line)))(t, fmt.Sprintf("%.40q", line))
	}
}

// TestTranscript goes through a made-up session with one line of each kind that a real one had.
func TestTranscript(t *testing.T) {
	t.Parallel()
	b := value(os.ReadFile("../testdata/transcript.jsonl"))(t)
	var got strings.Builder
	for line := range strings.Lines(string(b)) {
		e, err := Runtime.ParseEntry([]byte(line))
		if err != nil {
			t.Errorf("%.80s: %v", line, err)
		}
		if e.Role != "" {
			got.WriteString(e.Role + ": " + e.Text + "\n")
		}
		for _, edit := range e.Edited {
			got.WriteString("edited " + edit.Path + "\n")
		}
	}
	const want = `user: Write the notes.
assistant: I write them now.
edited notes.md
assistant: They are written.
user: And this as well.
assistant: Half an ans
user: This session is being continued from a previous conversation that ran out of context.

The notes are written.
user: Go on.
assistant: All is done.
`
	equal(t, "got.String()", got.String(), want)
}

// FuzzParseEntry: ParseEntry accepts each object that encoding/json accepts, and reads the same from it.
func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(said(`"go on"`)))
	f.Add([]byte(said(`[{"text":"go","text":"on"},{"type":"tool_result","content":[{"text":"no"}]}]`)))
	f.Add([]byte(answered(`{"input":{"file_path":"a","content":"\\\"]}"},"name":"Write","type":"tool_use"}`)))
	f.Add([]byte(`{"type":"attachment","attachment":{"type":"queued_command","prompt":["a",{"text":"b"}]}}`))
	f.Add([]byte(` {"a":[{},[],{"b":[1e+9,true,null]}], "isMe\u0074a" : true, "message":{}, "message":"x"} `))
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := ReadLine(line)
		var want map[string]any
		if json.Unmarshal(line, &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got := []any{l.Kind, l.Sidechain, l.Meta, l.Message.Role, l.Message.ID, l.Attached, runtimes.Joined(l.Message.Texts, plain), runtimes.Joined(l.Prompt, plain)}
		message, attachment := object(want["message"]), object(want["attachment"])
		if slow := []any{str(want["type"]), want["isSidechain"] == true, want["isMeta"] == true, str(message["role"]), str(message["id"]),
			str(attachment["type"]), content(message["content"]), content(attachment["prompt"])}; !reflect.DeepEqual(got, slow) {
			t.Errorf("%q:\ngot  %q\nwant %q", line, got, slow)
		}
	})
}

func plain(s string) string { return s }

func str(v any) string {
	s, _ := v.(string)
	return s
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// content returns the texts of a string or of a list of blocks.
func content(v any) string {
	var texts []string
	for _, block := range append([]any{map[string]any{"text": v}}, list(v)...) {
		if text := strings.ReplaceAll(str(object(block)["text"]), "\x00", ""); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
