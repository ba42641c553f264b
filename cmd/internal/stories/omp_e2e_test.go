//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/realcli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// ompStories are what is peculiar to oh-my-pi.
var ompStories = []runtimeStory{
	{"context", tellsItsContext, nil},
	{"first prompt", takesItsFirstPrompt, nil},
	{"instruction interrupted", keepsAnInstructionFromAnInterruption, nil},
	{"sub-agent", tellsNothingOfSubAgents, nil},
	{"later turn", staysAfterALaterTurn, nil},
	{"command", takesACommand, nil},
	{"question", asksAPerson, nil},
	{"compaction", compacts, nil},
}

// tellsItsContext: with the end of each turn the extension tells how full the window is.
func tellsItsContext(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "how full are you?")
	c := r.getAgent(a.ID).Context
	if c == nil || c.Limit == nil || *c.Limit != realcli.Window || c.Tokens <= 0 || c.Source != "hook" {
		r.t.Errorf("context %+v, want one of %d tokens", c, realcli.Window)
	}
	return a.ID
}

// takesItsFirstPrompt: the prompt of a step comes through the inbox, and arrives once, as it is. Typed it would open a list.
func takesItsFirstPrompt(r *runtimeRig, a daemon.Agent) int64 {
	skill := filepath.Join(r.dir.Persona(con), "skill.md")
	own := r.readFile(skill)
	must(r.t, data.WriteFile(skill, []byte(strings.Replace(own, "---\n", "---\nruntime: omp\n", 1)), 0o600))
	r.await("the persona's runtime", func() (bool, string) {
		p, err := r.client.Persona(r.t.Context(), con)
		return err == nil && p.Runtime != nil && *p.Runtime == "omp", errorText(err)
	})
	writeTemplate(r.rig, "one", "developer")
	r.await("the template", func() (bool, string) {
		list, err := r.client.Templates(r.t.Context())
		return slices.ContainsFunc(list, func(t api.Template) bool { return t.Name == "one" }), errorText(err)
	})
	const prompt = "@roof: mend $(it)\n/exit is no command here"
	p := awaitPipeline(r.rig, startPipeline(r.rig, "one", prompt).ID, daemon.PipelineDone)
	wantSteps(r.rig, p, "done")
	step := p.Steps[0].AgentIDs[0]
	if told := r.tap.of(step, hooks.UserPromptSubmit); len(told) != 1 || told[0].p.Prompt != prompt {
		r.t.Errorf("the step was told %+v", told)
	}
	r.wantOnce("@roof")
	r.wantExitedByItself(step)
	return a.ID
}

// keepsAnInstructionFromAnInterruption: a person presses Escape while the turn goes on with the daemon's instruction. The
// agent is idle then, and takes the next text.
func keepsAnInstructionFromAnInterruption(r *runtimeRig, a daemon.Agent) int64 {
	r.hold(a.ID, "count the bricks", "One, two, three.")
	id := r.requestHandoff(a.ID)
	r.awaitNote(id, noteBusyPart)
	r.api.SetScript(claudetest.Ask(instructed, claudetest.Reply{Text: "I write it.", Hold: true}, complies))
	r.api.Release()
	r.awaitAsked(instructed)
	r.awaitShown(a.ID, "I wri") // an Escape before the answer begins is the turn's before
	r.personPresses(a.ID, tmux.Escape)
	r.awaitState(a.ID, daemon.Idle)
	r.api.Release()
	value(r.client.CancelHandoff(r.t.Context(), a.ID, 0))(r.t)
	r.talk(a.ID, "never mind the document")
	r.wantOnce("never mind the document")
	return a.ID
}

// tellsNothingOfSubAgents: a sub-agent has a session and turns of its own, in the same process.
func tellsNothingOfSubAgents(r *runtimeRig, a daemon.Agent) int64 {
	session, starts := *r.getAgent(a.ID).SessionID, len(r.tap.of(a.ID, hooks.SessionStart))
	prompts, stops := len(r.tap.of(a.ID, hooks.UserPromptSubmit)), len(r.tap.of(a.ID, hooks.Stop))
	task := claudetest.Reply{Tool: "task", Input: map[string]any{"agent": "task", "context": "A house.", "name": "Looker", "task": "look into the cellar"}}
	r.api.SetScript(claudetest.Ask("send somebody", task, complies))
	r.talk(a.ID, "send somebody")
	r.awaitAsked("look into the cellar")
	r.awaitState(a.ID, daemon.Idle)
	if now := r.getAgent(a.ID); *now.SessionID != session || len(r.tap.of(a.ID, hooks.SessionStart)) != starts {
		r.t.Errorf("the sub-agent's session %s replaced %s", *now.SessionID, session)
	}
	for _, s := range r.tap.of(a.ID, hooks.UserPromptSubmit)[prompts:] {
		if strings.Contains(s.p.Prompt, "cellar") && !strings.HasPrefix(s.p.Prompt, "<task-notification>") {
			r.t.Errorf("the sub-agent's prompt was told: %q", s.p.Prompt)
		}
	}
	r.t.Logf("%d turns ended", len(r.tap.of(a.ID, hooks.Stop))-stops)
	return a.ID
}

// staysAfterALaterTurn: the file that asks it to exit names a turn after which it has had another one. It takes the file away, goes on, and
// is handed over after its last turn all the same.
func staysAfterALaterTurn(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "one more turn")
	path := filepath.Join(runtimes.Inbox(r.dir.Launch(a.ID)), "exit.json")
	must(r.t, data.WriteFile(path, []byte(`{"exit":true,"turn":"an earlier one"}`), 0o600))
	r.await("the file to be read", func() (bool, string) {
		_, err := os.Stat(path)
		return os.IsNotExist(err), errorText(err)
	})
	r.talk(a.ID, "go on")
	return a.ID
}

// takesACommand: an operator's command is typed, because the inbox takes every text for a prompt. /new begins another
// session, of which the daemon hears at once.
func takesACommand(r *runtimeRig, a daemon.Agent) int64 {
	session := *r.getAgent(a.ID).SessionID
	r.sendCommand(a.ID, "/new")
	r.awaitAgent(a.ID, "another session", func(a daemon.Agent) bool { return a.SessionID != nil && *a.SessionID != session })
	r.talk(a.ID, "where were we?")
	requests := r.api.Requests()
	if texts := requests[len(requests)-1].UserTexts(); len(texts) == 0 || strings.Contains(strings.Join(texts, "\n"), "how full are you?") {
		r.t.Errorf("the new session knows %.300q", texts)
	}
	return a.ID
}

// asksAPerson: the agent waits while its tool asks a person something.
func asksAPerson(r *runtimeRig, a daemon.Agent) int64 {
	question := claudetest.Reply{Tool: "ask", Input: map[string]any{"questions": []any{map[string]any{
		"id": "colour", "question": "Which colour for the door?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "green"}},
	}}}}
	r.api.SetScript(claudetest.Ask("paint the door", question, complies))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "paint the door").ID, daemon.Submitted)
	waits := r.awaitState(a.ID, daemon.Waiting)
	holds(r.t, "it waits for", waits.WaitsFor, "Which colour for the door?")
	r.awaitShown(a.ID, "Which colour for the door?")
	if s := r.rt.ReadScreen(runtimes.View{Text: r.shown(a.ID)}); s.Composer || s.Dialog == "" {
		r.t.Errorf("the screen with the question is read as %+v:\n%s", s, r.shown(a.ID))
	}
	r.personPresses(a.ID, tmux.Enter)
	r.awaitState(a.ID, daemon.Idle)
	return a.ID
}

// compacts: the operator is alerted of a compaction that oh-my-pi begins by itself, and the use of the window is known
// anew with the next turn's end.
func compacts(r *runtimeRig, a daemon.Agent) int64 {
	for _, text := range []string{"one", "two", "three"} {
		r.talk(a.ID, text+strings.Repeat(" a long story about the house", 1500))
	}
	starts := len(r.tap.of(a.ID, hooks.SessionStart))
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		if strings.Contains(strings.Join(req.NewTexts(), "\n"), "is it full?") {
			return claudetest.Reply{Text: "It is full.", InputTokens: realcli.Window - 1000}
		}
		return claudetest.Reply{Text: "They talked about the house."}
	})
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "is it full?").ID, daemon.Submitted)
	r.awaitHooks(a.ID, hooks.PreCompact, 1)
	r.awaitHooks(a.ID, hooks.SessionStart, starts+1)
	equal(r.t, "compactions told", len(r.agentEvents(a.ID, "agent_compacting")), 1)
	r.awaitState(a.ID, daemon.Idle)
	r.talk(a.ID, "what now?")
	if c := r.getAgent(a.ID).Context; c == nil || c.Tokens > realcli.Window/2 {
		r.t.Errorf("context %+v after the compaction", c)
	}
	return a.ID
}

// sendCommand gives the agent an operator's command, and waits until it was taken.
func (r *runtimeRig) sendCommand(agentID int64, text string) {
	r.t.Helper()
	dl := value(r.client.SendMessage(r.t.Context(), agentID, text, true))(r.t)
	r.awaitVerdict(agentID, dl.ID, daemon.Submitted)
}
