//go:build e2e

package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/realcli"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/sandbox"
)

// round are the runtimes of the generations of one piece of work.
var round = []string{"claude", "codex", "opencode", "gemini", "omp", "claude"}

// TestRound: one piece of work is carried round all runtimes, each with its real CLI. Each agent is in a turn when it is handed
// over, and gets the instruction when the turn ends. The last agent is told what every generation before it decided and was
// asked, each once. The daemon is killed in the middle.
func TestRound(t *testing.T) {
	t.Parallel()
	r := newRoundRig(t)
	child := startDaemonChild(r.rig)
	r.database() // before the first kill
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work, Runtime: round[0], Sandbox: true})
	a = r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
	var line []daemon.Agent
	for i, next := range round[1:] {
		r.api.SetScript(claudetest.Ask(roundTask(i), claudetest.Reply{Text: "One, two, three.", Hold: true}, decides))
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, roundTask(i)).ID, daemon.Submitted)
		r.api.Await(t, roundTask(i), func(req claudetest.Request) bool {
			return req.Aside == "" && slices.ContainsFunc(req.NewTexts(), func(s string) bool { return strings.Contains(s, roundTask(i)) })
		})
		line = append(line, a)
		// In its first turn an agent has nothing to hand off yet.
		runs(r.rig, "handoff", fmt.Sprint(a.ID), "--runtime", next, "--focus", roundFocus(i), "--force")
		id := r.latestHandoff(a.ID).ID
		r.awaitNote(id, noteBusyPart)
		r.api.Release()
		if next == "opencode" {
			r.awaitPhase(id, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.ShuttingDown)
			child.kill()
			child = startDaemonChild(r.rig)
		}
		h := r.awaitPhase(id, daemon.Completed)
		t.Logf("to %s: %d ms, by phase %v", next, h.Metrics.TotalMS, h.Metrics.Phases)
		a = awaitTakeover(r.rig, h)
		r.wantBriefed(h, a, i)
	}
	r.wantRound(append(line, a))
}

// roundTask is what the agent of a generation is asked, roundDecision what it decides.
func roundTask(i int) string { return fmt.Sprintf("Look after part %d of the house", i+1) }

func roundFocus(i int) string { return fmt.Sprintf("The doors of part %d above all", i+1) }

func roundDecision(cli string) string { return "The " + cli + " gets a lock of its own" }

// decides is a model that complies. Its document has a decision that no other CLI's model makes.
func decides(req claudetest.Request) claudetest.Reply {
	reply := complies(req)
	if content, ok := reply.Input["content"].(string); ok && strings.Contains(content, sections["Decisions Made"]) {
		cli := req.CLI
		if cli == "" {
			cli = round[0]
		}
		reply.Input["content"] = strings.Replace(content, sections["Decisions Made"], "- "+roundDecision(cli)+", because it asked for one.", 1)
	}
	return reply
}

// roundRig is a rig whose runtimes are all real CLIs, with one home and one fake model.
type roundRig struct {
	*rig
	api *claudetest.FakeAPI
}

// newRoundRig makes a rig. It does not start the daemon.
func newRoundRig(t *testing.T) *roundRig {
	t.Helper()
	claudeSlots <- struct{}{}
	t.Cleanup(func() { <-claudeSlots })
	r := &roundRig{api: realcli.NewFakeAPI(t, decides)}
	home := claudetest.Env(t, r.api)
	google := realcli.Env(t, realcli.Gemini, r.api)
	r.rig = newRigIn(t, google.SystemDir) // Gemini reads documents only in folders that the person trusts
	environ, commands := []string{}, map[string]serve.RuntimeSettings{
		"claude": {Command: append([]string{claudetest.Install(t)}, manual...)},
	}
	for _, cli := range []realcli.CLI{realcli.Pi, realcli.Codex, realcli.OpenCode, realcli.Gemini} {
		own := google
		if cli != realcli.Gemini {
			own = realcli.Env(t, cli, r.api)
		}
		command := realcli.Install(t, cli)
		environ = append(environ, own.Environ...)
		switch cli {
		case realcli.Pi:
			command = append(command, "--model", cli.Model(), "--no-lsp")
		case realcli.Codex: // it trusts its own folder alone
			r.work = own.Workdir
			home.Trust(t, r.work)
		case realcli.OpenCode: // it reads its settings from HOME, and each of the others has a variable
			home.Dir = own.Dir
		case realcli.Gemini:
			environ = append(environ, "GEMINI_CLI_HOME="+own.Dir)
			trusted, err := json.Marshal(map[string]string{r.work: "TRUST_FOLDER", own.SystemDir: "TRUST_FOLDER"})
			if err == nil {
				err = os.WriteFile(filepath.Join(own.ConfigDir, "trustedFolders.json"), trusted, 0o600)
			}
			must(t, err)
		}
		commands[string(cli)] = serve.RuntimeSettings{Command: command}
	}
	environ = append(append(environ, home.Environ...), "HOME="+home.Dir, "GORACE=atexit_sleep_ms=0")
	r.cfg.Environ = lastOfEach(environ)
	r.cfg.Settings.Sandbox = sandbox.Settings{ // Codex makes no files in a home below the folder for temporary files
		Env: []string{"REALCLI_KEY", "PI_OFFLINE", "BUN_JSC_useDFGJIT", "TMPDIR"}, Write: []string{child.Getenv(r.cfg.Environ, "TMPDIR")},
		Read: []string{child.Getenv(r.cfg.Environ, "OPENCODE_MODELS_PATH")},
	}
	r.cfg.Settings.Runtimes = commands
	r.cfg.Settings.Handoff.AckTimeout = 90 * time.Second // OpenCode's server was silent for 35 s on a busy machine, just after its start
	value(r.dir.Seed())(t)
	t.Cleanup(func() {
		if t.Failed() {
			events, err := r.events(context.Background()) // the test's context has ended
			for _, e := range events {
				t.Logf("event %d at %s: %s %s", e.ID, e.At.Format(time.StampMilli), e.Type, e.Payload)
			}
			if err != nil {
				t.Log(err)
			}
			for _, req := range r.api.Requests() {
				t.Logf("request of %q %q aside %q: %.300q", req.CLI, req.SessionID, req.Aside, req.NewTexts())
			}
		}
	})
	return r
}

// lastOfEach leaves out the variables that are set again later.
func lastOfEach(environ []string) (out []string) {
	for i, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		again := func(later string) bool { return strings.HasPrefix(later, name+"=") }
		if !slices.ContainsFunc(environ[i+1:], again) {
			out = append(out, e)
		}
	}
	return out
}

// runs runs a command to its end, and fails the test unless the command succeeds.
func runs(r *rig, args ...string) {
	r.t.Helper()
	s := sit(r, false, args...)
	<-s.ended
	if s.code != 0 {
		r.t.Fatalf("understudy %q: exit code %d: %s", args, s.code, s.shown())
	}
}

// conversation lists the requests of the newest conversation that has a text with the part, without those beside it.
func (r *roundRig) conversation(part string) (out []claudetest.Request) {
	has := func(req claudetest.Request) bool {
		return req.Aside == "" && slices.ContainsFunc(req.UserTexts(), func(s string) bool { return strings.Contains(s, part) })
	}
	for _, req := range r.api.Requests() {
		if has(req) {
			out = append(out, req)
		}
	}
	return out
}

// wantBriefed fails unless generation i+1, which is the successor, runs on its runtime, had its skill before the prompt, and
// has read the document and the context with every decision so far, each once.
func (r *roundRig) wantBriefed(h daemon.Handoff, next daemon.Agent, i int) {
	r.t.Helper()
	old := r.awaitState(h.AgentID, daemon.Ended)
	wantStopStages(r.rig, old.ID, daemon.StopAsked)
	if next.Runtime != round[i+1] || old.Runtime != round[i] || next.Generation != i+2 || *next.PreviousAgentID != old.ID {
		r.t.Errorf("handoff %d went from %+v to %+v", h.ID, old, next)
	}
	r.wantInstructed(h, old.Runtime, roundFocus(i))
	prompts := slices.DeleteFunc(r.deliveries(next.ID), func(dl daemon.Delivery) bool { return dl.Kind != daemon.KindPrompt })
	if len(prompts) != 1 || next.SkillInjectedAt == nil || prompts[0].DecidedAt.Before(*next.SkillInjectedAt) {
		r.t.Errorf("agent %d got its skill at %v and the prompts %+v", next.ID, next.SkillInjectedAt, prompts)
	}
	asked := r.conversation("you take over from agent " + fmt.Sprint(old.ID))
	if len(asked) == 0 {
		r.t.Fatalf("the model of agent %d was not told that it takes over", next.ID)
	}
	first, last := asked[0], asked[len(asked)-1]
	if first.CLI != strings.TrimPrefix(round[i+1], "claude") || strings.Count(first.SystemText()+strings.Join(first.UserTexts(), "\n"), "# Con, developer") != 1 {
		r.t.Errorf("the first request of agent %d, of %q: %.2000q", next.ID, first.CLI, first.SystemText())
	}
	read := slices.DeleteFunc(results(last), func(s string) bool { return s == "" })
	if len(read) < 2 || !strings.Contains(read[0], roundDecision(round[i])) || !strings.Contains(read[1], wrapperOpens[:len(wrapperOpens)-1]) {
		r.t.Fatalf("agent %d has not read first the document and then the context: %.500q", next.ID, read)
	}
	_, told, found := strings.Cut(read[1], "## Decisions so far")
	told, _, ends := strings.Cut(told, "## Conversation before") // a CLI may number the lines
	if !found || !ends {
		r.t.Fatalf("agent %d was told of no decisions: %s", next.ID, read[1])
	}
	for _, runtime := range round[:i+1] {
		equal(r.t, fmt.Sprintf("agent %d was told of the decision of %s", next.ID, runtime), strings.Count(told, roundDecision(runtime)), 1)
	}
}

// wantInstructed fails unless the outgoing agent got its instruction once, as its runtime takes one in a turn, and has read the
// rest of it, which has the focus.
func (r *roundRig) wantInstructed(h daemon.Handoff, runtime, focus string) {
	r.t.Helper()
	rt := value(catalog.For(runtime))(r.t)
	list := value(r.database().Deliveries(r.t.Context(), h.AgentID, 0, 9))(r.t)
	list = slices.DeleteFunc(list, func(dl daemon.Delivery) bool { return dl.Kind != daemon.KindInstruction })
	if len(list) != 1 || (list[0].HookKey != "") != rt.Can.HoldsTurn {
		r.t.Errorf("agent %d of %s was instructed by %+v; its turn can be held: %t", h.AgentID, rt.Name, list, rt.Can.HoldsTurn)
	}
	if !slices.ContainsFunc(r.api.Requests(), func(q claudetest.Request) bool { return strings.Contains(strings.Join(results(q), "\n"), focus) }) {
		r.t.Errorf("agent %d has not read the rest of its instruction", h.AgentID)
	}
}

// wantRound checks the rows and files after the last handoff.
func (r *roundRig) wantRound(line []daemon.Agent) {
	r.t.Helper()
	last := line[len(line)-1]
	for i, a := range line[:len(line)-1] {
		list := handoffsOf(r.rig, a.ID)
		if len(list) != 1 || list[0].Phase != daemon.Completed || *list[0].SuccessorID != line[i+1].ID || list[0].Degraded || list[0].Structured == nil {
			r.t.Errorf("agent %d: handoffs %+v", a.ID, list)
		}
		want := []daemon.DeliveryKind{daemon.KindMessage, daemon.KindInstruction}
		if rt, err := catalog.For(a.Runtime); err != nil || rt.Can.Exit == runtimes.ByTyping {
			want = append(want, daemon.KindExit) // the others are told to exit by their server or inbox
		}
		if i > 0 {
			want = append([]daemon.DeliveryKind{daemon.KindPrompt}, want...)
		}
		r.wantKinds(a.ID, want...)
	}
	r.wantKinds(last.ID, daemon.KindPrompt)
	equal(r.t, "handoffs of the last agent", len(handoffsOf(r.rig, last.ID)), 0)
	all, err := r.client.Agents(r.t.Context(), allRows)
	panes, paneErr := r.tmux.List(r.t.Context())
	if err != nil || paneErr != nil || len(all) != len(round) || len(panes) != 1 {
		r.t.Errorf("%d agents (%v), want %d; %d panes (%v), want 1", len(all), err, len(round), len(panes), paneErr)
	}
	holds(r.t, "experience", fileText(filepath.Join(r.dir.Persona(con), "experience.md")), learned)
	h := handoffsOf(r.rig, line[len(line)-2].ID)[0]
	c := contextOf(r.rig, h)
	if len(c.decisions) != len(round)-1 || h.Metrics.DecisionsTransferred != len(round)-1 {
		r.t.Errorf("decisions in the last context: %q", c.decisions)
	}
	for i := range line[:len(line)-1] {
		asked := 0
		for _, m := range c.messages {
			if m.role == "user" && m.text == roundTask(i) && m.agent == line[i].Name {
				asked++
			}
		}
		if asked != 1 {
			r.t.Errorf("the last context has the task of generation %d %d times: %q", i+1, asked, c.messages)
		}
	}
}
