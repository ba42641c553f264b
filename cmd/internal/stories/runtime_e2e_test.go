//go:build e2e

package stories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// runtimeStories are told of every runtime, in a mode in which the CLI asks a person before it runs a command. Each start of a CLI costs up
// to 15 s of CPU: a story leaves its agent to the next one.
var runtimeStories = []runtimeStory{
	{"launch", startsWithItsSkill, nil},
	{"idle", takesATextWhenIdle, nil},
	{"busy", takesATextAfterItsTurn, nil},
	{"refused", isRefused, nil},
	{"draft", takesATextBesideADraft, waitsForADraft},
	{"interrupt", isInterrupted, nil},
	{"lost paste", losesAPaste, nil},
	{"error", reportsErrors, nil},
	{"retries", becomesLimitedByRetries, nil},
	{"fork", handsOverByACopy, nil},
	{"dialog", asksInADialog, nil},
	{"kill and resume", isKilledAndResumed, nil},
	{"todos", keepsTodos, nil},
	{"limit", reportsALimit, nil},
	{"quit", quitsByAPerson, nil},
}

// TestRuntime: what understudy needs of a runtime is so with each real CLI, on a fake model.
func TestRuntime(t *testing.T) {
	t.Parallel()
	for _, c := range runtimeCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntimeRig(t, c)
			if r.guard != nil {
				r.guard() // before the first agent is started
			}
			r.tell(t, runtimeStories)
			r.mode = ""
			r.tell(t, c.own)
		})
	}
}

// TestRuntimeCasesAreComplete: no runtime is without its stories.
func TestRuntimeCasesAreComplete(t *testing.T) {
	t.Parallel()
	for _, name := range catalog.Names() {
		if !slices.ContainsFunc(runtimeCases, func(c runtimeCase) bool { return c.name == name }) {
			t.Errorf("no runtimeCase for %s", name)
		}
	}
	for _, c := range runtimeCases {
		for name := range c.cannot {
			if !slices.ContainsFunc(runtimeStories, func(s runtimeStory) bool { return s.name == name }) {
				t.Errorf("%s cannot tell %q, which is no story", c.name, name)
			}
		}
	}
}

// losesAPaste: the composer loses a pasted text while the CLI draws it anew. The text is pasted again and taken once.
func losesAPaste(r *runtimeRig, a daemon.Agent) int64 {
	if !r.rt.Can.LosesPastes {
		return a.ID
	}
	r.losePasteOf.Store(a.ID)
	r.talk(a.ID, "how is the chimney?")
	r.wantOnce("how is the chimney?")
	if list := r.deliveries(a.ID); r.losePasteOf.Load() != 0 || list[len(list)-1].Attempts != 1 {
		r.t.Errorf("the paste was lost: %t, %+v", r.losePasteOf.Load() == 0, list[len(list)-1])
	}
	return a.ID
}

// startsWithItsSkill: an agent is idle before anybody has said a word to it, and its model is not asked. With the first
// prompt it has its skill.
func startsWithItsSkill(r *runtimeRig, a daemon.Agent) int64 {
	files := r.ownFiles()
	if a.RegisteredAt == nil || a.SkillInjectedAt == nil || a.Runtime != r.name || len(r.api.Requests()) != 0 {
		r.t.Errorf("agent %+v after its start; the model was asked %d times", a, len(r.api.Requests()))
	}
	equal(r.t, "registrations", len(r.agentEvents(a.ID, "agent_registered")), 1)
	r.talk(a.ID, "how is the house?")
	req := r.api.Await(r.t, "the prompt", func(req claudetest.Request) bool { return req.Aside == "" })
	whole := req.SystemText() + "\n" + strings.Join(req.UserTexts(), "\n")
	for _, want := range []string{"You play the persona " + con, "# Con, developer", known} {
		equal(r.t, want+" in the first request", strings.Count(whole, want), 1)
	}
	now := r.getAgent(a.ID)
	if now.SessionID == nil || now.TranscriptPath == nil || now.LastMessage != "OK" {
		r.t.Errorf("agent %+v after its first turn, want session, transcript and last message", now)
	}
	equal(r.t, "registrations", len(r.agentEvents(a.ID, "agent_registered")), 1)
	if r.noted != [2]string{} { // successors are launched with them
		var got [2]string
		for line := range strings.Lines(r.readFile(*now.TranscriptPath)) {
			if e, err := r.rt.ParseEntry([]byte(line)); err == nil && e.Model != "" {
				got = [2]string{e.Model, e.Mode}
			}
		}
		equal(r.t, "the transcript shows the model and the mode", got, r.noted)
	}
	r.wantUntouched(files)
	return a.ID
}

// takesATextWhenIdle: texts of many kinds arrive exactly once and unchanged.
func takesATextWhenIdle(r *runtimeRig, a daemon.Agent) int64 {
	for i, text := range []string{
		"where is the attic", "ünï cödé 🏠 \"quoted\" $(whoami) `date` \\n", "first line\nsecond line\n\nlast line",
		"long: " + strings.Repeat("the roof leaks over the stairs. ", 60) + "so it is.",
	} {
		text = fmt.Sprintf("text-%d-begins %s text-%d-ends", i, text, i)
		r.talk(a.ID, text)
		if got := r.wantOnce(fmt.Sprintf("text-%d-ends", i)); !runtimes.MatchesPrompt(got, text) {
			r.t.Errorf("the model was told\n%q, want\n%q", got, text)
		}
	}
	return a.ID
}

// takesATextAfterItsTurn: a text for an agent in a turn waits for the end of the turn, and begins a turn of its own.
func takesATextAfterItsTurn(r *runtimeRig, a daemon.Agent) int64 {
	stops := len(r.tap.of(a.ID, hooks.Stop))
	r.hold(a.ID, "count to ten", "One, two, three.")
	dl := r.sendMessage(a.ID, "and then sing")
	r.wantUntyped(a.ID, "and then sing")
	r.api.Release()
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	r.awaitHooks(a.ID, hooks.Stop, stops+2)
	r.wantOnce("count to ten")
	if got := r.wantOnce("and then sing"); strings.Contains(got, "count") {
		r.t.Errorf("the model was told %q in one", got)
	}
	r.awaitState(a.ID, daemon.Idle)
	return a.ID
}

// wantUntyped fails if the agent's newest text is typed, or if its pane shows it, within a second.
func (r *runtimeRig) wantUntyped(agentID int64, text string) {
	r.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); <-tick.C {
		list := r.deliveries(agentID)
		if list[len(list)-1].TypedAt != nil || strings.Contains(r.shown(agentID), text) {
			r.t.Fatalf("%q was typed\n%s", text, r.report())
		}
	}
}

const draftOfAPerson = "I was about to say"

// takesATextBesideADraft: the agent gets a text while a person's draft stands in its composer. The draft is still there.
func takesATextBesideADraft(r *runtimeRig, a daemon.Agent) int64 {
	r.writeDraft(a.ID)
	r.talk(a.ID, "mind the step")
	if got := r.wantOnce("mind the step"); strings.Contains(got, draftOfAPerson) {
		r.t.Errorf("the model was told the draft as well: %q", got)
	}
	r.awaitDraft(a.ID, draftOfAPerson)
	stops := len(r.tap.of(a.ID, hooks.Stop))
	r.personPresses(a.ID, tmux.Enter)
	r.awaitHooks(a.ID, hooks.Stop, stops+1)
	if got := r.wantOnce(draftOfAPerson); strings.Contains(got, "step") {
		r.t.Errorf("the draft became %q", got)
	}
	return a.ID
}

// waitsForADraft: the runtime cannot take a text beside a person's draft. The text waits until the person has submitted
// theirs, and the agent's note says so.
func waitsForADraft(r *runtimeRig, a daemon.Agent) int64 {
	r.writeDraft(a.ID)
	dl := r.sendMessage(a.ID, "mind the step")
	r.awaitAgent(a.ID, "a note about the draft", func(a daemon.Agent) bool { return a.Note == daemon.HoldDraft.Row().Says })
	r.wantUntyped(a.ID, "mind the step")
	r.personPresses(a.ID, tmux.Enter)
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	r.awaitAsked("mind the step")
	r.wantOnce(draftOfAPerson)
	if got := r.wantOnce("mind the step"); strings.Contains(got, draftOfAPerson) {
		r.t.Errorf("the model was told %q in one", got)
	}
	r.awaitState(a.ID, daemon.Idle)
	return a.ID
}

func (r *runtimeRig) writeDraft(agentID int64) {
	r.t.Helper()
	r.personTypes(agentID, draftOfAPerson)
	r.awaitDraft(agentID, draftOfAPerson)
}

// awaitDraft waits until the agent's composer holds the text.
func (r *runtimeRig) awaitDraft(agentID int64, text string) {
	r.t.Helper()
	r.awaitEvery(tickOfScreens, "the draft", func() (bool, string) {
		shown := r.shown(agentID)
		return r.rt.ReadScreen(runtimes.View{Text: shown}).Draft == text, shown
	})
}

// isInterrupted: a person interrupts the turn. The agent is idle then, and takes the next text.
func isInterrupted(r *runtimeRig, a daemon.Agent) int64 {
	r.hold(a.ID, "tell a long story", "Once upon a time there was a house on a hill.")
	for range max(1, r.rt.Can.Escapes) {
		r.personPresses(a.ID, tmux.Escape)
		<-time.After(300 * time.Millisecond) // two Escapes at once are another key
	}
	r.awaitState(a.ID, daemon.Idle)
	r.api.SetScript(complies) // the interrupted prompt may be asked again with the next one
	r.api.Release()
	r.talk(a.ID, "never mind the story")
	r.wantOnce("never mind the story")
	return a.ID
}

// reportsErrors: an error of the API ends a turn. The agent is idle then and in trouble, until it answers again.
func reportsErrors(r *runtimeRig, a daemon.Agent) int64 {
	failures := len(r.tap.of(a.ID, hooks.StopFailure))
	for _, status := range slices.Sorted(maps.Keys(r.errors)) {
		r.api.SetScript(claudetest.Fails(status, "refused by the fake"))
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Go on").ID, daemon.Submitted)
		failures++
		r.awaitHooks(a.ID, hooks.StopFailure, failures)
		now := r.awaitAgent(a.ID, r.errors[status], func(a daemon.Agent) bool { return a.Trouble != nil && a.Trouble.Code == r.errors[status] })
		if now.State != daemon.Idle || now.Trouble.Message == "" {
			r.t.Errorf("%d: agent is %s in trouble %+v", status, now.State, now.Trouble)
		}
	}
	r.api.SetScript(claudetest.Says("Here I am."))
	r.talk(a.ID, "Are you there?")
	now := r.awaitAgent(a.ID, "no trouble", func(a daemon.Agent) bool { return a.Trouble == nil })
	if n := len(r.tap.of(a.ID, hooks.StopFailure)); now.LastMessage != "Here I am." || n != failures {
		r.t.Errorf("agent said %q last; %d failures, want %d", now.LastMessage, n, failures)
	}
	return a.ID
}

// handsOverByACopy: a copy of the session writes the document; the session itself does not change, and its agent goes on beside its heir.
// The copy has the persona, and refuses the use of the tools that it offers the model.
func handsOverByACopy(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "hello before the copy")
	touched := filepath.Join(r.rig.work, "touched")
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		if isFork(strings.Join(req.UserTexts(), "\n")) && !answered(req) {
			return claudetest.Bash("touch "+touched, false)
		}
		return complies(req)
	})
	h := r.awaitPhase(r.requestHandoffAs(a.ID, handoffs.HandoffRequest{
		Mode: daemon.ModeGenerate, Focus: "Focus on the parser.", Keep: true, Heirs: []daemon.Heir{{Runtime: toy}},
	}), daemon.Completed)
	r.stopAgent(*h.SuccessorID, true)
	r.awaitState(*h.SuccessorID, daemon.Ended) // while an heir works, nobody else may go on with the work
	r.wantOnce("Answer with the handoff document itself")
	copied := r.api.Await(r.t, "the copy", func(req claudetest.Request) bool {
		return req.Aside == "" && isFork(strings.Join(req.UserTexts(), "\n"))
	})
	if n := strings.Count(copied.SystemText(), "You play the persona "+con); n != 1 || (len(copied.Tools) == 0) != r.bare {
		r.t.Errorf("the copy's system prompt has the persona %d times, and it has %d tools", n, len(copied.Tools))
	}
	if _, err := os.Lstat(touched); !os.IsNotExist(err) {
		r.t.Errorf("the copy has used a tool: %v", err)
	}
	if got := r.readFile(h.FilePath); !strings.Contains(got, "Tabs are an error") || h.Structured == nil {
		r.t.Errorf("document %q", got)
	}
	for _, dl := range r.deliveries(a.ID) {
		if dl.HandoffID != nil && *dl.HandoffID == h.ID && dl.Kind == daemon.KindInstruction {
			r.t.Errorf("the session itself was instructed: %+v", dl)
		}
	}
	r.talk(a.ID, "hello after the copy")
	if said := strings.Join(r.lastRequest().UserTexts(), "\n"); !strings.Contains(said, "hello before the copy") || isFork(said) {
		r.t.Errorf("after the copy the session knows %.2000q", said)
	}
	return a.ID
}

// wantFollowed checks what holds after each completed handoff: the outgoing agent has left by its exit command, and the
// successor has its skill and has read document and context.
func (r *runtimeRig) wantFollowed(h daemon.Handoff) {
	r.t.Helper()
	r.awaitHooks(*h.SuccessorID, hooks.Stop, 1)
	next := r.awaitState(*h.SuccessorID, daemon.Idle)
	last := r.lastRequest()
	for i, path := range []string{h.FilePath, *h.ContextPath} {
		got := results(last)
		if !called(last, read(path)) || len(got) < 2 || !strings.Contains(got[i], []string{"Continue with the renderer", "<handoff-context>"}[i]) {
			r.t.Errorf("the successor has not read %s: %.300q", path, got)
		}
	}
	if !strings.Contains(r.wantOnce("you take over from agent"), h.Ref) || next.SkillInjectedAt == nil {
		r.t.Errorf("successor %+v", next)
	}
	r.wantExitedByItself(h.AgentID)
	for _, id := range []int64{h.AgentID, *h.SuccessorID} {
		if waited := r.agentEvents(id, "agent_waiting"); len(waited) > 0 {
			r.t.Errorf("agent %d waited for a person: %d times", id, len(waited))
		}
	}
}

// lastRequest is the newest request that belongs to a conversation.
func (r *runtimeRig) lastRequest() claudetest.Request {
	r.t.Helper()
	for _, req := range slices.Backward(r.api.Requests()) {
		if req.Aside == "" {
			return req
		}
	}
	r.t.Fatal("the model was asked nothing")
	return claudetest.Request{}
}

// wantExitedByItself waits for the agent's end, and fails if more than a request to exit was needed.
func (r *runtimeRig) wantExitedByItself(agentID int64) {
	r.t.Helper()
	a := r.awaitState(agentID, daemon.Ended)
	wantStopStages(r.rig, agentID, daemon.StopAsked)
	if a.EndedAt == nil || agentRow(r.rig, agentID).PID == 0 || alive(agentRow(r.rig, agentID).PID) {
		r.t.Errorf("agent %+v has ended, want its process gone", a)
	}
}

// isKilledAndResumed: somebody kills the process in a turn, after one that failed. The operator is told. The session can be opened
// again, and knows what was said; the failure is not told again.
func isKilledAndResumed(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "remember the number 4711")
	session := r.getAgent(a.ID).SessionID
	failures := len(r.tap.of(a.ID, hooks.StopFailure))
	r.api.SetScript(claudetest.Fails(slices.Min(slices.Collect(maps.Keys(r.errors))), "refused by the fake"))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Go on").ID, daemon.Submitted)
	r.awaitHooks(a.ID, hooks.StopFailure, failures+1)
	r.hold(a.ID, "hold the door", "It is heavy, so very heavy.")
	killProcess(r.rig, agentRow(r.rig, a.ID).PID)
	r.awaitState(a.ID, daemon.Ended)
	r.api.Release()
	awaitAlertEvent(r.rig, "agent_ended")
	again := value(r.client.ResumeAgent(r.t.Context(), a.ID))(r.t)
	r.api.SetScript(complies)
	r.awaitState(again.ID, daemon.Idle)
	r.talk(again.ID, "which number was it?")
	now := r.getAgent(again.ID)
	if now.SessionID == nil || *now.SessionID != *session {
		r.t.Errorf("resumed session %v, want %s", now.SessionID, *session)
	}
	if n := len(r.tap.of(again.ID, hooks.StopFailure)); n != 0 || now.Trouble != nil {
		r.t.Errorf("the resumed agent is in trouble %+v because of an error before its time; %d failures", now.Trouble, n)
	}
	last := r.lastRequest()
	holds(r.t, "what the resumed model knows", strings.Join(last.UserTexts(), "\n"), "remember the number 4711", "which number was it?")
	holds(r.t, "what the resumed model knows", last.SystemText()+strings.Join(last.UserTexts(), "\n"), "You play the persona "+con)
	return again.ID
}

// becomesLimitedByRetries: the API fails, and the CLI would try again without end. After api_timeout the daemon ends the turn, and the
// agent tries again, once, with a prompt.
func becomesLimitedByRetries(r *runtimeRig, a daemon.Agent) int64 {
	if r.retries == 0 {
		return a.ID
	}
	const prompt = "Your last turn ended with an error of the API"
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		if !strings.Contains(strings.Join(req.UserTexts(), "\n"), prompt) {
			return claudetest.Reply{Status: r.retries, Error: "The server is overloaded"}
		}
		return complies(req)
	})
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
	tries := r.awaitAgent(a.ID, "a request that is sent again", func(a daemon.Agent) bool { return a.Trouble != nil && a.Trouble.Retrying })
	if tries.State != daemon.Working || tries.Limit != nil || tries.Trouble.Code != "overloaded" {
		r.t.Errorf("agent is %s with limit %+v and trouble %+v", tries.State, tries.Limit, tries.Trouble)
	}
	r.awaitAgent(a.ID, "the decision to end the turn", func(a daemon.Agent) bool { return a.Limit != nil })
	now := r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Limit == nil })
	list := goesOn(r.rig, a.ID)
	if len(list) != 1 || list[0].Verdict == nil || *list[0].Verdict != daemon.Submitted || now.Trouble != nil || now.LastMessage != "OK" {
		r.t.Errorf("prompts after the limit: %+v; agent %+v", list, now)
	}
	r.wantOnce(prompt)
	equal(r.t, "it was limited", len(r.agentEvents(a.ID, "agent_limited")), 1)
	return a.ID
}

// reportsALimit: a usage limit ends the turn. The agent is in trouble with the limit's own code. A person has it handed over to a second
// account: a new session of the CLI there writes the document from the transcript. It leaves the person's settings and list of sessions
// as they are.
func reportsALimit(r *runtimeRig, a daemon.Agent) int64 {
	failures, files, copies := len(r.tap.of(a.ID, hooks.StopFailure)), r.ownFiles(), r.copiesIn()
	until := time.Now().Add(time.Hour)
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		texts := req.UserTexts()
		if slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, "Now mend the fence") }) {
			return claudetest.Limited(until)(req)
		}
		if r.bare && slices.ContainsFunc(texts, isFork) && len(req.Tools) != 0 {
			r.t.Errorf("the one-shot offers %d tools", len(req.Tools))
		}
		return complies(req)
	})
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the fence").ID, daemon.Submitted)
	r.awaitAgent(a.ID, r.limit, func(a daemon.Agent) bool { return a.Trouble != nil && a.Trouble.Code == r.limit })
	all := r.tap.of(a.ID, hooks.StopFailure)
	if len(all) != failures+1 {
		r.t.Fatalf("%d failures of one turn", len(all)-failures)
	}
	var told struct {
		ResetsAt int64 `json:"resets_at"`
	}
	must(r.t, json.Unmarshal(all[failures].in.Body, &told))
	if off := time.Unix(told.ResetsAt, 0).Sub(until).Abs(); r.limit == runtimes.UsageLimit && (r.untimed && told.ResetsAt != 0 || !r.untimed && off > time.Minute) {
		r.t.Errorf("the limit ends at %s, the runtime tells %s: %s", until, time.Unix(told.ResetsAt, 0), all[failures].in.Body)
	}
	awaitDecided(r.rig, a.ID)
	value(r.client.DecideLimit(r.t.Context(), a.ID, limits.LimitDecision{Do: daemon.LimitHandOver, Runtime: r.secondAccount()}))(r.t)
	h := awaitLimitHandoff(r.rig, a.ID)
	if h.WrittenBy != daemon.WrittenByFallback || h.Degraded || h.Structured == nil {
		r.t.Errorf("handoff %+v, want a document of the second account", h)
	}
	r.wantFollowed(h)
	next := awaitTakeover(r.rig, h)
	equal(r.t, "the successor's runtime", next.Runtime, r.secondAccount())
	r.wantUntouched(files)
	for dir := range r.copiesIn() {
		if !copies[dir] {
			r.t.Errorf("the one-shot has left its session in %s of the person's", dir)
		}
	}
	return next.ID
}

// copiesIn returns the folders of sessions in the home of the person in which a one-shot has left one. An earlier story may have copied a session
// there: a deleted row stays in a database's file.
func (r *runtimeRig) copiesIn() map[string]bool {
	dirs := map[string]bool{}
	for _, path := range r.sessions() {
		if strings.Contains(fileText(path), "Answer with the handoff document itself") {
			dirs[filepath.Dir(path)] = true
		}
	}
	return dirs
}

// sessions lists the files with sessions in the home of the person.
func (r *runtimeRig) sessions() (paths []string) {
	home := ""
	for _, e := range r.environ {
		if dir, is := strings.CutPrefix(e, "HOME="); is {
			home = dir
		}
	}
	for _, pattern := range []string{".gemini/tmp/*/chats/*", ".local/share/opencode/opencode.db*"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are right
		paths = append(paths, found...)
	}
	return paths
}

// quitsByAPerson: a person quits the CLI. That is no accident, and nobody is told.
func quitsByAPerson(r *runtimeRig, a daemon.Agent) int64 {
	quit := cmp.Or(r.rt.Can.ExitText, r.quit)
	var typed, entered time.Time
	r.awaitEvery(tickOfScreens, "the end of the session", func() (bool, string) { // Gemini's menu, still that of "/", has taken the Enter for /clear
		if r.getAgent(a.ID).State == daemon.Ended {
			return true, ""
		}
		shown := r.shown(a.ID)
		switch stands := strings.Contains(shown, quit); {
		case stands && time.Since(entered) > patience:
			r.personPresses(a.ID, tmux.Enter)
			entered = time.Now()
		case !stands && time.Since(typed) > patience && r.rt.ReadScreen(runtimes.View{Text: shown}).Composer:
			r.personTypes(a.ID, quit)
			typed = time.Now()
		}
		return false, shown
	})
	for _, e := range r.agentEvents(a.ID, "agent_ended") {
		if e.Alert {
			r.t.Errorf("the operator is alerted of %s", e.Payload)
		}
	}
	return 0
}

// asksInADialog is told in a mode in which the CLI asks a person before it runs a command.
func asksInADialog(r *runtimeRig, a daemon.Agent) int64 {
	keepsATextFromADialog(r, a)
	return goesOnAfterADialog(r, a)
}

// keepsTodos: the CLI shows its list of todos in its transcript.
func keepsTodos(r *runtimeRig, a daemon.Agent) int64 {
	if r.plan.Tool == "" {
		return a.ID
	}
	r.api.SetScript(claudetest.Ask("plan the bricks", r.plan, complies))
	r.talk(a.ID, "plan the bricks")
	got := value(transcript.Read(r.t.Context(), r.rt, *r.getAgent(a.ID).TranscriptPath, transcript.Want{Messages: 9, Todos: true}))(r.t)
	equal(r.t, "todos", got.Todos, []data.Todo{{Text: "Lay them", Status: "in_progress"}, {Text: "Sweep", Status: "pending"}})
	return a.ID
}

// keepsATextFromADialog: nothing is typed while the CLI asks a person something. The text comes when the person has
// answered.
func keepsATextFromADialog(r *runtimeRig, a daemon.Agent) {
	r.api.SetScript(claudetest.Ask("make the file", claudetest.Bash("touch /nowhere/x", false), complies))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "make the file").ID, daemon.Submitted)
	r.awaitState(a.ID, daemon.Waiting)
	var pressed time.Time
	r.awaitEvery(tickOfScreens, "the dialog", func() (bool, string) {
		shown := r.shown(a.ID)
		if strings.Contains(shown, "Rewind · pick") && time.Since(pressed) > patience { // a starved omp has opened it, and nobody has pressed a key
			r.personPresses(a.ID, tmux.Escape)
			pressed = time.Now()
		}
		return strings.Contains(shown, r.asked), shown
	})
	dl := r.sendMessage(a.ID, "mind the dialog")
	r.wantUntyped(a.ID, "mind the dialog")
	r.awaitShown(a.ID, r.asked)
	r.api.SetScript(complies) // the refused prompt may be asked again with the next one
	r.personPresses(a.ID, r.no)
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	r.awaitAsked("mind the dialog")
	r.wantOnce("mind the dialog")
	r.awaitState(a.ID, daemon.Idle)
}

// goesOnAfterADialog: a person allows a command. While it runs, the agent works and waits for nobody.
func goesOnAfterADialog(r *runtimeRig, a daemon.Agent) int64 {
	stops := len(r.tap.of(a.ID, hooks.Stop))
	file, release := newHoldFile(r.rig)
	r.api.SetScript(claudetest.Ask("hold the door", claudetest.Bash("until test -e "+file+"; do sleep 0.1; done; touch /nowhere/x", false), complies))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "hold the door").ID, daemon.Submitted)
	r.awaitState(a.ID, daemon.Waiting)
	r.awaitShown(a.ID, r.asked)
	r.allow(a.ID)
	r.awaitState(a.ID, daemon.Working)
	equal(r.t, "ended turns while its command ran", len(r.tap.of(a.ID, hooks.Stop)), stops)
	release()
	r.awaitHooks(a.ID, hooks.Stop, stops+1)
	r.awaitState(a.ID, daemon.Idle)
	return a.ID
}

// allow presses Enter until the dialog is gone. A CLI may lose keys that come right after it has drawn its dialog.
func (r *runtimeRig) allow(agentID int64) {
	r.t.Helper()
	var pressed time.Time
	r.awaitEvery(tickOfScreens, "the end of the dialog", func() (bool, string) {
		shown := r.shown(agentID)
		if !strings.Contains(shown, r.asked) {
			return true, shown
		}
		if time.Since(pressed) > 5*time.Second {
			r.personPresses(agentID, tmux.Enter)
			pressed = time.Now()
		}
		return false, shown
	})
}
