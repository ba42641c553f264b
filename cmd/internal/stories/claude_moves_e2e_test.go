//go:build e2e

package stories

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// handsOverFromATree: the model moves its session into a work tree: directory, branch, diff, transcript and usage are those of the tree,
// and the successor works there. The daemon does not mistake the person's own status line, which is shown although ours is set, for a
// composer, a running turn or a dialog. Our MCP server knows which agent runs it, and hands it over.
func handsOverFromATree(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	tree := filepath.Join(r.work, ".claude", "worktrees", "x")
	mcp := func(tool string, input map[string]any) claudetest.Reply {
		return claudetest.Reply{Tool: "mcp__understudy__" + tool, Input: input}
	}
	r.api.SetScript(claudetest.Ask("go into a tree", claudetest.Reply{Tool: "EnterWorktree", Input: map[string]any{"name": "x"}},
		claudetest.Ask("who are you?", mcp("whoami", map[string]any{}),
			claudetest.Ask("it is enough", mcp("request_handoff", map[string]any{"reason": "told to"}), obeys))))
	r.showOddRows()
	r.talk(a.ID, "go into a tree")
	for _, row := range []string{`"context_window_size":1000000`, "❯\u00a0rm -rf", "Do you want to proceed?"} {
		r.awaitShown(a.ID, row)
	}
	r.talk(a.ID, "who are you?")
	r.awaitLearned(a.ID, fmt.Sprintf(`{"agent_id":%d,"context_percent":0.1,"generation":1,"name":"%s","persona":"%s","state":"working"}`, a.ID, a.Name, con))
	must(t, os.WriteFile(filepath.Join(tree, "made.txt"), []byte("here\n"), 0o600))
	now := r.awaitAgent(a.ID, "its place", func(now daemon.Agent) bool { return now.Branch == "worktree-x" })
	if now.Cwd != tree || now.StartCwd != r.work || !strings.Contains(*now.TranscriptPath, "worktrees-x") {
		t.Errorf("agent in %s, begun in %q, with transcript %s", now.Cwd, now.StartCwd, *now.TranscriptPath)
	}
	if len(r.agentEvents(a.ID, "agent_moved")) != 1 {
		t.Error("not told once that it moved")
	}
	diff, err := r.client.Diff(t.Context(), a.ID, agents.DiffRequest{Stat: true})
	if err != nil || diff.Directory != tree || len(diff.Files) != 1 || diff.Files[0].Path != "made.txt" {
		t.Errorf("diff %+v: %v", diff, err)
	}
	must(t, os.WriteFile(r.obstacle(), nil, 0o600)) // for the successor
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "it is enough").ID, daemon.Submitted)
	r.awaitLearned(a.ID, "Finish your turn; when it ends you will be asked for the document.")
	h := r.isBriefedSlowly(r.latestHandoff(a.ID).ID)
	r.wantTakenOver(h, "other") // SIGTERM leaves the tree, whatever is in it
	if h.Reason != "told to" || h.ContextPath == nil || !strings.Contains(r.readFile(*h.ContextPath), "who are you?") || !strings.Contains(r.readFile(*h.ContextPath), "made.txt") {
		t.Errorf("handed over because of %q, context without the conversation or the file, warnings %q", h.Reason, h.Warnings)
	}
	if slices.ContainsFunc(h.Warnings, func(w string) bool { return strings.Contains(w, "could not be read") }) {
		t.Errorf("warnings %q", h.Warnings)
	}
	if got := r.getAgent(*h.SuccessorID); got.Cwd != tree || got.Branch != "worktree-x" {
		t.Errorf("the successor works in %s on %s", got.Cwd, got.Branch)
	}
	r.wantTokens(a.ID)
	return *h.SuccessorID
}

// awaitLearned waits until a tool has returned the text to the agent's model. The CLI sorts the fields of a tool's
// answer.
func (r *claudeRig) awaitLearned(agentID int64, part string) {
	r.t.Helper()
	r.await(fmt.Sprintf("agent %d: a tool's %q", agentID, part), func() (bool, string) {
		reqs := r.requests(agentID)
		if len(reqs) == 0 {
			return false, "no request"
		}
		all := strings.Join(results(reqs[len(reqs)-1]), "\n")
		return strings.Contains(all, part), all
	})
}

// wantTokens checks that each answer in the agent's transcript was counted once.
func (r *claudeRig) wantTokens(agentID int64) {
	r.t.Helper()
	want, answers := claudeUsage(r.readFile(*r.getAgent(agentID).TranscriptPath))
	report, err := r.client.Usage(r.t.Context(), views.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{agentID}})
	if err != nil || report.Total.Tokens != want || answers < 4 {
		r.t.Errorf("counted %+v (%v), the transcript shows %+v in %d answers", report.Total.Tokens, err, want, answers)
	}
}

// TestClaudeOfAPersonInATreeOfTheCLI: a person's session on a tmux server of theirs, in a clean work tree that the CLI has made,
// without a name. It registers by the hooks in the person's settings, may write the document unasked, and hands over to a
// successor on our server. At /exit the CLI would remove the tree unasked.
func TestClaudeOfAPersonInATreeOfTheCLI(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	r.makeRepository()
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{r.cli}}}
	r.installHooks()
	r.start()
	person := r.startForeign(append([]string{r.cli, "--worktree", "wt"}, manual...)...)
	a := r.awaitForeign()
	tree := filepath.Join(r.work, ".claude", "worktrees", "wt")
	if a.Cwd != tree || a.PaneSocket != person || a.Persona != nil {
		t.Errorf("agent %+v, want it in %s, on %s and without a persona", a, tree, person)
	}
	r.assignPersona(a.ID, con)
	r.await("the end of the turn with the skill", func() (bool, string) { return len(r.tap.of(a.ID, hooks.Stop)) == 1, r.tap.String() })
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantFollowed(h, "other")
	for _, asked := range r.tap.of(a.ID, hooks.PermissionRequest) {
		if !bytes.Contains(asked.Output, []byte(`"allow"`)) {
			t.Errorf("request %s %s was not answered with yes", asked.p.ToolName, asked.p.ToolInput)
		}
	}
	if waited := r.agentEvents(a.ID, "agent_waiting"); len(waited) > 0 {
		t.Errorf("the agent waited %d times for a person", len(waited))
	}
	got := r.getAgent(*h.SuccessorID)
	if got.Cwd != tree || got.Branch != "worktree-wt" || got.PaneSocket != r.dir.TmuxSocket() {
		t.Errorf("the successor works in %s on %s, on server %s", got.Cwd, got.Branch, got.PaneSocket)
	}
	if argv := launchFile(r.rig, got.ID).Argv; !strings.Contains(strings.Join(argv, " "), strings.Join(manual, " ")) {
		t.Errorf("the successor was launched with %q, want the inherited mode", argv)
	}
}

// makeRepository makes the working directory a git repository with one commit.
func (r *claudeRig) makeRepository() {
	r.t.Helper()
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=Con", "-c", "user.email=con@localhost", "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		cmd := exec.Command("git", append([]string{"-C", r.work}, args...)...)
		cmd.Env = append(r.home.Environ, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			r.t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
}

// installHooks puts our hooks into the person's settings.
func (r *claudeRig) installHooks() {
	r.t.Helper()
	path := filepath.Join(r.home.ConfigDir, "settings.json")
	before := value(hooks.ReadSettings(path))(r.t)
	plan := value(hooks.PlanInstall(before, hooks.InstallOptions{Bin: r.cfg.HookBinary, DataDir: r.root, Events: hooks.Events}))(r.t)
	must(r.t, hooks.Apply(plan.For(path, time.Now())))
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
	pid := value(strconv.Atoi(run("display-message", "-p", "#{pid}")))(r.t)
	server := value(tmux.FindProcess(pid))(r.t)
	r.t.Cleanup(func() {
		run("kill-server")
		r.await("the end of the person's tmux server", func() (bool, string) { return !server.Alive(), socket })
	})
	return socket
}

// awaitForeign waits until a person's session has registered.
func (r *claudeRig) awaitForeign() daemon.Agent {
	r.t.Helper()
	r.await("the agent's registration", func() (bool, string) {
		list, err := r.client.Agents(r.t.Context(), allRows)
		return err == nil && len(list) > 0 && list[0].PaneSocket != r.dir.TmuxSocket() && list[0].RegisteredAt != nil && list[0].HasPane(), ""
	})
	return newestAgent(r.rig)
}

// claudeUsage adds up the usage in a transcript, of each answer once.
func claudeUsage(transcript string) (sum runtimes.Tokens, answers int) {
	seen := map[string]bool{}
	for line := range strings.Lines(transcript) {
		var l struct {
			Type    string
			Message struct {
				ID    string
				Usage struct {
					Input  int64 `json:"input_tokens"`
					Write  int64 `json:"cache_creation_input_tokens"`
					Read   int64 `json:"cache_read_input_tokens"`
					Output int64 `json:"output_tokens"`
				}
			}
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "assistant" && !seen[l.Message.ID] {
			seen[l.Message.ID] = true
			u := l.Message.Usage
			sum.Add(runtimes.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.Read, CacheWrite: u.Write})
		}
	}
	return sum, len(seen)
}
