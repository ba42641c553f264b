//go:build e2e

package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

// TestClaudeForkWritesTheDocument: A fork of the session writes the document, or is cancelled. The handoff is requested by the
// API, by a person who types the command /handoff, or by the model. Without hooks install an agent that the daemon has started knows the
// command, and nothing is written into the person's settings.
func TestClaudeForkWritesTheDocument(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	atExit := r.readAtExit()
	r.start()
	r.relay(t, leg{"written", func(t *testing.T, r *claudeRig, a daemon.Agent) int64 { return handsOverByFork(t, r, a, atExit) }},
		leg{"cancelled", cancelsFork}, leg{"cancelled by Esc", cancelsByEsc}, leg{"by a person", handsOverByCommand}, leg{"by the model", handsOverByItself})
	for _, path := range []string{"commands", "skills"} {
		if _, err := os.Stat(filepath.Join(r.home.ConfigDir, path)); !os.IsNotExist(err) {
			t.Errorf("the person's settings have %s: %v", path, err)
		}
	}
}

// handsOverByFork hands over a new agent. The fork begins with everything that the provider has cached of the
// session. It can only answer, and the session itself does not notice it.
func handsOverByFork(t *testing.T, r *claudeRig, a daemon.Agent, atExit <-chan string) (next int64) {
	r.talk(a.ID, "hello")
	r.awaitState(a.ID, daemon.Idle)
	// The CLI has not written its answer to the transcript yet, but there is already something to hand off.
	requestGenerate(r.rig, a.ID, "")
	if _, err := r.client.CancelHandoff(t.Context(), a.ID, 0); err != nil {
		t.Fatal(err)
	}
	before := r.settledTranscript(a.ID)
	said, forked := r.requests(a.ID), len(r.forkRequests())
	touched := filepath.Join(r.work, "touched")
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		reply := obeys(req)
		switch {
		case !slices.ContainsFunc(req.UserTexts(), isFork):
			return reply
		case !answered(req):
			call := claudetest.Bash("touch "+touched, false)
			call.Text = "I look first."
			return call
		}
		first, second, _ := strings.Cut(reply.Text, "\n## Open Questions")
		return claudetest.Reply{Text: first, More: []string{"## Open Questions" + second}}
	})
	h := r.awaitPhase(requestGenerate(r.rig, a.ID, "Focus on the parser,\nnot on the printer."), daemon.Completed)
	r.wantFollowed(h)
	r.wantNoDialog(a.ID)
	r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
	if got := <-atExit; got != before {
		t.Errorf("transcript when the agent was asked to exit\n got %s\nwant %s", got, before)
	}
	if n := len(r.requests(a.ID)); n != len(said) {
		t.Errorf("the session itself asked the model %d times, want %d", n, len(said))
	}
	forks := r.forkRequests()[forked:]
	if len(forks) != 2 {
		t.Fatalf("%d requests of forks, want two", len(forks))
	}
	wantPrefix(t, forks[0], said[len(said)-1])
	if asked := strings.Join(forks[0].NewTexts(), "\n"); !strings.Contains(asked, h.Ref) || !strings.Contains(asked, "Focus on this:\n\n"+h.Focus) {
		t.Errorf("the fork was asked %q, want %s and the focus", asked, h.Ref)
	}
	if _, err := os.Stat(touched); !os.IsNotExist(err) {
		t.Errorf("the fork's tool call was not refused: %v", err)
	}
	if got := strings.Join(results(forks[1]), "\n"); !strings.Contains(got, "use no tools") {
		t.Errorf("the fork's tool call returned %q, want a refusal that says why", got)
	}
	want := document(strings.Join(forks[0].NewTexts(), "\n"))
	if got := r.readFile(h.FilePath); got != want || h.Structured == nil || !h.ContextValidated {
		t.Errorf("document %q, want %q; %+v", got, want, h)
	}
	r.wantHeard(contextOf(r.rig, h), heard{a.Name, "user", "hello"}, heard{a.Name, "assistant", "OK"})
	return *h.SuccessorID
}

// readAtExit reads the transcript of the first agent that is asked to exit, at that moment.
func (r *claudeRig) readAtExit() <-chan string {
	read := make(chan string, 1)
	r.bendWith(&bend{paste: func(_ context.Context, text string, do func() error) error {
		if text == claude.ExitText {
			b, err := os.ReadFile(*r.getAgent(1).TranscriptPath)
			select {
			case read <- string(b) + errorText(err):
			default: // It is another agent.
			}
		}
		return do()
	}})
	return read
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// settledTranscript is the agent's transcript after the CLI has written all of its first turn. The CLI goes on
// writing for a moment after the Stop, in no fixed order.
func (r *claudeRig) settledTranscript(agentID int64) (text string) {
	r.t.Helper()
	path, since := *r.getAgent(agentID).TranscriptPath, time.Now()
	r.await("the end of what is written of the turn", func() (bool, string) {
		if now, _ := os.ReadFile(path); string(now) != text { // The CLI may create the file only after the Stop.
			text, since = string(now), time.Now()
		}
		written := strings.Contains(text, `"turn_duration"`) && strings.Contains(text, `"type":"last-prompt"`)
		return written && time.Since(since) > 300*time.Millisecond, text
	})
	return text
}

// forkRequests lists what forks have asked of the model, oldest first.
func (r *claudeRig) forkRequests() []claudetest.Request {
	return slices.DeleteFunc(r.api.Requests(), func(req claudetest.Request) bool {
		return !slices.ContainsFunc(req.UserTexts(), isFork)
	})
}

// wantPrefix fails unless the fork's request begins as the session's does: the same model, tools, conversation and
// system prompt. Only the first block of the system prompt may differ: it names the kind of client.
func wantPrefix(t *testing.T, fork, session claudetest.Request) {
	t.Helper()
	type prefix struct {
		Model  string            `json:"model"`
		Tools  json.RawMessage   `json:"tools"`
		System []json.RawMessage `json:"system"`
	}
	var f, s prefix
	must(t, errors.Join(json.Unmarshal(fork.Raw, &f), json.Unmarshal(session.Raw, &s)))
	if f.Model != s.Model || !bytes.Equal(f.Tools, s.Tools) || len(fork.Tools) == 0 {
		t.Errorf("fork with model %s and tools %s\nsession with model %s and tools %s", f.Model, f.Tools, s.Model, s.Tools)
	}
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	if len(s.System) < 2 || len(f.System) != len(s.System) || !slices.EqualFunc(f.System[1:], s.System[1:], same) {
		t.Errorf("system prompt of the fork\n%s\nof the session\n%s", f.System, s.System)
	}
	if got, want := fork.UserTexts(), session.UserTexts(); len(got) <= len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("the fork has heard\n%q\nthe session\n%q", got, want)
	}
}

// cancelsFork: a cancel ends the fork at once. The fork leaves nothing behind, and the session goes on as it was.
func cancelsFork(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		reply := obeys(req)
		reply.Hold = slices.ContainsFunc(req.UserTexts(), isFork)
		return reply
	})
	r.settledTranscript(a.ID)
	before := r.sessionFiles()
	forked := len(r.forkRequests())
	id := requestGenerate(r.rig, a.ID, "")
	r.await("a fork's request", func() (bool, string) { return len(r.forkRequests()) > forked, r.tap.String() })
	pids := r.forkProcesses()
	if len(pids) != 1 {
		t.Fatalf("processes %v, want one fork", pids)
	}
	cancelHandoff(r.rig, a.ID, daemon.Generating)
	wantEndedWithin(r.rig, time.Second, pids...)
	if after := r.sessionFiles(); !slices.Equal(after, before) {
		t.Errorf("files\n got %q\nwant %q", after, before)
	}
	if h := r.getHandoff(id); h.Status != daemon.StatusCancelled || h.RecordedAt != nil {
		t.Errorf("handoff %+v, want it cancelled", h)
	}
	r.wantKinds(a.ID, daemon.KindPrompt)
	return a.ID
}

// forkProcesses lists the running forks of this home.
func (r *claudeRig) forkProcesses() (pids []int) {
	r.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(r.t, err)
	for _, file := range files {
		argv, _ := os.ReadFile(file) // The process may have ended.
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if !bytes.Contains(argv, []byte("\x00--fork-session\x00")) || !bytes.Contains(environ, []byte("CLAUDE_CONFIG_DIR="+r.home.ConfigDir+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(r.t, err)
		pids = append(pids, pid)
	}
	return pids
}

// sessionFiles lists what the CLI keeps of its sessions: the transcripts with their contents, and the names in the
// registry.
func (r *claudeRig) sessionFiles() (out []string) {
	r.t.Helper()
	for _, dir := range []string{"projects", "sessions"} {
		err := filepath.WalkDir(filepath.Join(r.home.ConfigDir, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".key" { // A fork that is killed late leaves its key.
				return err
			}
			if dir == "projects" {
				path += ": " + r.readFile(path)
			}
			out = append(out, path)
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return out
}
