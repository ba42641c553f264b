package transcript

import (
	"bytes"
	"context"
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
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// told writes messages in short: role, text.
func told(messages []data.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.Role[:1]+" "+m.Text)
	}
	return out
}

func TestReadFindsWhatIsWanted(t *testing.T) {
	t.Parallel()
	const instruction = "[handoff_a_b_1_00c0ffee] understudy: hand over"
	talk := transcripttest.User("one") + transcripttest.Text("m1", "two") + transcripttest.User("three") + transcripttest.Text("m2", "four")
	edits := transcripttest.Write("t1", "b.go", "x") + transcripttest.Result("t1", "ok", false) + transcripttest.Write("t2", "a.go", "x") + transcripttest.Result("t2", "ok", false) +
		transcripttest.Write("t3", "refused.go", "x") + transcripttest.Result("t3", "no", true) + transcripttest.Write("t4", "b.go", "x")
	blocks := transcripttest.User("one") + transcripttest.Text("m1", "two") + transcripttest.Write("t1", "x", "x") + transcripttest.Result("t1", "ok", false) + transcripttest.Text("m1", "three")
	const unread = "(This agent has not begun with this prompt.)"
	dropped := strings.Replace(transcripttest.User("five"), `"type"`, `"unreadPrompt":true,"type"`, 1)
	for name, tt := range map[string]struct {
		text     string
		want     Want
		messages []string
		edited   []string
		used     int64
		warnings []string
	}{
		"nothing":               {"", Want{All: true, Edited: true}, nil, nil, 0, nil},
		"nothing wanted":        {talk, Want{}, nil, nil, 1000, nil},
		"all":                   {talk, Want{All: true}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, nil},
		"the newest":            {talk, Want{Messages: 3}, []string{"a two", "u three", "a four"}, nil, 1000, nil},
		"more than there are":   {talk, Want{Messages: 9}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, nil},
		"no end of line":        {strings.TrimSpace(talk), Want{Messages: 1}, []string{"a four"}, nil, 1000, nil},
		"of Windows":            {strings.ReplaceAll(talk, "\n", "\r\n"), Want{Messages: 2}, []string{"u three", "a four"}, nil, 1000, nil},
		"blocks":                {blocks, Want{Messages: 1}, []string{"a two\nthree"}, nil, 1000, nil},
		"just fitting":          {talk, Want{All: true, MaxBytes: 12}, []string{"a two", "u three", "a four"}, nil, 1000, []string{"The messages of the transcript were cut to the newest 12 bytes."}},
		"one byte less":         {talk, Want{All: true, MaxBytes: 11}, []string{"u three", "a four"}, nil, 1000, []string{"The messages of the transcript were cut to the newest 11 bytes."}},
		"no part of an older":   {transcripttest.User("one two three") + transcripttest.User("four"), Want{All: true, MaxBytes: 12}, []string{"u four"}, nil, 0, []string{"The messages of the transcript were cut to the newest 12 bytes."}},
		"all bytes":             {talk, Want{Messages: 4, MaxBytes: 15}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, nil},
		"a part of one":         {transcripttest.User("one") + transcripttest.User("äöüäöü"), Want{All: true, MaxBytes: 8}, []string{"u …öü"}, nil, 0, []string{"The messages of the transcript were cut to the newest 8 bytes."}},
		"no part of one":        {transcripttest.User("one two"), Want{All: true, MaxBytes: 3}, nil, nil, 0, []string{"The messages of the transcript were cut to the newest 3 bytes."}},
		"a part of its blocks":  {transcripttest.User("one") + transcripttest.Text("m1", "twenty") + transcripttest.Text("m1", "three"), Want{All: true, MaxBytes: 11}, []string{"a …ty\nthree"}, nil, 1000, []string{"The messages of the transcript were cut to the newest 11 bytes."}},
		"before the typed text": {talk + transcripttest.User(instruction) + transcripttest.Text("m3", "I do"), Want{Messages: 2, Until: "handoff_a_b_1_00c0ffee"}, []string{"u three", "a four"}, nil, 1000, nil},
		"before the answer to a Stop": {talk + strings.Replace(transcripttest.User("Stop hook feedback:\n"+instruction), `"type"`, `"isMeta":true,"type"`, 1) + transcripttest.Text("m3", "I do"),
			Want{Messages: 1, Until: "handoff_a_b_1_00c0ffee"}, []string{"a four"}, nil, 1000, nil},
		"dropped after it": {talk + transcripttest.User("go: X") + transcripttest.Text("m3", "I do") + dropped, Want{Messages: 2, Until: "X"}, []string{"a four", "u five\n" + unread}, nil, 1000, nil},
		"all of its room": {talk + transcripttest.User("go: X") + transcripttest.Text("m3", "I do") + dropped, Want{All: true, MaxBytes: 53, Until: "X"}, []string{"a four", "u five\n" + unread}, nil, 1000,
			[]string{"The messages of the transcript were cut to the newest 53 bytes."}},
		"typed again":       {talk + transcripttest.User("go: X") + transcripttest.Text("m3", "I do") + transcripttest.User("go: X"), Want{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"long before":       {talk + transcripttest.User("go: X") + transcripttest.Text("m8", "y") + transcripttest.Text("m9", "z"), Want{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"without it":        {talk, Want{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"in a block":        {talk + transcripttest.Text("m3", "so") + transcripttest.Text("m3", "X") + transcripttest.Text("m3", "then"), Want{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"read by a tool":    {talk + transcripttest.Result("t1", "X", false), Want{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"by a sub-agent":    {talk + strings.Replace(transcripttest.User("X"), "false", "true", 1), Want{Messages: 1, Until: "X"}, []string{"a four"}, nil, 1000, nil},
		"edited":            {edits, Want{Edited: true}, nil, []string{"a.go", "b.go"}, 1000, nil},
		"edited after it":   {transcripttest.User("X") + edits, Want{Edited: true, Until: "X"}, nil, []string{"a.go", "b.go"}, 1000, nil},
		"not asked for":     {edits, Want{Messages: 1}, nil, nil, 1000, nil},
		"a sub-agent's":     {transcripttest.Answer("m1", "", 500) + strings.Replace(transcripttest.Answer("m2", "", 900), `"isSidechain":false`, `"isSidechain":true`, 1), Want{}, nil, nil, 500, nil},
		"of no use":         {transcripttest.Answer("m1", "", 500) + transcripttest.Answer("m2", "", 0), Want{}, nil, nil, 500, nil},
		"compacted":         {transcripttest.Answer("m1", "", 500) + `{"type":"system","subtype":"compact_boundary","compactMetadata":{"postTokens":70}}`, Want{}, nil, nil, 70, nil},
		"compacted, no use": {transcripttest.Answer("m1", "", 500) + `{"type":"system","subtype":"compact_boundary"}`, Want{}, nil, nil, 0, nil},
		"cut off":           {talk + transcripttest.Text("m3", "five")[:90], Want{Messages: 1}, []string{"a four"}, nil, 1000, []string{"1 line of the transcript could not be read and was left out."}},
		"garbage":           {"\x00\xff\n" + talk + "{}\n\n[]\n\x1f\x8b\x08", Want{All: true}, []string{"u one", "a two", "u three", "a four"}, nil, 1000, []string{"3 lines of the transcript could not be read and were left out."}},
		"10 MB in a line":   {transcripttest.User("one") + transcripttest.User(strings.Repeat("x", 10<<20)) + transcripttest.User("two"), Want{Messages: 2}, []string{"u one", "u two"}, nil, 0, []string{"1 line of the transcript is longer than 4 MB and was left out."}},
		"garbage of 10 MB":  {transcripttest.User("one") + strings.Repeat("\x00", 10<<20), Want{Messages: 1}, []string{"u one"}, nil, 0, []string{"1 line of the transcript is longer than 4 MB and was left out."}},
	} {
		got, err := Read(t.Context(), claude.Runtime, transcripttest.File(t, tt.text), tt.want)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wardentest.Equal(t, fmt.Sprintf("%s: messages", name), told(got.Messages), tt.messages)
		if !slices.Equal(got.Edited, tt.edited) || got.Used != tt.used || !slices.Equal(got.Warnings, tt.warnings) {
			t.Errorf("%s: edited %q, used %d, warnings %q, want %q, %d, %q", name, got.Edited, got.Used, got.Warnings, tt.edited, tt.used, tt.warnings)
		}
		if got.Count < len(got.Messages) {
			t.Errorf("%s: %d messages counted", name, got.Count)
		}
	}
}

func TestMessageIsAsOldAsItsFirstBlock(t *testing.T) {
	t.Parallel()
	path := transcripttest.File(t, transcripttest.User("one")+strings.ReplaceAll(transcripttest.Text("m1", "two"), ":01Z", ":01.5Z")+transcripttest.Text("m1", "three"))
	got, err := Read(t.Context(), claude.Runtime, path, Want{All: true})
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	want := []data.Message{{Role: "user", Text: "one", At: at}, {Role: "assistant", Text: "two\nthree", At: at.Add(1500 * time.Millisecond)}}
	if err != nil || !reflect.DeepEqual(got.Messages, want) || got.Count != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// None of these files makes Read wait, or is taken for a conversation without messages.
func TestUnreadableTranscriptIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	wardentest.Must(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{"", filepath.Join(dir, "gone"), dir, fifo, os.DevNull} {
		_, err := Read(t.Context(), claude.Runtime, path, Want{All: true, Edited: true})
		_, _, _, useErr := Use(claude.Runtime, path)
		_, countErr := Count(claude.Runtime, path, 1)
		if err == nil || useErr == nil || countErr == nil {
			t.Errorf("%s: %v; %v; %v", path, err, useErr, countErr)
		}
		if gone := filepath.Base(path) == "gone"; gone != errors.Is(err, fs.ErrNotExist) && path != "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wardentest.Failed(Read(ctx, claude.Runtime, transcripttest.File(t, transcripttest.User("one")), Want{All: true}))(t, "cancelled", context.Canceled)
}

func TestUseIsThatOfTheNewestAnswer(t *testing.T) {
	t.Parallel()
	far := transcripttest.Result("t1", strings.Repeat("x", maxLine/2-200), false) // 4 MB, twice the text
	for name, tt := range map[string]struct {
		text string
		used int64
		ok   bool
	}{
		"empty":       {"", 0, false},
		"no answer":   {transcripttest.User("one"), 0, false},
		"an answer":   {transcripttest.Text("m1", "one") + transcripttest.User("two") + "{", 1000, true},
		"compacted":   {transcripttest.Text("m1", "one") + `{"type":"system","subtype":"compact_boundary"}`, 0, false},
		"within 8 MB": {transcripttest.Text("m1", "one") + far, 1000, true},
		"too far":     {transcripttest.Text("m1", "one") + far + far + transcripttest.User(strings.Repeat("x", 1000)), 0, false},
	} {
		if used, _, ok, err := Use(claude.Runtime, transcripttest.File(t, tt.text)); used != tt.used || ok != tt.ok || err != nil {
			t.Errorf("%s: %d, %v, %v", name, used, ok, err)
		}
	}
}

func TestCountCountsPromptsAndAnswersUpToEnough(t *testing.T) {
	t.Parallel()
	path := transcripttest.File(t, "{\n"+transcripttest.User("one")+transcripttest.Text("m1", "two")+transcripttest.Text("m1", "three")+transcripttest.Result("t", "x", false)+transcripttest.User("four"))
	for enough, want := range []int{0, 1, 2, 3, 3} {
		if n, err := Count(claude.Runtime, path, enough); n != want || err != nil {
			t.Errorf("%d are enough: %d, %v", enough, n, err)
		}
	}
}

// A successor's transcript may have nothing else. Read passes none of it on, but it is work to hand over.
func TestCountCountsPromptsOfTheDaemonAndToolCalls(t *testing.T) {
	t.Parallel()
	told := transcripttest.User("[handoff_a_b_1_c0ffee00] understudy: you take over")
	if n, err := Count(claude.Runtime, transcripttest.File(t, told), 2); n != 1 || err != nil {
		t.Errorf("only told what it takes over: %d, %v", n, err)
	}
	call := `{"type":"assistant","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}],"usage":{"input_tokens":9}}}` + "\n"
	if n, err := Count(claude.Runtime, transcripttest.File(t, told+call), 2); n != 2 || err != nil {
		t.Errorf("at work: %d, %v", n, err)
	}
}

// FuzzReadTranscript compares Read with forward. Each byte of the script is a line of the transcript.
func FuzzReadTranscript(f *testing.F) {
	f.Add([]byte{0, 2, 3, 9, 1, 4, 0xff, 5}, []byte("{"), 2, int64(9), 16)
	f.Add([]byte{6, 8, 7, 10, 11, 12, 3, 13}, []byte("\r\n\n"), -1, int64(0), 1000)
	lines := []string{
		transcripttest.User("one"), transcripttest.User("two X"), transcripttest.Text("m1", "äöü"), transcripttest.Text("m1", "four"), transcripttest.Text("m2", "five"), transcripttest.Text("m2", "X six"),
		transcripttest.Write("t1", "b", ""), transcripttest.Write("t2", "a", ""), transcripttest.Result("t1", "X", true), transcripttest.Result("t2", "", false), "\r\n", "{}\n",
		strings.Replace(transcripttest.User("X"), "false", "true", 1), strings.Replace(transcripttest.Text("m1", "X"), `"m"`, `"<synthetic>"`, 1), transcripttest.Answer("m3", "", 7),
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
		want := Want{Messages: messages, All: messages < 0, MaxBytes: most, Edited: true, Until: "X"}
		c := newConversation(want)
		file := &file{rt: claude.Runtime, lines: &backward{r: bytes.NewReader(text), off: int64(len(text)), chunk: 1 + max(0, chunk)%1000, max: maxLine}}
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

// forward is Read in the simple way: from the front, with everything in memory.
func forward(text []byte, want Want) (got Found) {
	var entries []runtimes.Entry
	bad := 0
	failed, edited := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := claude.Runtime.ParseEntry([]byte(line))
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

// grouped returns the entries of each message before until.
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

// fitting returns the newest messages whose texts have at most so many bytes.
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
