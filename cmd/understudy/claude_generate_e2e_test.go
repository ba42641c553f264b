//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestClaudeGenerate: a fork of the session writes the document. It begins with all that the provider
// has cached of the session, can do nothing but answer, and the session itself does not notice.
func TestClaudeGenerate(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, nil)
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
	atExit := r.readAtExit()
	r.start()
	a := r.agent(con)
	r.talk(a.ID, "hello")
	before := r.settledTranscript(a.ID)
	said := r.requests(a.ID)

	h := r.awaitPhase(r.generate(a.ID, "Focus on the parser,\nnot on the printer."), daemon.Completed)
	r.followed(h)
	r.wantNoDialog(a.ID)
	r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
	if got := <-atExit; got != before {
		t.Errorf("transcript when the agent was asked to exit\n got %s\nwant %s", got, before)
	}
	if n := len(r.requests(a.ID)); n != len(said) {
		t.Errorf("the session itself asked the model %d times, want %d", n, len(said))
	}
	forks := r.forkRequests()
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
	if got := r.read(h.FilePath); got != want || h.Structured == nil || !h.ContextValidated {
		t.Errorf("document %q, want %q; %+v", got, want, h)
	}
	c := r.contextOf(h)
	r.wantHeard(c, heard{a.Name, "user", "hello"}, heard{a.Name, "assistant", "OK"})
}

// readAtExit has the transcript of the first agent that is asked to exit read at that moment.
func (r *claudeRig) readAtExit() <-chan string {
	read := make(chan string, 1)
	around := r.cfg.Around
	r.cfg.Around = func(cfg daemon.Config) daemon.Config {
		cfg = around(cfg)
		open := cfg.Terminal
		cfg.Terminal = func(socket string) (daemon.Terminal, error) {
			term, err := open(socket)
			return &bentTerminal{Terminal: term, b: &bend{paste: func(_ context.Context, text string, do func() error) error {
				if text == runtimes.ExitText {
					b, err := os.ReadFile(*r.getAgent(1).TranscriptPath)
					read <- string(b) + errorText(err)
				}
				return do()
			}}}, err
		}
		return cfg
	}
	return read
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// settledTranscript is the agent's transcript once the CLI has written down all of its first turn,
// which it goes on with for a moment after the Stop, in no fixed order.
func (r *claudeRig) settledTranscript(agentID int64) (text string) {
	r.t.Helper()
	path, since := *r.getAgent(agentID).TranscriptPath, time.Now()
	r.await("the end of what is written of the turn", func() (bool, string) {
		if now, _ := os.ReadFile(path); string(now) != text { // it is made a moment after the Stop as well
			text, since = string(now), time.Now()
		}
		written := strings.Contains(text, `"turn_duration"`) && strings.Contains(text, `"type":"last-prompt"`)
		return written && time.Since(since) > 300*time.Millisecond, text
	})
	return text
}

// forkRequests are what forks have asked of the model, oldest first.
func (r *claudeRig) forkRequests() []claudetest.Request {
	return slices.DeleteFunc(r.api.Requests(), func(req claudetest.Request) bool {
		return !slices.ContainsFunc(req.UserTexts(), isFork)
	})
}

// wantPrefix fails unless the fork's request begins as that of the session does: the same model, tools
// and system prompt, but for the system prompt's first block, which names the kind of client, and the
// same conversation.
func wantPrefix(t *testing.T, fork, session claudetest.Request) {
	t.Helper()
	type prefix struct {
		Model  string            `json:"model"`
		Tools  json.RawMessage   `json:"tools"`
		System []json.RawMessage `json:"system"`
	}
	var f, s prefix
	if err := errors.Join(json.Unmarshal(fork.Raw, &f), json.Unmarshal(session.Raw, &s)); err != nil {
		t.Fatal(err)
	}
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

// TestClaudeGenerateCancelled: a cancel ends the fork at once. Nothing of it stays behind, and the
// session goes on as it was.
func TestClaudeGenerateCancelled(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, func(req claudetest.Request) claudetest.Reply {
		reply := obeys(req)
		reply.Hold = slices.ContainsFunc(req.UserTexts(), isFork)
		return reply
	})
	r.start()
	a := r.agent(con)
	r.talk(a.ID, "hello")
	r.awaitState(a.ID, daemon.Idle)
	r.generate(a.ID, "") // the CLI has not written down its answer yet, and yet there is something to hand off
	if _, err := r.client.CancelHandoff(t.Context(), a.ID, 0); err != nil {
		t.Fatal(err)
	}
	r.settledTranscript(a.ID)
	before := r.sessionFiles()
	id := r.generate(a.ID, "")
	r.asked("Answer with the handoff document itself")
	pids := r.forkProcesses()
	if len(pids) != 1 {
		t.Fatalf("processes %v, want one fork", pids)
	}
	r.cancel(a.ID, daemon.Generating)
	r.wantGoneSoon(time.Second, pids...)
	if after := r.sessionFiles(); !slices.Equal(after, before) {
		t.Errorf("files\n got %q\nwant %q", after, before)
	}
	if h := r.getHandoff(id); h.Status != daemon.StatusCancelled || h.RecordedAt != nil {
		t.Errorf("handoff %+v, want it cancelled", h)
	}
	r.wantKinds(a.ID, daemon.KindMessage)

	r.api.SetScript(obeys)
	r.talk(a.ID, "still there?")
	r.followed(r.awaitPhase(r.generate(a.ID, ""), daemon.Completed))
}

// forkProcesses are the forks of this home that run.
func (r *claudeRig) forkProcesses() (pids []int) {
	r.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range files {
		argv, _ := os.ReadFile(file) // it may have ended
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if !bytes.Contains(argv, []byte("\x00--fork-session\x00")) || !bytes.Contains(environ, []byte("CLAUDE_CONFIG_DIR="+r.home.ConfigDir+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			r.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// sessionFiles are what the CLI keeps of its sessions: the transcripts with what they hold, and the
// names in the registry.
func (r *claudeRig) sessionFiles() (out []string) {
	r.t.Helper()
	for _, dir := range []string{"projects", "sessions"} {
		err := filepath.WalkDir(filepath.Join(r.home.ConfigDir, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".key" { // a fork that is killed late enough leaves its key
				return err
			}
			if dir == "projects" {
				path += ": " + r.read(path)
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

// TestClaudeCommand: /handoff, given by a person at the pane, is answered by the daemon; the model does
// not hear of it. The model can run it as well.
func TestClaudeCommand(t *testing.T) {
	t.Parallel()
	const focus = `the parser's "tabs"; $(touch touched) and so on`
	t.Run("typed", func(t *testing.T) {
		t.Parallel()
		r := newClaudeRig(t, obeys)
		a := r.commanded()
		said := len(r.requests(a.ID))
		r.personTypes(a.ID, "/handoff "+focus, tmux.Enter)
		r.awaitShown(a.ID, "Handoff 1 started")
		h := r.wantCommanded(a.ID, focus)
		if n := len(r.requests(a.ID)); n != said {
			t.Errorf("the model was asked %d times, want %d", n, said)
		}
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
		r.wantHeard(r.contextOf(h), heard{a.Name, "user", "hello"}, heard{a.Name, "assistant", "OK"})
	})
	t.Run("by the model", func(t *testing.T) {
		t.Parallel()
		r := newClaudeRig(t, claudetest.Ask("hand over when it is enough", claudetest.Skill("handoff", focus), obeys))
		a := r.commanded()
		r.talk(a.ID, "hand over when it is enough")
		r.wantCommanded(a.ID, focus)
		if got := r.heard(a.ID, "Tell the user in one sentence"); len(got) != 1 || !strings.Contains(got[0], "handoff 1 of agent 1 initiated") {
			t.Errorf("the model heard %q, want what the command said", got)
		}
		if got := r.tap.of(a.ID, hooks.UserPromptSubmit); len(got) != 2 {
			t.Errorf("%d prompts, want the two that were sent", len(got))
		}
	})
}

// commanded is an agent with something to hand off, in a home with the command /handoff.
func (r *claudeRig) commanded() daemon.Agent {
	r.t.Helper()
	env := map[string]string{"HOME": r.home.Dir, "CLAUDE_CONFIG_DIR": r.home.ConfigDir, "UNDERSTUDY_DATA": r.root}
	if code, stdout, stderr := r.inside(env, "", "hooks", "install"); code != exitDone {
		r.t.Fatalf("hooks install: exit code %d\n%s%s", code, stdout, stderr)
	}
	r.start()
	a := r.agent(con)
	r.talk(a.ID, "hello")
	return a
}

// wantCommanded waits for the end of the handoff that the command has started.
func (r *claudeRig) wantCommanded(agentID int64, focus string) daemon.Handoff {
	r.t.Helper()
	r.await("the handoff", func() (bool, string) { return len(r.handoffsOf(agentID)) == 1, fmt.Sprint(r.handoffsOf(agentID)) })
	h := r.awaitPhase(r.handoffsOf(agentID)[0].ID, daemon.Completed)
	r.followed(h)
	r.wantNoDialog(agentID)
	if h.Mode != daemon.ModeGenerate || h.Focus != focus {
		r.t.Errorf("handoff in mode %s with focus %q, want %s with %q", h.Mode, h.Focus, daemon.ModeGenerate, focus)
	}
	if n := len(r.forkRequests()); n != 1 {
		r.t.Errorf("%d requests of forks, want one", n)
	}
	if _, err := os.Stat(filepath.Join(r.work, "touched")); !os.IsNotExist(err) {
		r.t.Errorf("a shell has run what was typed: %v", err)
	}
	if list, err := r.client.Agents(r.t.Context(), allRows); err != nil || len(list) != 2 {
		r.t.Errorf("agents %+v (%v), want two: a fork is none", list, err)
	}
	return h
}
