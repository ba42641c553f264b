package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Lines of a transcript, each with its end.
func lineUser(text string) string {
	return `{"isSidechain":false,"type":"user","message":{"role":"user","content":` + jsonText(text) + `},"timestamp":"2026-11-20T12:00:00Z"}` + "\n"
}

func lineText(id, text string) string {
	return lineAnswer(id, `{"text":`+jsonText(text)+`,"type":"text"}`, 1000)
}

func lineWrite(id, path, content string) string {
	return lineAnswer("msg_"+id, `{"id":"`+id+`","input":{"file_path":`+jsonText(path)+`,"content":`+jsonText(content)+`},"name":"Write","type":"tool_use"}`, 1000)
}

func lineAnswer(id, block string, used int) string {
	return fmt.Sprintf(`{"isSidechain":false,"message":{"content":[%s],"id":%q,"model":"m","role":"assistant","usage":{"input_tokens":%d}},"type":"assistant","timestamp":"2026-11-20T12:00:01Z"}`+"\n", block, id, used)
}

func lineResult(call, text string, failed bool) string {
	return fmt.Sprintf(`{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s,"is_error":%v}]},"timestamp":"2026-11-20T12:00:02Z","toolUseResult":{"stdout":%[2]s}}`+"\n",
		call, jsonText(text), failed)
}

func transcriptFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// told is the messages in short: role, text.
func told(messages []data.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.Role[:1]+" "+m.Text)
	}
	return out
}

func TestReadTranscript(t *testing.T) {
	t.Parallel()
	const instruction = "[handoff_a_b_1_00c0ffee] understudy: hand over"
	talk := lineUser("one") + lineText("m1", "two") + lineUser("three") + lineText("m2", "four")
	edits := lineWrite("t1", "b.go", "x") + lineResult("t1", "ok", false) + lineWrite("t2", "a.go", "x") + lineResult("t2", "ok", false) +
		lineWrite("t3", "refused.go", "x") + lineResult("t3", "no", true) + lineWrite("t4", "b.go", "x")
	blocks := lineUser("one") + lineText("m1", "two") + lineWrite("t1", "x", "x") + lineResult("t1", "ok", false) + lineText("m1", "three")
	for name, tt := range map[string]struct {
		text     string
		want     transcriptWant
		messages []string
		edited   []string
		used     int64
		warnings []string
	}{
		"nothing":               {"", transcriptWant{All: true, Edited: true}, nil, nil, 0, nil},
		"nothing wanted":        {talk, transcriptWant{}, nil, nil, 1000, nil},
		"all":                   {talk, transcriptWant{All: true}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, nil},
		"the newest":            {talk, transcriptWant{Messages: 3}, []string{"a two", "u three", "a four"}, nil, 1000, nil},
		"more than there are":   {talk, transcriptWant{Messages: 9}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, nil},
		"no end of line":        {strings.TrimSpace(talk), transcriptWant{Messages: 1}, []string{"a four"}, nil, 1000, nil},
		"of Windows":            {strings.ReplaceAll(talk, "\n", "\r\n"), transcriptWant{Messages: 2}, []string{"u three", "a four"}, nil, 1000, nil},
		"blocks":                {blocks, transcriptWant{Messages: 1}, []string{"a two\nthree"}, nil, 1000, nil},
		"just fitting":          {talk, transcriptWant{All: true, MaxBytes: 12}, []string{"a two", "u three", "a four"}, nil, 1000, []string{"The messages of the transcript were cut to the newest 12 bytes."}},
		"one byte less":         {talk, transcriptWant{All: true, MaxBytes: 11}, []string{"u three", "a four"}, nil, 1000, []string{"The messages of the transcript were cut to the newest 11 bytes."}},
		"no part of an older":   {lineUser("one two three") + lineUser("four"), transcriptWant{All: true, MaxBytes: 12}, []string{"u four"}, nil, 0, []string{"The messages of the transcript were cut to the newest 12 bytes."}},
		"all bytes":             {talk, transcriptWant{Messages: 4, MaxBytes: 15}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, nil},
		"a part of one":         {lineUser("one") + lineUser("äöüäöü"), transcriptWant{All: true, MaxBytes: 8}, []string{"u …öü"}, nil, 0, []string{"The messages of the transcript were cut to the newest 8 bytes."}},
		"no part of one":        {lineUser("one two"), transcriptWant{All: true, MaxBytes: 3}, nil, nil, 0, []string{"The messages of the transcript were cut to the newest 3 bytes."}},
		"a part of its blocks":  {lineUser("one") + lineText("m1", "twenty") + lineText("m1", "three"), transcriptWant{All: true, MaxBytes: 11}, []string{"a …ty\nthree"}, nil, 1000, []string{"The messages of the transcript were cut to the newest 11 bytes."}},
		"before the typed text": {talk + lineUser(instruction) + lineText("m3", "I do"), transcriptWant{Messages: 2, Until: "handoff_a_b_1_00c0ffee"}, []string{"u three", "a four"}, nil, 1000, nil},
		"before the answer to a Stop": {talk + strings.Replace(lineUser("Stop hook feedback:\n"+instruction), `"type"`, `"isMeta":true,"type"`, 1) + lineText("m3", "I do"),
			transcriptWant{Messages: 1, Until: "handoff_a_b_1_00c0ffee"}, []string{"a four"}, nil, 1000, nil},
		"typed again":       {talk + lineUser("go: X") + lineText("m3", "I do") + lineUser("go: X"), transcriptWant{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"long before":       {talk + lineUser("go: X") + lineText("m8", "y") + lineText("m9", "z"), transcriptWant{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"without it":        {talk, transcriptWant{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"in a block":        {talk + lineText("m3", "so") + lineText("m3", "X") + lineText("m3", "then"), transcriptWant{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"read by a tool":    {talk + lineResult("t1", "X", false), transcriptWant{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"by a sub-agent":    {talk + strings.Replace(lineUser("X"), "false", "true", 1), transcriptWant{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"edited":            {edits, transcriptWant{Edited: true}, nil, []string{"a.go", "b.go"}, 1000, nil},
		"edited after it":   {lineUser("X") + edits, transcriptWant{Edited: true, Until: "X"}, nil, []string{"a.go", "b.go"}, 1000, nil},
		"not asked for":     {edits, transcriptWant{Messages: 1}, nil, nil, 1000, nil},
		"a sub-agent's":     {lineAnswer("m1", "", 500) + strings.Replace(lineAnswer("m2", "", 900), `"isSidechain":false`, `"isSidechain":true`, 1), transcriptWant{}, nil, nil, 500, nil},
		"of no use":         {lineAnswer("m1", "", 500) + lineAnswer("m2", "", 0), transcriptWant{}, nil, nil, 500, nil},
		"compacted":         {lineAnswer("m1", "", 500) + `{"type":"system","subtype":"compact_boundary","compactMetadata":{"postTokens":70}}`, transcriptWant{}, nil, nil, 70, nil},
		"compacted, no use": {lineAnswer("m1", "", 500) + `{"type":"system","subtype":"compact_boundary"}`, transcriptWant{}, nil, nil, 0, nil},
		"cut off":           {talk + lineText("m3", "five")[:90], transcriptWant{Messages: 1}, []string{"a four"}, nil, 1000, []string{"1 line of the transcript could not be read and was left out."}},
		"garbage":           {"\x00\xff\n" + talk + "{}\n\n[]\n\x1f\x8b\x08", transcriptWant{All: true}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, []string{"3 lines of the transcript could not be read and were left out."}},
		"10 MB in a line":   {lineUser("one") + lineUser(strings.Repeat("x", 10<<20)) + lineUser("two"), transcriptWant{Messages: 2}, []string{"u one", "u two"}, nil, 0, []string{"1 line of the transcript is longer than 4 MB and was left out."}},
		"garbage of 10 MB":  {lineUser("one") + strings.Repeat("\x00", 10<<20), transcriptWant{Messages: 1}, []string{"u one"}, nil, 0, []string{"1 line of the transcript is longer than 4 MB and was left out."}},
	} {
		got, err := readTranscript(t.Context(), transcriptFile(t, tt.text), tt.want)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if messages := told(got.Messages); !slices.Equal(messages, tt.messages) {
			t.Errorf("%s: messages %q, want %q", name, messages, tt.messages)
		}
		if !slices.Equal(got.Edited, tt.edited) || got.Used != tt.used || !slices.Equal(got.Warnings, tt.warnings) {
			t.Errorf("%s: edited %q, used %d, warnings %q, want %q, %d, %q", name, got.Edited, got.Used, got.Warnings, tt.edited, tt.used, tt.warnings)
		}
		if got.Count < len(got.Messages) {
			t.Errorf("%s: %d messages counted", name, got.Count)
		}
	}
}

// TestReadTranscriptAt: a message is as old as its first block.
func TestReadTranscriptAt(t *testing.T) {
	t.Parallel()
	path := transcriptFile(t, lineUser("one")+strings.ReplaceAll(lineText("m1", "two"), ":01Z", ":01.5Z")+lineText("m1", "three"))
	got, err := readTranscript(t.Context(), path, transcriptWant{All: true})
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	want := []data.Message{{Role: "user", Text: "one", At: at}, {Role: "assistant", Text: "two\nthree", At: at.Add(1500 * time.Millisecond)}}
	if err != nil || !reflect.DeepEqual(got.Messages, want) || got.Count != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestTranscriptUnreadable: none of these blocks, and none is taken for an empty conversation.
func TestTranscriptUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", filepath.Join(dir, "gone"), dir, fifo, os.DevNull} {
		_, err := readTranscript(t.Context(), path, transcriptWant{All: true, Edited: true})
		_, _, useErr := transcriptUse(path)
		_, countErr := transcriptCount(path, 1)
		if err == nil || useErr == nil || countErr == nil {
			t.Errorf("%s: %v; %v; %v", path, err, useErr, countErr)
		}
		if gone := filepath.Base(path) == "gone"; gone != errors.Is(err, fs.ErrNotExist) && path != "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := readTranscript(ctx, transcriptFile(t, lineUser("one")), transcriptWant{All: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}

func TestTranscriptUse(t *testing.T) {
	t.Parallel()
	far := lineResult("t1", strings.Repeat("x", transcriptLine/2-200), false) // 4 MB, twice the text
	for name, tt := range map[string]struct {
		text string
		used int64
		ok   bool
	}{
		"empty":       {"", 0, false},
		"no answer":   {lineUser("one"), 0, false},
		"an answer":   {lineText("m1", "one") + lineUser("two") + "{", 1000, true},
		"compacted":   {lineText("m1", "one") + `{"type":"system","subtype":"compact_boundary"}`, 0, false},
		"within 8 MB": {lineText("m1", "one") + far, 1000, true},
		"too far":     {lineText("m1", "one") + far + far + lineUser(strings.Repeat("x", 1000)), 0, false},
	} {
		if used, ok, err := transcriptUse(transcriptFile(t, tt.text)); used != tt.used || ok != tt.ok || err != nil {
			t.Errorf("%s: %d, %v, %v", name, used, ok, err)
		}
	}
}

func TestTranscriptCount(t *testing.T) {
	t.Parallel()
	path := transcriptFile(t, "{\n"+lineUser("one")+lineText("m1", "two")+lineText("m1", "three")+lineResult("t", "x", false)+lineUser("four"))
	for enough, want := range []int{0, 1, 2, 3, 3} {
		if n, err := transcriptCount(path, enough); n != want || err != nil {
			t.Errorf("%d are enough: %d, %v", enough, n, err)
		}
	}
}

// TestTranscriptCountOfSuccessor: what we typed, and answers that are calls of tools alone, are no
// messages that are passed on, but they are something to hand over.
func TestTranscriptCountOfSuccessor(t *testing.T) {
	t.Parallel()
	told := lineUser("[handoff_a_b_1_c0ffee00] understudy: you take over")
	if n, err := transcriptCount(transcriptFile(t, told), 2); n != 1 || err != nil {
		t.Errorf("only told what it takes over: %d, %v", n, err)
	}
	call := `{"type":"assistant","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}],"usage":{"input_tokens":9}}}` + "\n"
	if n, err := transcriptCount(transcriptFile(t, told+call), 2); n != 2 || err != nil {
		t.Errorf("at work: %d, %v", n, err)
	}
}

// FuzzReadTranscript: reading backwards finds what reading forwards does. Each byte of the script
// is a line of the transcript.
func FuzzReadTranscript(f *testing.F) {
	f.Add([]byte{0, 2, 3, 9, 1, 4, 0xff, 5}, []byte("{"), 2, int64(9), 16)
	f.Add([]byte{6, 8, 7, 10, 11, 12, 3, 13}, []byte("\r\n\n"), -1, int64(0), 1000)
	lines := []string{
		lineUser("one"), lineUser("two X"), lineText("m1", "äöü"), lineText("m1", "four"), lineText("m2", "five"), lineText("m2", "X six"),
		lineWrite("t1", "b", ""), lineWrite("t2", "a", ""), lineResult("t1", "X", true), lineResult("t2", "", false), "\r\n", "{}\n",
		strings.Replace(lineUser("X"), "false", "true", 1), strings.Replace(lineText("m1", "X"), `"m"`, `"<synthetic>"`, 1), lineAnswer("m3", "", 7),
	}
	f.Fuzz(func(t *testing.T, script, raw []byte, messages int, most int64, chunk int) {
		var text []byte
		for _, b := range script {
			if int(b) < len(lines) {
				text = append(text, lines[b]...)
			} else {
				text = append(text, raw...)
			}
		}
		want := transcriptWant{Messages: messages, All: messages < 0, MaxBytes: most, Edited: true, Until: "X"}
		c := newConversation(want)
		file := &transcript{lines: &backward{r: bytes.NewReader(text), off: int64(len(text)), chunk: 1 + max(0, chunk)%1000, max: transcriptLine}}
		for {
			e, err := file.next(t.Context())
			if err != nil {
				break
			}
			c.add(e)
		}
		got := c.result(file.bad, file.lines.long)
		if ref := forward(text, c.want); !reflect.DeepEqual(got, ref) {
			t.Errorf("%q\n%+v:\ngot  %+v\nwant %+v", text, want, got, ref)
		}
	})
}

// forward is readTranscript, the simple way: from the front, with everything in memory.
func forward(text []byte, want transcriptWant) (got transcriptRead) {
	var entries []runtimes.Entry
	bad := 0
	failed, edited := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := runtimes.ParseEntry([]byte(line))
		if err != nil {
			bad++
			continue
		}
		entries = append(entries, e)
	}
	for _, e := range slices.Backward(entries) {
		for _, call := range e.Failed {
			failed[call] = true
		}
		for _, edit := range e.Edited {
			if !failed[edit.Call] && !edited[edit.Path] {
				edited[edit.Path] = true
				got.Edited = append(got.Edited, edit.Path)
			}
		}
	}
	slices.Sort(got.Edited)
	for _, e := range entries {
		if tellsUse(e) {
			got.Used = e.Used
		}
	}
	groups := grouped(entries, want.Until)
	got.Count = len(groups)
	cut := false
	if !want.All {
		groups = groups[max(0, len(groups)-max(0, want.Messages)):]
	}
	groups, cut = fitting(groups, want.MaxBytes)
	for _, g := range groups {
		m := data.Message{Role: g[0].Role, At: g[0].At}
		for i, e := range g {
			m.Text += strings.Repeat("\n", min(i, 1)) + e.Text
		}
		got.Messages = append(got.Messages, m)
	}
	warnings := (&conversation{want: want, cut: cut}).result(bad, 0).Warnings
	got.Warnings = warnings
	return got
}

// grouped are the entries of each message before until.
func grouped(entries []runtimes.Entry, until string) (groups [][]runtimes.Entry) {
	for _, e := range entries {
		last := len(groups) - 1
		same := last >= 0 && e.MessageID != "" && groups[last][0].MessageID == e.MessageID
		if !e.Sidechain && strings.Contains(e.Text, until) {
			if same {
				groups = groups[:last]
			}
			return groups
		}
		switch {
		case e.Role == "":
		case same:
			groups[last] = append(groups[last], e)
		default:
			groups = append(groups, []runtimes.Entry{e})
		}
	}
	return groups
}

// fitting are the newest messages whose texts have at most so many bytes.
func fitting(groups [][]runtimes.Entry, most int64) (kept [][]runtimes.Entry, cut bool) {
	for _, g := range slices.Backward(groups) {
		var part []runtimes.Entry
		for _, e := range slices.Backward(g) {
			most -= int64(min(len(part), 1))
			if cut = int64(len(e.Text)) > most; cut && (len(part) > 0 || len(kept) == 0) {
				e.Text = ending(e.Text, most)
			} else if cut {
				e.Text = ""
			}
			if most -= int64(len(e.Text)); e.Text != "" {
				part = append([]runtimes.Entry{e}, part...)
			}
			if cut {
				break
			}
		}
		if len(part) > 0 {
			kept = append([][]runtimes.Entry{part}, kept...)
		}
		if cut {
			break
		}
	}
	return kept, cut
}
