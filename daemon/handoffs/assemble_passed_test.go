package handoffs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/data"
)

// mustAssemble assembles a context that must not fail.
func mustAssemble(t *testing.T, r *handoffRun, document string) assembled {
	t.Helper()
	return value(r.assemble(data.Document{Bytes: []byte(document)}))(t)
}

// warned returns the warning that has a part; "": there is none.
func warned(got *assembled, part string) string {
	for _, w := range got.Warnings {
		if strings.Contains(w, part) {
			return w
		}
	}
	return ""
}

// TestBoundsOfTheContext: the settings bound what is passed on beside the document, and warnings say what is left out. A role that asks for
// all messages and decisions gets them.
func TestBoundsOfTheContext(t *testing.T) {
	t.Parallel()
	var many []data.Decision
	var said []data.Message
	for i := range 60 {
		many = append(many, data.Decision{Agent: "con", Summary: fmt.Sprintf("choice %d", i)})
		said = append(said, data.Message{Agent: "con", Role: "user", Text: fmt.Sprintf("message %d %s", i, strings.Repeat("and so on ", 20))})
	}
	for _, c := range []struct {
		all                 bool
		bytes               int64
		messages, decisions int
		cut                 string
	}{
		{false, 1 << 20, 7, 50, "60 decisions were made along the line, more than are passed on: the oldest 10 are left out."},
		{true, 1 << 20, 61, 60, ""},
		{true, 5000, 0, 0, "There was room for the last"},
		{true, 300, 0, 0, "There was no room for the messages"},
	} {
		r := assembler(t, lineStore{line: []daemon.Record{{Decisions: many, Messages: said}}}, transcripttest.File(t, transcripttest.User("the newest")))
		r.settings.MaxMessages, r.settings.IncludeAllMessages, r.settings.MaxContextBytes = 7, c.all, c.bytes
		const document = "## What Was Done\nAll.\n"
		got := mustAssemble(t, r, document)
		if c.messages > 0 && (got.Rendered.Messages != c.messages || got.Rendered.Decisions != c.decisions) {
			t.Errorf("%+v: %d messages, %d decisions", c, got.Rendered.Messages, got.Rendered.Decisions)
		}
		if (warned(&got, "left out") != "" || warned(&got, "room for") != "") != (c.cut != "") || warned(&got, c.cut) == "" && c.cut != "" {
			t.Errorf("%+v: warnings %q", c, got.Warnings)
		}
		if beside := int64(len(got.Context) - len(document)); beside > c.bytes+500 || !strings.Contains(string(got.Context), document) {
			t.Errorf("%+v: %d bytes beside the document", c, beside)
		}
	}
}

// TestOwnTextsAreNotPassedOn: what the daemon typed and what was said to it is no part of the conversation.
func TestOwnTextsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	r := assembler(t, lineStore{}, "")
	path := transcripttest.File(t, transcripttest.User("some work")+transcripttest.Text("m1", "an answer")+
		transcripttest.User("["+r.h.Ref+"] Write the document.")+transcripttest.Text("m2", "It is written."))
	r.agent.TranscriptPath = &path
	got := mustAssemble(t, r, "## What Was Done\nAll.\n")
	if text := string(got.Context); !strings.Contains(text, "> an answer") || strings.Contains(text, r.h.Ref) || strings.Contains(text, "It is written") || len(got.Record.Messages) != 2 {
		t.Errorf("%d messages:\n%s", len(got.Record.Messages), text)
	}
}

// TestRequirementsOfRoles: what the roles of the successors require and the handoff lacks is named in one warning for each role. A heading, a file
// in the working directory or a decision of the line meets a requirement. The user may edit the file of requirements; while that is invalid,
// those that are shipped hold.
func TestRequirementsOfRoles(t *testing.T) {
	t.Parallel()
	const all = "The role developer requires Current Story, Architecture Decisions, Code Patterns, and"
	const plain = "## What Was Done\nAll.\n"
	for name, c := range map[string]struct {
		document, file, edited string
		off                    bool
		heirs                  []string
		valid                  bool
		warns                  []string
	}{
		"nothing":   {document: plain, heirs: []string{"developer-con-1"}, warns: []string{all}},
		"headings":  {document: plain + "\n## Current Story\nA\n\n## Architecture Decisions\nB\n\n## Code Patterns\nC\n", heirs: []string{"developer-con-1"}, valid: true},
		"a file":    {document: plain, file: "docs/current-story.md", heirs: []string{"developer-con-1"}, warns: []string{"requires Architecture Decisions, Code Patterns, and"}},
		"two roles": {document: plain, heirs: []string{"developer-con-1", "tester-kit-1", "developer-ada-2"}, warns: []string{all, "The role tester requires "}},
		"no role":   {document: plain, heirs: []string{"writer-kim-1"}, valid: true},
		"off":       {document: plain, off: true, heirs: []string{"developer-con-1"}},
		"edited":    {document: plain, edited: "roles:\n  dev: [house_rules]\naliases:\n  developer: dev\n", heirs: []string{"developer-con-1"}, warns: []string{"requires House Rules, and"}},
		"invalid":   {document: plain, edited: "roles: [\n", heirs: []string{"developer-con-1"}, warns: []string{"could not be read", all}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := assembler(t, lineStore{}, transcripttest.File(t, transcripttest.User("some work")))
			r.settings.ValidateContext = !c.off
			for _, slug := range c.heirs {
				r.h.Heirs = append(r.h.Heirs, daemon.HandoffHeir{Heir: daemon.Heir{Persona: slug}})
			}
			for path, text := range map[string]string{filepath.Join(r.agent.Cwd, c.file): c.file, r.d.Data.Requirements(): c.edited} {
				if text == "" {
					continue
				}
				must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
			}
			got := mustAssemble(t, r, c.document)
			if got.Validated != c.valid || len(got.Warnings) != len(c.warns) || slices.ContainsFunc(c.warns, func(w string) bool { return warned(&got, w) == "" }) {
				t.Errorf("validated %t, warnings %q; want %t, %q", got.Validated, got.Warnings, c.valid, c.warns)
			}
		})
	}
}

// TestChoicesOfTheSession: a successor begins with the model, the permission mode and the thinking level that the session had last, and is
// given its open todos. A mode that may allow more than that of the launch is not passed on, and a warning says so.
func TestChoicesOfTheSession(t *testing.T) {
	t.Parallel()
	line := func(text string) string { return text + "\n" }
	begun := line(`{"type":"user","permissionMode":"default","message":{"role":"user","content":"begin"}}`)
	chosen := line(`{"type":"user","message":{"role":"user","content":"<local-command-stdout>Set model to haiku</local-command-stdout>"}}`) +
		line(`{"type":"user","permissionMode":"MODE","message":{"role":"user","content":"go on"}}`) +
		line(`{"type":"assistant","effort":"high","message":{"role":"assistant","model":"claude-haiku-5-5","content":[]}}`) +
		line(`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"Sweep"}}}`)
	for mode, wide := range map[string]bool{"plan": false, "bypassPermissions": true} {
		r := assembler(t, lineStore{}, transcripttest.File(t, begun+strings.ReplaceAll(chosen, "MODE", mode)))
		got := mustAssemble(t, r, "## What Was Done\nAll.\n")
		keepChoices(r, &got)
		want := map[bool]string{false: mode}[wide]
		if r.agent.Model != "claude-haiku-5-5" || r.agent.PermissionMode != want || r.agent.Effort != "high" || (warned(&got, mode) != "") != wide {
			t.Errorf("%s: model %s, mode %q, effort %q, warnings %q", mode, r.agent.Model, r.agent.PermissionMode, r.agent.Effort, got.Warnings)
		}
		if !slices.Equal(got.Record.Todos, []data.Todo{{Text: "Sweep", Status: "pending"}}) || !strings.Contains(string(got.Context), "- Sweep") {
			t.Errorf("todos %+v", got.Record.Todos)
		}
	}
}

// TestBadTranscriptIsAWarning: whatever state a transcript is in, the document is passed on, and a warning says what is not. So is a document
// that names a file which is not there.
func TestBadTranscriptIsAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make    func(path string) error
		warning string
		heard   int
	}{
		"gone":    {os.Remove, "no such file", 0},
		"a FIFO":  {func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "not a regular file", 0},
		"garbage": {func(path string) error { return os.WriteFile(path, []byte("\x00\x01garbage"), 0o600) }, "1 line of the transcript could not be read", 0},
		"truncated": {func(path string) error {
			return os.WriteFile(path, []byte(transcripttest.User("some work")+`{"type":"us`), 0o600)
		}, "1 line of the transcript could not be read", 1},
	} {
		path := transcripttest.File(t, transcripttest.User("some work"))
		must(t, c.make(path))
		r := assembler(t, lineStore{}, path)
		got := mustAssemble(t, r, "## What Was Done\n- Wrote ghost.go.\n")
		if warned(&got, c.warning) == "" || warned(&got, "names ghost.go, which is not in the working directory") == "" || len(got.Record.Messages) != c.heard || got.Structured == nil {
			t.Errorf("%s: %d messages, warnings %q", name, len(got.Record.Messages), got.Warnings)
		}
	}
}

// TestBasicContext: if the assembly fails, the successor gets the document all the same. The operator is told why, in an alert. A document
// without the headings that were asked for is told of as well.
func TestBasicContext(t *testing.T) {
	t.Parallel()
	r := assembler(t, lineStore{}, "")
	got := basicContext(r, goodDocument, errors.New("the disk is on fire."))
	holds(t, "the context", string(got.Context), "From: con\n", "To: con\n", "/d/h.md\n")
	if warned(&got, "Fallback handoff used: the disk is on fire") == "" || got.Validated || got.Structured == nil || got.Record.Context != string(got.Context) || len(got.Record.Decisions) != 1 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		degraded, fields bool
		want             []event.Type
	}{
		{false, true, []event.Type{event.HandoffCreated}},
		{true, true, []event.Type{event.HandoffCreated, event.HandoffFallbackUsed}},
		{false, false, []event.Type{event.HandoffCreated, event.HandoffExtractionFailed}},
	} {
		if r.h.Degraded = c.degraded; !c.fields {
			got.Structured = nil
		}
		var types []event.Type
		for _, e := range recordEvents(r, &got) {
			if types = append(types, e.Type); e.Alert != (e.Type == event.HandoffFallbackUsed) || !strings.Contains(string(e.Payload), `"handoff_id":3`) {
				t.Errorf("%s: alert %t, %s", e.Type, e.Alert, e.Payload)
			}
		}
		equal(t, "events", types, c.want)
	}
}

// TestHandoffIsLoggedWithStableKeys: scripts look for these log lines, so each has the same keys every time. An open handoff has taken as long as
// its assembly, an ended one as long as all of it.
func TestHandoffIsLoggedWithStableKeys(t *testing.T) {
	t.Parallel()
	r := assembler(t, lineStore{}, "")
	var log bytes.Buffer
	r.d.Log = slog.New(slog.NewJSONHandler(&log, nil))
	r.h.Metrics = daemon.Metrics{DurationMS: 1.5, TotalMS: 70, ContextSizeBytes: 9, MessagesTransferred: 2, DecisionsTransferred: 3}
	for phase, took := range map[daemon.Phase]float64{daemon.Recorded: 1.5, daemon.Failed: 70} {
		log.Reset()
		r.h.Phase = phase
		r.d.logHandoff(r.h, "handoff_failed", slog.LevelWarn, "document_missing")
		var got map[string]any
		must(t, json.Unmarshal(log.Bytes(), &got))
		delete(got, "time")
		want := map[string]any{
			"level": "WARN", "msg": "handoff_failed", "handoff_id": 3.0, "source_agent": "con", "target_agent": "con", "duration_ms": took, "assembly_ms": 1.5,
			"context_size": 9.0, "messages_transferred": 2.0, "decisions_transferred": 3.0, "context_validated": false, "error": "document_missing",
		}
		equal(t, "logged", fmt.Sprint(got), fmt.Sprint(want))
	}
}
