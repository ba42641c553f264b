//go:build e2e

package stories

import (
	"bytes"
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
)

// handsOverByCommand: a person types the command. The fork begins with everything that the provider has cached of the
// session. It can only answer, and the session itself does not notice it.
func handsOverByCommand(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
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
	had := len(handoffsOf(r.rig, a.ID))
	r.personSubmits(a.ID, "/handoff "+quotedFocus)
	h := r.awaitPhase(r.awaitCommanded(a.ID, had), daemon.Completed)
	r.wantFollowed(h)
	if h.Mode != daemon.ModeGenerate || h.Focus != quotedFocus {
		t.Errorf("handoff in mode %s with focus %q, want %s with %q", h.Mode, h.Focus, daemon.ModeGenerate, quotedFocus)
	}
	wantNoFile(t, filepath.Join(a.Cwd, "by-a-shell"))
	if list, err := r.client.Agents(t.Context(), allRows); err != nil || list[0].ID != *h.SuccessorID || list[1].ID != a.ID {
		t.Errorf("agents %+v, %v, want no fork among them", list, err)
	}
	if n := len(r.requests(a.ID)); n != len(said) {
		t.Errorf("the session itself asked the model %d times, want %d", n, len(said))
	}
	forks := r.forkRequests()[forked:]
	if len(forks) != 2 {
		t.Fatalf("%d requests of forks, want two", len(forks))
	}
	wantPrefix(t, forks[0], said[len(said)-1])
	asked := strings.Join(forks[0].NewTexts(), "\n")
	if !strings.Contains(asked, h.Ref) || !strings.Contains(asked, "Focus on this:\n\n"+h.Focus) {
		t.Errorf("the fork was asked %q, want %s and the focus", asked, h.Ref)
	}
	wantNoFile(t, touched)
	if got := strings.Join(results(forks[1]), "\n"); !strings.Contains(got, "use no tools") {
		t.Errorf("the fork's tool call returned %q, want a refusal that says why", got)
	}
	if got, want := r.readFile(h.FilePath), document(asked); got != want || h.Structured == nil || !h.ContextValidated {
		t.Errorf("document %q, want %q; %+v", got, want, h)
	}
	messages := contextOf(r.rig, h).messages
	wantHeard(t, "context file", messages[len(messages)-2:], []heard{{a.Name, "user", byItself}, {a.Name, "assistant", "OK"}})
	if got := r.getAgent(*h.SuccessorID); got.Cwd != a.Cwd {
		t.Errorf("the successor works in %s, the agent worked in %s", got.Cwd, a.Cwd)
	}
	return *h.SuccessorID
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// settledFiles are the sessionFiles once the CLI has written all of the turn before. It goes on writing for a moment after the Stop, in
// no fixed order.
func (r *claudeRig) settledFiles() (files []string) {
	r.t.Helper()
	since := time.Now()
	r.await("the end of what is written of the turn", func() (bool, string) {
		if now := r.sessionFiles(); !slices.Equal(now, files) {
			files, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond, strings.Join(files, "\n")
	})
	return files
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

// holdForks has the model keep the answer to each fork.
func (r *claudeRig) holdForks(next claudetest.Script) {
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		reply := next(req)
		reply.Hold = slices.ContainsFunc(req.UserTexts(), isFork)
		return reply
	})
}

// awaitFork waits until a fork has asked the model, after so many requests of forks, and returns its process.
func (r *claudeRig) awaitFork(after int) []int {
	r.t.Helper()
	r.await("a fork's request", func() (bool, string) { return len(r.forkRequests()) > after, r.tap.String() })
	pids := r.forkProcesses()
	if len(pids) != 1 {
		r.t.Fatalf("processes %v, want one fork", pids)
	}
	return pids
}

// wantNoTrace fails unless a cancelled handoff has ended its fork and left the files of all sessions as they were.
func (r *claudeRig) wantNoTrace(id int64, files []string, pids []int) {
	r.t.Helper()
	wantEndedWithin(r.rig, time.Second, pids...)
	if now := r.sessionFiles(); !slices.Equal(now, files) {
		r.t.Errorf("files\n got %q\nwant %q", now, files)
	}
	if h := r.getHandoff(id); h.Status != daemon.StatusCancelled || h.RecordedAt != nil {
		r.t.Errorf("handoff %+v, want it cancelled", h)
	}
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
		pid := value(strconv.Atoi(filepath.Base(filepath.Dir(file))))(r.t)
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
		must(r.t, err)
	}
	return out
}
