package opencode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// told are the reports of a look in short: the event and the fields that tell what it is about.
func told(t *testing.T, reports []runtimes.Report) (short []string) {
	t.Helper()
	keys := map[string]bool{}
	for _, r := range reports {
		p := value(hooks.Parse(r.Event, r.Body))(t)
		if keys[r.Key] || r.Key == "" {
			t.Errorf("the key %q is there twice", r.Key)
		}
		keys[r.Key] = true
		if r.Event != hooks.SessionStart {
			short = append(short, strings.Join(strings.Fields(strings.Join([]string{r.Event, p.PromptID, p.Prompt, p.Error, p.LastAssistantMessage, p.Message, p.Reason}, " ")), " "))
		}
	}
	return short
}

var noon = time.UnixMilli(1795323103000)

// at is a message that was made so many milliseconds after noon.
func at(ms int64, info Info, parts ...Part) Message {
	info.Time.Created = noon.UnixMilli() + ms
	return Message{Info: info, Parts: parts}
}

func says(text string) Part { return Part{Type: "text", Text: text} }

func asks(id string, ms int64) Message {
	return at(ms, Info{ID: id, Role: "user"}, says("do "+id))
}

func answers(id, parent, finish string, ms int64, parts ...Part) Message {
	m := at(ms, Info{ID: id, Role: "assistant", ParentID: parent, Finish: finish}, parts...)
	if finish != "" {
		m.Info.Time.Completed = m.Info.Time.Created
	}
	return m
}

func failedWith(m Message, name string, status int, text string) Message {
	e := &Error{Name: name}
	e.Data.Message, e.Data.StatusCode = text, status
	m.Info.Error, m.Info.Time.Completed = e, m.Info.Time.Created
	return m
}

// gate is what OpenCode 1.18.33 tells of a hook chat.message that has thrown an error.
const gate = `Error: the gate is closed
    at chat.message (/home/u/.config/opencode/plugin/gate.js:6:47)
    at Plugin.trigger (/$bunfs/root/chunk-p1c43e92.js:1142:8941)
    at SessionPrompt.createUserMessage (/$bunfs/root/chunk-p1c43e92.js:1142:9959)`

// TestReports: what a session tells at one moment, 10 seconds after noon unless the case says otherwise.
func TestReports(t *testing.T) {
	t.Parallel()
	busy := Status{Type: "busy"}
	u1, u2 := asks("m1", 0), asks("m2", 1000)
	open := answers("a1", "m1", "", 100)
	done := answers("a1", "m1", "stop", 100, says("done"))
	for _, c := range []struct {
		name    string
		sight   Sight
		at      time.Duration // after noon; 0: 10 s
		want    []string
		limited bool
		waits   bool
	}{
		{name: "nothing"},
		{name: "a prompt that nobody has taken", sight: Sight{Messages: []Message{u1}}},
		{name: "a turn runs", sight: Sight{Status: busy, Messages: []Message{u1, open}}, want: []string{"UserPromptSubmit m1 do m1"}},
		{name: "a tool runs", sight: Sight{Status: busy, Messages: []Message{u1, answers("a1", "m1", "tool-calls", 100), answers("a2", "m1", "", 200)}},
			want: []string{"UserPromptSubmit m1 do m1"}},
		{name: "finished, and still busy", sight: Sight{Status: busy, Messages: []Message{u1, done}}, want: []string{"UserPromptSubmit m1 do m1"}},
		{name: "a turn ended", sight: Sight{Messages: []Message{u1, done}}, want: []string{"UserPromptSubmit m1 do m1", "Stop m1 done"}},
		{name: "a queued prompt", sight: Sight{Status: busy, Messages: []Message{u1, open, u2}}, want: []string{"UserPromptSubmit m1 do m1"}},
		{name: "two turns without idle between", sight: Sight{Status: busy, Messages: []Message{u1, done, u2, answers("a2", "m2", "", 1200)}},
			want: []string{"UserPromptSubmit m1 do m1", "Stop m1 done", "UserPromptSubmit m2 do m2"}},
		{name: "a prompt joins the turn", sight: Sight{Messages: []Message{u1, answers("a1", "m1", "tool-calls", 100), u2, answers("a2", "m2", "stop", 1200, says("both"))}},
			want: []string{"UserPromptSubmit m1 do m1", "UserPromptSubmit m2 do m2", "Stop m2 both"}},
		{name: "idle, and the error is not written yet", sight: Sight{IdleSince: noon.Add(9 * time.Second), Messages: []Message{u1, open}},
			want: []string{"UserPromptSubmit m1 do m1"}, waits: true},
		{name: "the error was written a moment ago", at: 600 * time.Millisecond, waits: true,
			sight: Sight{IdleSince: noon, Messages: []Message{u1, failedWith(open, "MessageAbortedError", 0, "Aborted")}}, want: []string{"UserPromptSubmit m1 do m1"}},
		{name: "aborted", sight: Sight{Messages: []Message{u1, failedWith(open, "MessageAbortedError", 0, "Aborted")}},
			want: []string{"UserPromptSubmit m1 do m1", "Interrupt m1"}},
		{name: "the clock was set back since the error was written", at: -time.Hour, want: []string{"UserPromptSubmit m1 do m1", "Interrupt m1"},
			sight: Sight{IdleSince: noon.Add(-time.Hour - time.Second), Messages: []Message{u1, failedWith(open, "MessageAbortedError", 0, "Aborted")}}},
		{name: "the clock was set back since the error was written, a moment ago", at: -time.Hour, waits: true, want: []string{"UserPromptSubmit m1 do m1"},
			sight: Sight{IdleSince: noon.Add(-time.Hour - time.Second/2), Messages: []Message{u1, failedWith(open, "MessageAbortedError", 0, "Aborted")}}},
		{name: "never finished", sight: Sight{IdleSince: noon, Messages: []Message{u1, open}},
			want: []string{"UserPromptSubmit m1 do m1", "Interrupt m1"}},
		{name: "a person refused a permission", sight: Sight{IdleSince: noon, Messages: []Message{u1, answers("a1", "m1", "tool-calls", 100)}},
			want: []string{"UserPromptSubmit m1 do m1", "Interrupt m1"}},
		{name: "no such key", sight: Sight{Messages: []Message{u1, failedWith(open, "APIError", 401, "who are you")}},
			want: []string{"UserPromptSubmit m1 do m1", "StopFailure m1 authentication_failed who are you"}},
		{name: "refused before an answer was begun", want: []string{"UserPromptSubmit m1 do m1", "StopFailure m1 model_not_found Model not found: x/y"},
			sight: Sight{Messages: []Message{u1}, FailedAt: noon.Add(time.Second),
				Failed: failedWith(open, "UnknownError", 0, "Model not found: x/y").Info.Error}},
		{name: "an error of an earlier turn says nothing about a later prompt", want: nil,
			sight: Sight{Messages: []Message{u2}, FailedAt: noon, Failed: &Error{Name: "APIError"}}},
		{name: "a plugin has refused a prompt", want: []string{"UserPromptSubmit m1 do m1", "Stop m1 done", "PromptRefused the gate is closed"},
			sight: Sight{Messages: []Message{u1, done}, FailedAt: noon.Add(time.Second), Failed: failedWith(open, "UnknownError", 0, gate).Info.Error}},
		{name: "a short retry", sight: Sight{Messages: []Message{u1, open},
			Status: Status{Type: "retry", Message: "fake error 500", Next: noon.Add(12 * time.Second).UnixMilli()}}, want: []string{"UserPromptSubmit m1 do m1", "RetryStarted m1 server_error fake error 500"}},
		{name: "a retry that was reported", sight: Sight{Messages: []Message{u1, open}, Retried: true,
			Status: Status{Type: "retry", Message: "Too Many Requests", Next: noon.Add(12 * time.Second).UnixMilli()}}, want: []string{"UserPromptSubmit m1 do m1"}},
		{name: "an answer after a retry", sight: Sight{Messages: []Message{u1, open}, Retried: true, Status: busy},
			want: []string{"UserPromptSubmit m1 do m1", "RetryEnded m1"}},
		{name: "a retry far away", limited: true, want: []string{"UserPromptSubmit m1 do m1", "StopFailure m1 usage_limit slow down"},
			sight: Sight{Messages: []Message{u1, open}, Status: Status{Type: "retry", Message: "slow down", Next: noon.Add(2 * time.Hour).UnixMilli()}}},
		{name: "a quota", limited: true, want: []string{"UserPromptSubmit m1 do m1", "StopFailure m1 usage_limit You exceeded your current quota"},
			sight: Sight{Messages: []Message{u1, open}, Status: Status{Type: "retry", Message: "You exceeded your current quota", Next: noon.Add(12 * time.Second).UnixMilli()}}},
		{name: "a permission", sight: Sight{Status: busy, Messages: []Message{u1, open}, Asked: []Asked{{ID: "p1", What: "permission for bash: ls", Since: noon}}},
			want: []string{"UserPromptSubmit m1 do m1", "PermissionRequest permission for bash: ls"}},
		{name: "a permission that OpenCode may answer itself", waits: true, want: []string{"UserPromptSubmit m1 do m1"},
			sight: Sight{Status: busy, Messages: []Message{u1, open}, Asked: []Asked{{ID: "p1", Since: noon.Add(9500 * time.Millisecond)}}}},
		{name: "a question left over from an aborted turn", sight: Sight{Asked: []Asked{{ID: "q1", Since: noon}}}},
		{name: "another agent's turn", sight: Sight{Earlier: map[string]bool{"m1": true}, Messages: []Message{u1, done, u2, answers("a2", "m2", "stop", 1200)}},
			want: []string{"UserPromptSubmit m2 do m2", "Stop m2"}},
		{name: "a compaction in a turn", sight: Sight{Messages: []Message{u1, answers("a1", "m1", "tool-calls", 100),
			at(200, Info{ID: "c", Role: "user"}, Part{Type: "compaction"}),
			at(300, Info{ID: "s", Role: "assistant", ParentID: "c", Mode: "compaction", Finish: "stop"}, says("summary")),
			at(400, Info{ID: "g", Role: "user"}, Part{Type: "text", Text: "Continue", Synthetic: true}), answers("a2", "g", "stop", 500, says("done"))}},
			want: []string{"UserPromptSubmit m1 do m1", "Stop m1 done"}},
	} {
		c.sight.Session, c.sight.Transcript = "ses_1", "/launch/transcript.jsonl"
		at := noon.Add(10 * time.Second)
		if c.at != 0 {
			at = noon.Add(c.at)
		}
		reports, limited, again := c.sight.Reports(at)
		if got := told(t, reports); !slices.Equal(got, c.want) || limited != c.limited || (again > 0) != c.waits {
			t.Errorf("%s: %q, limited %t, again in %s", c.name, got, limited, again)
		}
	}
}

// TestLimitEnds: a limit tells when it ends if the retry says so.
func TestLimitEnds(t *testing.T) {
	t.Parallel()
	next := noon.Add(2 * time.Hour)
	s := Sight{Messages: []Message{asks("m1", 0), answers("a1", "m1", "", 100)}, Status: Status{Type: "retry", Next: next.UnixMilli()}}
	reports, _, _ := s.Reports(noon)
	var body struct {
		ResetsAt int64 `json:"resets_at"`
	}
	if err := json.Unmarshal(reports[len(reports)-1].Body, &body); err != nil || body.ResetsAt != next.Unix() {
		t.Errorf("resets at %d, %v, want %d", body.ResetsAt, err, next.Unix())
	}
}

// TestAwaits: a text is submitted again only if it cannot be taken any more.
func TestAwaits(t *testing.T) {
	t.Parallel()
	u, later := asks("m1", 0), noon.Add(10*time.Second)
	for name, c := range map[string]struct {
		sight Sight
		since time.Time
		now   time.Time
		want  bool
	}{
		"never submitted":      {Sight{}, noon, later, false},
		"an earlier equal one": {Sight{Messages: []Message{u, answers("a1", "m1", "stop", 100)}}, noon.Add(time.Second), later, false},
		"taken":                {Sight{Messages: []Message{u, answers("a1", "m1", "", 100)}}, noon, later, true},
		"queued":               {Sight{Messages: []Message{u}, Status: Status{Type: "busy"}}, noon, later, true},
		"a moment ago":         {Sight{Messages: []Message{u}}, noon, noon.Add(time.Second), true},
		"lost":                 {Sight{Messages: []Message{u}}, noon, later, false},
	} {
		equal(t, name, c.sight.Awaits("do m1", c.since, c.now), c.want)
	}
}

// TestGivenWork: a prompt is new work if it came behind the last turn's prompt and since the session rests, as far as the clock tells.
func TestGivenWork(t *testing.T) {
	t.Parallel()
	turn := []Message{asks("m1", 0), answers("a1", "m1", "stop", 100)}
	more := append(slices.Clone(turn), asks("m2", 5000), answers("a2", "m2", "", 100))
	for name, c := range map[string]struct {
		messages []Message
		rest     runtimes.Rest
		want     bool
	}{
		"nothing":                            {turn, runtimes.Rest{Prompt: "m1", Since: noon.Add(time.Second)}, false},
		"more":                               {more, runtimes.Rest{Prompt: "m1", Since: noon.Add(time.Second)}, true},
		"more, after many messages":          {more[2:], runtimes.Rest{Prompt: "m1", Since: noon.Add(time.Second)}, true},
		"joined the last turn":               {more, runtimes.Rest{Prompt: "m1", Since: noon.Add(10 * time.Second)}, false},
		"the clock was set back":             {turn, runtimes.Rest{Prompt: "m1", Since: noon.Add(-time.Hour)}, false},
		"more, after the clock was set back": {more, runtimes.Rest{Prompt: "m1", Since: noon.Add(-time.Hour)}, true},
		"none before":                        {turn, runtimes.Rest{Prompt: "", Since: noon}, true},
	} {
		s := Sight{Messages: c.messages}
		equal(t, name, s.GivenWork(&c.rest), c.want)
	}
}

// TestMirror: the file with the conversation reads as a transcript. The messages were recorded of the real server.
func TestMirror(t *testing.T) {
	t.Parallel()
	b := value(os.ReadFile(filepath.Join("../testdata", "opencode", "messages.json")))(t)
	s := Sight{Session: "ses_1"}
	must(t, json.Unmarshal(b, &s.Messages))
	edit := Part{Type: "tool", Tool: "edit", CallID: "call_1"}
	edit.State.Input.FilePath, edit.State.Status = "/w/a.go", "completed"
	bad := Part{Type: "tool", Tool: "write", CallID: "call_2"}
	bad.State.Input.FilePath, bad.State.Status = "/w/b.go", "error"
	s.Messages = append(s.Messages, asks("m3", 9000000), answers("a3", "m3", "tool-calls", 9000100, edit, bad), asks("lost", 9000200))
	mirror := s.Mirror(noon, false)
	var got []string
	var edited, failed []string
	var used int64
	for line := range strings.Lines(string(mirror)) {
		e := value(Runtime.ParseEntry([]byte(line)))(t)
		if e.Role != "" {
			got = append(got, e.Role+": "+e.Text)
		}
		for _, x := range e.Edited {
			edited = append(edited, x.Path+" "+x.Call)
		}
		failed, used = append(failed, e.Failed...), max(used, e.Used)
	}
	equal(t, "messages", got, []string{"user: [use 30000] NEWSESS hello", "assistant: Answer: ok.", "user: TYPEDIN", "assistant: Answer: ok.", "user: do m3", "user: do lost\n" + runtimes.NoteUnread})
	if !slices.Equal(edited, []string{"/w/a.go call_1", "/w/b.go call_2"}) || !slices.Equal(failed, []string{"call_2"}) || used != 30007 {
		t.Errorf("edited %q, failed %q, used %d", edited, failed, used)
	}
	if !Runtime.TranscriptContains(mirror, "NEWSESS") || Runtime.TranscriptContains(mirror, "do lost") {
		t.Error("the mirror lacks a prompt, or shows one as taken that was not")
	}
	if !Runtime.TranscriptHasPrompt(mirror, "TYPEDIN", time.UnixMilli(1795323106669).Before) {
		t.Error("the prompt has another time")
	}
}

// TestMirrorOfADroppedPrompt: a prompt that OpenCode has dropped is work, and part of the conversation, but not taken, until the model
// reads it with the next one. Those who follow the file go on where they were.
func TestMirrorOfADroppedPrompt(t *testing.T) {
	t.Parallel()
	aborted := answers("a1", "m1", "", 100)
	aborted.Info.Time.Completed = 0
	s := Sight{Session: "ses_1", Messages: []Message{asks("m1", 0), aborted, asks("m2", 200)}}
	for _, c := range []struct {
		status Status
		want   int
	}{
		{Status{Type: "busy"}, 1}, {Status{}, 2}, {Status{Type: "retry", Message: "The server is overloaded"}, 1},
		{Status{Type: "retry", Message: "usage limit reached"}, 2}, // it is about to be dropped
	} {
		if s.Status = c.status; strings.Count(string(s.Mirror(noon, false)), "\n") != c.want {
			t.Errorf("%+v: the mirror is %s", c.status, s.Mirror(noon, false))
		}
	}
	s.Status = Status{}
	s.Messages[1].Info.Error = &Error{Name: "MessageAbortedError"}
	dropped := s.Mirror(noon, false)
	since := noon.Add(100 * time.Millisecond)
	if Runtime.TranscriptContains(dropped, "do m2") || !Runtime.PromptedAfter(dropped, "", since, nil, time.Time{}) || !s.GivenWork(&runtimes.Rest{Since: since}) {
		t.Errorf("the dropped prompt is taken, or no work: %s", dropped)
	}
	s.Messages = append(s.Messages, asks("m3", 300), answers("a3", "m3", "stop", 400))
	read := s.Mirror(noon, false)
	if !Runtime.TranscriptContains(read, "do m2") || strings.Contains(string(read), `"unreadPrompt":true`) {
		t.Errorf("the model has not read the prompt: %s", read)
	}
	if n := len(dropped); string(read[n-1:n]) != "\n" || strings.Count(string(read[:n]), "\n") != 3 {
		t.Errorf("the lines have other lengths now: %s", read)
	}
}
