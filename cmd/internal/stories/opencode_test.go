package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/opencode/opencodetest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
)

// opencodeStory runs a story in memory about agents of OpenCode. turn says what the model does with a prompt that is not of
// the daemon's; nil: it answers OK.
func opencodeStory(t *testing.T, turn func(text string) opencodetest.Turn, tell func(t *testing.T, r *rig, m *opencodetest.Machine)) {
	t.Helper()
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"opencode": {Command: []string{"opencode"}}}
		m := r.memory.opencode
		m.Model = func(text string) opencodetest.Turn {
			switch doc := documentPath.FindStringSubmatch(text); {
			case doc != nil:
				return opencodetest.Turn{Text: "Written.", Do: func() { _ = os.WriteFile(doc[1], []byte(opencodeDocument), 0o600); dateFile(doc[1]) }}
			case strings.Contains(text, "Answer with the handoff document itself"):
				return opencodetest.Turn{Text: opencodeDocument}
			case turn != nil:
				return turn(text)
			}
			return opencodetest.Turn{Text: "OK"}
		}
		r.around(func(c *engine.Config) { c.Store = reportedStore{c.Store, r} })
		r.start()
		tell(t, r, m)
	})
}

// reportedStore notes the hooks that were applied, in their order.
type reportedStore struct {
	daemon.Store
	r *rig
}

// RecordHook notes a hook before its transaction ends.
func (s reportedStore) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	return s.Store.RecordHook(ctx, in, func(tx daemon.HookTx) daemon.HookDecision {
		out := decide(tx)
		if !tx.Again && out.Applied && tx.Agent != nil {
			s.r.memory.reported(tx.Agent.ID, in.Event)
		}
		return out
	})
}

// reported notes a hook of an agent.
func (m *computer) reported(agentID int64, event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reports == nil {
		m.reports = map[int64][]string{}
	}
	m.reports[agentID] = append(m.reports[agentID], event)
}

// hookEvents are the events of the hooks of an agent that were applied, in their order.
func hookEvents(r *rig, agentID int64) []string {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	return slices.Clone(r.memory.reports[agentID])
}

var documentPath = regexp.MustCompile(`Write a handoff document in Markdown to (\S+\.md)`)

const opencodeDocument = "# Handoff\n\n## What Was Done\n\nThe parser.\n\n## Decisions Made\n\n- Tabs are an error, because they hide what a line begins with.\n\n## Open Questions\n\nNone.\n\n## Next Agent Context\n\nGo on.\n"

// opencodeAgent starts an agent of OpenCode and waits until it is idle.
func opencodeAgent(r *rig) daemon.Agent {
	r.t.Helper()
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work, Runtime: "opencode"})
	return r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
}

// TestOpencodeHandsOver: the instruction of a busy agent waits for the end of its turn and is sent then, once. Its document is
// taken, it exits by its server, and the successor, which has a session of its own, is briefed.
func TestOpencodeHandsOver(t *testing.T) {
	var release chan struct{}
	opencodeStory(t, func(text string) opencodetest.Turn {
		if text == "long work" {
			return opencodetest.Turn{Hold: release, Text: "Done."}
		}
		return opencodetest.Turn{Text: "OK"}
	}, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		release = make(chan struct{}) // of the bubble
		a := opencodeAgent(r)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "long work").ID, daemon.Submitted)
		id := r.requestHandoff(a.ID)
		h := r.awaitNote(id, noteBusyPart)
		if got := m.Prompts(*a.SessionID); !slices.Equal(got, []string{"long work"}) || h.Phase != daemon.Instructing {
			t.Errorf("phase %s, and the agent was told %q", h.Phase, got)
		}
		close(release)
		h = r.awaitPhase(id, daemon.Completed)
		if got := m.Prompts(*a.SessionID); len(got) != 2 || !strings.Contains(got[1], h.Ref) {
			t.Errorf("the agent was told %q, want the instruction once", got)
		}
		if n := len(r.handoffEvents(id, "delivery_answered")); n != 0 {
			t.Errorf("%d answers to a Stop that nobody reads", n)
		}
		next := r.getAgent(*h.SuccessorID)
		if got := m.Prompts(*next.SessionID); next.Runtime != "opencode" || len(got) != 1 || !strings.Contains(got[0], h.FilePath) {
			t.Errorf("successor on %s was told %q", next.Runtime, got)
		}
		if was := r.getAgent(a.ID); was.EndReason == nil || len(r.agentEvents(a.ID, "agent_stopping")) != 1 {
			t.Errorf("it did not exit when it was asked: %+v", was)
		}
		if got, err := os.ReadFile(*a.TranscriptPath); err != nil || !strings.Contains(string(got), "long work") {
			t.Errorf("the conversation did not survive the agent: %v", err)
		}
		if use := r.getAgent(a.ID).Context; use == nil || use.Tokens != 1241 || use.Limit == nil || *use.Limit != 100_000 {
			t.Errorf("use of the context %+v", use)
		}
	})
}

// TestOpencodeGenerates: a copy of the session writes the document. The copy is deleted, and so is one that an earlier daemon
// has left.
func TestOpencodeGenerates(t *testing.T) {
	opencodeStory(t, nil, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		a := opencodeAgent(r)
		talkTo(r, a.ID, "hello")
		h := r.awaitPhase(requestGenerate(r, a.ID, ""), daemon.Completed)
		if got := m.Prompts(*a.SessionID); !slices.Equal(got, []string{"hello"}) || !strings.Contains(r.readFile(h.FilePath), "Tabs are an error") {
			t.Errorf("the session was told %q; document %q", got, r.readFile(h.FilePath))
		}
		for _, title := range m.Titles() {
			if strings.Contains(title, "copy") || strings.Contains(title, "fork") {
				t.Errorf("the copy %q is left", title)
			}
		}
	})
}

// talkTo has the agent take a prompt and finish its turn.
func talkTo(r *rig, agentID int64, text string) {
	r.t.Helper()
	stops := len(r.agentEvents(agentID, "agent_idle"))
	r.awaitVerdict(agentID, r.sendMessage(agentID, text).ID, daemon.Submitted)
	r.await("the end of the turn", func() (bool, string) {
		return len(r.agentEvents(agentID, "agent_idle")) > stops, r.report()
	})
}

// TestOpencodeLosesAPrompt: a person interrupts a turn, and OpenCode loses the prompt that comes before the error of the turn is
// written. The daemon sends its text again, once that is known, and the agent takes it once.
func TestOpencodeLosesAPrompt(t *testing.T) {
	var hold chan struct{}
	opencodeStory(t, func(text string) opencodetest.Turn {
		if text == "long work" {
			return opencodetest.Turn{Hold: hold}
		}
		return opencodetest.Turn{Text: "OK"}
	}, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		hold = make(chan struct{}) // of the bubble
		a := opencodeAgent(r)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "long work").ID, daemon.Submitted)
		m.LoseNext()
		m.Escape(*a.SessionID)
		r.awaitState(a.ID, daemon.Idle)
		dl := r.sendMessage(a.ID, "go on")
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Idle)
		if got := m.Prompts(*a.SessionID); !slices.Equal(got, []string{"long work", "go on"}) {
			t.Errorf("the agent was told %q", got)
		}
		if got := count(m.Requests(), "POST /session/"+*a.SessionID+"/prompt_async"); got != 3 {
			t.Errorf("%d prompts were sent, want the lost one twice: %q", got, m.Requests())
		}
	})
}

func count(list []string, want string) (n int) {
	for _, one := range list {
		if one == want {
			n++
		}
	}
	return n
}

// TestOpencodeFollowsAfterAGap: the stream of events breaks, and turns begin and end before it is back. All of them count once.
func TestOpencodeFollowsAfterAGap(t *testing.T) {
	opencodeStory(t, nil, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		a := opencodeAgent(r)
		talkTo(r, a.ID, "first")
		m.Type(*a.SessionID, "typed before")
		m.Cut()
		r.await("the turns of the gap", func() (bool, string) {
			return count(hookEvents(r, a.ID), "Stop") == 2, strings.Join(hookEvents(r, a.ID), " ")
		})
		r.halt()
		m.Type(*a.SessionID, "typed while no daemon ran")
		r.start()
		r.await("the turn without a daemon", func() (bool, string) {
			return count(hookEvents(r, a.ID), "Stop") == 3, strings.Join(hookEvents(r, a.ID), " ")
		})
		if got := hookEvents(r, a.ID); count(got, "UserPromptSubmit") != 3 || count(got, "SessionStart") != 1 {
			t.Errorf("reports %q", got)
		}
		if n := count(m.Requests(), "POST /session"); n != 1 {
			t.Errorf("%d sessions were made", n)
		}
	})
}

// TestOpencodeWaitsForALimitWithoutATime: nobody knows when the limit ends. The turn is aborted, because OpenCode would wait in it. The operator
// is told when the agent tries again, which is within an hour.
func TestOpencodeWaitsForALimitWithoutATime(t *testing.T) {
	limit := opencodetest.Turn{Retry: time.Minute, Why: "Monthly quota exceeded"}
	opencodeStory(t, func(string) opencodetest.Turn { return limit }, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		r.halt()
		onLimit(r, daemon.LimitWait).start()
		a := opencodeAgent(r)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "go on").ID, daemon.Submitted)
		a = r.awaitAgent(a.ID, "a limit", func(a daemon.Agent) bool { return a.Limit != nil && a.Limit.Do == daemon.LimitWait })
		told := awaitNotification(r, func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == a.ID })
		want := a.Limit.Since.Add(time.Hour).UTC().Format("Jan 2 15:04 UTC")
		if message := fmt.Sprint(field(t, told, "message")); a.Limit.Until != nil || !strings.Contains(message, "tries again by itself at "+want) {
			t.Errorf("limit %+v, and the operator was told %q", a.Limit, message)
		}
		if n, failed := count(m.Requests(), "POST /session/"+*a.SessionID+"/abort"), count(hookEvents(r, a.ID), "StopFailure"); n != 1 || failed != 1 {
			t.Errorf("the turn was aborted %d times, and %d failures were told", n, failed)
		}
		pass(time.Hour)
		r.await("a try", func() (bool, string) { return len(goesOn(r, a.ID)) == 1, "" })
	})
}

// TestOpencodeIsLeft: a person types /exit in the pane, which OpenCode reports to nobody. An agent at rest did not die, and nobody is alarmed. In a
// turn work broke off, so the agent died, however its program exited.
func TestOpencodeIsLeft(t *testing.T) {
	t.Parallel()
	for _, works := range []bool{false, true} {
		t.Run(fmt.Sprint("in a turn: ", works), func(t *testing.T) {
			opencodeStory(t, func(string) opencodetest.Turn { return opencodetest.Turn{Hold: make(chan struct{})} }, func(t *testing.T, r *rig, m *opencodetest.Machine) {
				a := opencodeAgent(r)
				if works {
					r.sendMessage(a.ID, "a long one")
					r.awaitState(a.ID, daemon.Working)
				}
				m.Leave()
				got := r.awaitState(a.ID, daemon.Ended)
				if got.Died() != works || !works && *got.EndReason != "exited" || len(r.agentEvents(a.ID, "agent_ended")) != 1 {
					t.Errorf("the agent that was left ended by %q, died: %t", *got.EndReason, got.Died())
				}
			})
		})
	}
}

// TestOpencodeWorksOnAStep: the prompt of a step is sent to the server, once, also if the daemon is restarted meanwhile. No
// command line has it.
func TestOpencodeWorksOnAStep(t *testing.T) {
	var release chan struct{}
	opencodeStory(t, func(text string) opencodetest.Turn {
		return opencodetest.Turn{Hold: release, Text: "## What Was Done\n\nThe roof is mended."}
	}, func(t *testing.T, r *rig, m *opencodetest.Machine) {
		release = make(chan struct{}) // of the bubble
		for _, slug := range []string{con, "reviewer-ada-1"} {
			path := filepath.Join(r.dir.Persona(slug), "skill.md")
			writeFile(r, path, strings.Replace(r.readFile(path), "---\n", "---\nruntime: opencode\n", 1))
		}
		r.halt()
		writeTemplate(r, "roof", "developer", "reviewer")
		r.start()
		id := startPipeline(r, "roof", "Mend the roof.").ID
		p := awaitStep(r, id, 1, daemon.StepRunning)
		a := r.awaitState(p.Steps[0].AgentIDs[0], daemon.Working)
		r.halt()
		r.start()
		close(release)
		awaitPipeline(r, id, daemon.PipelineDone)
		if got := m.Prompts(*a.SessionID); a.Runtime != "opencode" || len(got) != 1 || !strings.Contains(got[0], "Mend the roof.") {
			t.Errorf("the agent on %s was told %q", a.Runtime, got)
		}
	})
}
