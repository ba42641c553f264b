//go:build e2e

package stories

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestClaudeHandsOver is the main job with the real CLI, in the permission mode in which it asks for everything:
// first the plain way, then with everything that may come between. In the end its successor is in trouble.
func TestClaudeHandsOver(t *testing.T) {
	t.Parallel()
	relay(t, leg{"idle", handsOverIdle}, leg{"no document", handsOverAtTheSecondTime}, leg{"clear", handsOverCleared},
		leg{"restart", handsOverToAnotherDaemon}, leg{"trouble", isInTrouble})
}

// TestClaudeHandsOverWhileBusy is the same with an agent that is busy: in a turn or a dialog when the handoff is
// requested, or given more work by a person while it writes.
func TestClaudeHandsOverWhileBusy(t *testing.T) {
	t.Parallel()
	relay(t, leg{"turn", handsOverAfterItsTurn}, leg{"dialog, yes", handsOverAfterADialog(tmux.Enter)},
		leg{"dialog, esc", handsOverAfterADialog(tmux.Escape)}, // no hook reports this
		leg{"queued, put into the turn", handsOverAfterMore("more, put into the turn", claudeWrites)},
		leg{"queued, a turn of its own", handsOverAfterMore("more, a turn of its own", claudeHasWritten)})
}

// handsOverIdle hands over a new, idle agent.
func handsOverIdle(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	argv := r.launchFile(a.ID).Argv
	first := r.tap.of(a.ID, hooks.SessionStart)
	if len(first) != 1 || first[0].p.Source != "startup" || !slices.Contains(argv, first[0].in.SessionID) || *a.SessionID != first[0].in.SessionID {
		t.Errorf("registered by %+v as session %s, launched with %q", first, *a.SessionID, argv)
	}
	if pane := r.pane(a.ID); *a.Pane != pane.Pane || first[0].in.PID != pane.PID {
		t.Errorf("registered by process %d in pane %s, the pane is %+v", first[0].in.PID, *a.Pane, pane)
	}
	r.talk(a.ID, "hello")

	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantTakenOver(h)
	r.wantNoDialog(a.ID)
	dl := r.deliveries(a.ID)[1]
	if dl.Kind != daemon.KindInstruction || *dl.Verdict != daemon.Submitted || !strings.HasPrefix(dl.Evidence, "UserPromptSubmit") {
		t.Errorf("instruction %+v, want it confirmed by UserPromptSubmit", dl)
	}
	prompts := r.tap.of(a.ID, hooks.UserPromptSubmit)
	if len(prompts) != 2 || prompts[1].p.Prompt != dl.Text || !strings.Contains(dl.Text, h.Ref) {
		t.Errorf("prompts %+v, want the second to be %q with %s", prompts, dl.Text, h.Ref)
	}
	if got := r.readFile(h.FilePath); got != document(dl.Text) || h.RecordedAt == nil {
		t.Errorf("document %q, recorded %v", got, h.RecordedAt)
	}
	if starts := r.tap.of(*h.SuccessorID, hooks.SessionStart); len(starts) != 1 || starts[0].in.SessionID == *a.SessionID {
		t.Errorf("successor registered by %+v, want one session of its own", starts)
	}
	return *h.SuccessorID
}

// handsOverAfterItsTurn: the daemon gives a new agent in a turn the instruction as the answer to its Stop, and types
// nothing.
func handsOverAfterItsTurn(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(claudetest.Ask("count to ten", claudetest.Reply{Text: "One, two, three.", Hold: true}, obeys))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "count to ten").ID, daemon.Submitted)
	r.awaitModelAsked("count to ten")
	id := r.requestHandoff(a.ID)
	ref := r.awaitNote(id, "the agent is in a turn").Ref
	r.wantStays(time.Second, "something was typed into a turn", func() bool {
		return r.untyped(a.ID) && !strings.Contains(r.shown(a.ID), ref)
	})
	r.api.Release()
	h := r.awaitPhase(id, daemon.Completed)
	r.wantTakenOver(h)
	r.wantNoDialog(a.ID)
	if got := r.heard(a.ID, ref); len(got) != 1 || !strings.HasPrefix(got[0], "Stop hook feedback:") {
		t.Errorf("the model heard %q, want the instruction as Stop hook feedback", got)
	}
	if n := len(r.tap.of(a.ID, hooks.UserPromptSubmit)); n != 1 {
		t.Errorf("%d prompts were submitted, want the person's alone", n)
	}
	return *h.SuccessorID
}

// handsOverAtTheSecondTime: the model stops without writing the document. Its session stays as it is until a retry
// asks once more.
func handsOverAtTheSecondTime(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(claudetest.WritesNothing())
	had := len(r.deliveries(a.ID))
	first := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
	asked := len(r.requests(a.ID))
	r.wantStays(1500*time.Millisecond, "the agent was told more", func() bool { return len(r.requests(a.ID)) == asked })
	if got := r.kindsSince(a.ID, had); !slices.Equal(got, []daemon.DeliveryKind{daemon.KindInstruction}) {
		t.Errorf("the agent was told %v, want one instruction", got)
	}

	r.api.SetScript(obeys)
	r.retryHandoff(first.ID)
	h := r.awaitPhase(first.ID, daemon.Completed)
	r.wantTakenOver(h)
	if got := r.kindsSince(a.ID, had); !slices.Equal(got, []daemon.DeliveryKind{daemon.KindInstruction, daemon.KindInstruction, daemon.KindExit}) {
		t.Errorf("the agent was told %v, want two instructions and the exit command", got)
	}
	if n := len(r.heard(a.ID, first.Ref)); n != 1 || h.Ref == first.Ref {
		t.Errorf("the model heard of %s %d times, and then of %s", first.Ref, n, h.Ref)
	}
	return *h.SuccessorID
}

// handsOverCleared: a person's /clear begins another session in the pane. It is still the same agent.
func handsOverCleared(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.talk(a.ID, "hello")
	r.personTypes(a.ID, "/clear", tmux.Enter)
	now := r.awaitAgent(a.ID, "another session", func(now daemon.Agent) bool { return *now.SessionID != *a.SessionID })
	if now.EndedAt != nil || *now.TranscriptPath == *a.TranscriptPath || len(r.agentEvents(a.ID, "agent_session_changed")) != 1 {
		t.Errorf("agent %+v after /clear, it was %+v", now, a)
	}
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantTakenOver(h)
	r.wantNoDialog(a.ID)
	return *h.SuccessorID
}

// handsOverAfterADialog: only a person answers a question of the CLI. The handoff waits for the answer and touches
// nothing.
func handsOverAfterADialog(answer tmux.Key) func(*testing.T, *claudeRig, daemon.Agent) (next int64) {
	return func(t *testing.T, r *claudeRig, a daemon.Agent) int64 {
		r.api.SetScript(claudetest.Ask("make the file", claudetest.Bash("touch /nowhere/x", false), obeys))
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "make the file").ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Waiting)
		r.awaitShown(a.ID, "Do you want to proceed?")
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, "a dialog is open")
		r.wantStays(1500*time.Millisecond, "something was typed into a dialog", func() bool {
			return r.untyped(a.ID) && strings.Contains(r.shown(a.ID), "Do you want to proceed?")
		})
		if err := r.tmux.Keys(t.Context(), r.pane(a.ID).Ref, answer); err != nil {
			t.Fatal(err)
		}
		h := r.awaitPhase(id, daemon.Completed)
		r.wantTakenOver(h)
		return *h.SuccessorID
	}
}

// handsOverToAnotherDaemon: the daemon stops while the agent writes its document. The spooled hooks are enough for
// the next daemon to go on.
func handsOverToAnotherDaemon(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	had := len(r.tap.of(a.ID, hooks.Stop))
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		reply := obeys(req)
		if reply.Tool == "Write" {
			reply.Text, reply.Hold = "I write it.", true
		}
		return reply
	})
	id := r.requestHandoff(a.ID)
	h := r.awaitPhase(id, daemon.AwaitingDocument)
	r.awaitModelAsked(h.Ref)
	r.halt()
	r.api.Release()
	r.await("a Stop in the spool", func() (bool, string) {
		files, _ := filepath.Glob(filepath.Join(r.dir.Spool(), "*"))
		return slices.ContainsFunc(files, func(file string) bool {
			b, err := os.ReadFile(file)
			return err == nil && bytes.Contains(b, []byte(`"event":"Stop"`))
		}), strings.Join(files, "\n")
	})
	r.start()
	done := r.awaitPhase(id, daemon.Completed)
	r.wantTakenOver(done)
	if stops := r.tap.of(a.ID, hooks.Stop)[had:]; len(stops) != 1 || !stops[0].in.Replayed || !stops[0].Applied {
		t.Errorf("stops %+v, want the one from the spool", stops)
	}
	moves, err := r.client.Transitions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(moves, func(m daemon.Transition) bool {
		return m.To == daemon.Verifying && strings.HasPrefix(m.Cause, "Stop, hook")
	}) {
		t.Errorf("moves %+v, want verifying by the Stop", moves)
	}
	return *done.SuccessorID
}

// TestClaudeOfAPersonHandsOverToOurServer: A person starts the CLI on their own tmux server. It registers by the
// hooks that are installed in their settings. It is given a persona, and hands over to a successor on our server.
func TestClaudeOfAPersonHandsOverToOurServer(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	// The successor inherits the mode.
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{r.cli}}}
	r.installHooks()
	r.start()
	person := r.startForeign(append([]string{r.cli}, manual...)...)
	var a daemon.Agent
	r.await("the agent's registration", func() (bool, string) {
		list, err := r.client.Agents(t.Context(), allRows)
		if err != nil || len(list) == 0 {
			return false, "no agent"
		}
		a = list[0]
		return a.RegisteredAt != nil, ""
	})
	if a.Pane == nil || a.PaneSocket != person || a.Persona != nil || a.SkillInjectedAt != nil {
		t.Errorf("agent %+v, want a pane on %s and no persona", a, person)
	}
	r.assignPersona(a.ID, con)
	a = r.awaitAgent(a.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil })
	r.await("the end of the turn with the skill", func() (bool, string) { return len(r.tap.of(a.ID, hooks.Stop)) == 1, r.tap.String() })

	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantTakenOver(h)
	r.wantKinds(a.ID, daemon.KindSkill, daemon.KindInstruction, daemon.KindExit)
	for _, asked := range r.tap.of(a.ID, hooks.PermissionRequest) {
		if !bytes.Contains(asked.Output, []byte(`"allow"`)) {
			t.Errorf("request %s %s was not answered with yes", asked.p.ToolName, asked.p.ToolInput)
		}
	}
	if waited := r.agentEvents(a.ID, "agent_waiting"); len(waited) > 0 {
		t.Errorf("the agent waited %d times for a person", len(waited))
	}
	next := r.getAgent(*h.SuccessorID)
	if next.PaneSocket != r.dir.TmuxSocket() || !strings.Contains(strings.Join(r.launchFile(next.ID).Argv, " "), strings.Join(manual, " ")) {
		t.Errorf("successor %+v launched with %q, want our server and the inherited mode", next, r.launchFile(next.ID).Argv)
	}
	for _, event := range []string{hooks.SessionStart, hooks.UserPromptSubmit, hooks.Stop} {
		if got := r.tap.of(next.ID, event); len(got) != 1 || got[0].in.LaunchHash == nil {
			t.Errorf("successor's hooks of %s: %+v, want one, of our own settings", event, got)
		}
	}
}

// installHooks puts our hooks into the person's settings.
func (r *claudeRig) installHooks() {
	r.t.Helper()
	path := filepath.Join(r.home.ConfigDir, "settings.json")
	before, err := hooks.ReadSettings(path)
	if err != nil {
		r.t.Fatal(err)
	}
	plan, err := hooks.PlanInstall(before, hooks.InstallOptions{Bin: r.cfg.HookBinary, DataDir: r.root, Events: hooks.KnownEvents(claudetest.Version)})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := hooks.Apply(plan.For(path, time.Now())); err != nil {
		r.t.Fatal(err)
	}
}

// startForeign runs a command as a person would, on a tmux server that is not ours.
func (r *claudeRig) startForeign(argv ...string) (socket string) {
	r.t.Helper()
	socket = filepath.Join(filepath.Dir(r.root), "person")
	run := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = r.cfg.Environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			r.t.Errorf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run(append([]string{"new-session", "-d", "-x", "120", "-y", "40", "-c", r.work, "--"}, argv...)...)
	run("new-window", "-d", "--", "tail", "-f", "/dev/null") // The server must outlive the agent, as a person's server does.
	pid, err := strconv.Atoi(run("display-message", "-p", "#{pid}"))
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := tmux.FindProcess(pid)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		run("kill-server")
		r.await("the end of the person's tmux server", func() (bool, string) { return !server.Alive(), socket })
	})
	return socket
}
