package top

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

var noon = time.Date(2031, 5, 4, 12, 3, 4, 0, time.Local)

// agent is one in a state for so many minutes.
func agent(id int64, state daemon.AgentState, minutes int) daemon.Agent {
	pane := fmt.Sprintf("%%%d", id)
	return daemon.Agent{
		ID: id, Name: fmt.Sprintf("agent-%d", id), State: state, StateAt: noon.Add(-time.Duration(minutes) * time.Minute),
		AgentPane: daemon.AgentPane{Pane: &pane}, Host: "one", Runtime: "claude", AgentSession: daemon.AgentSession{Cwd: "/srv/app"}, Generation: 1,
	}
}

// handoff is one of an agent, in a phase since noon.
func handoff(id, agentID int64, phase daemon.Phase) daemon.Handoff {
	h := daemon.Handoff{ID: id, AgentID: agentID, Phase: phase, SourceAgent: fmt.Sprintf("agent-%d", agentID), CreatedAt: noon, Persona: "developer-con-1"}
	if phase == daemon.Failed {
		h.Error = &daemon.Failure{Phase: daemon.Verifying, Code: "document_missing", Message: "There is no document.", Hint: "Ask for it"}
	}
	return h
}

// gate is a run whose second step waits for approval.
func gate(id int64, minutes int) daemon.Pipeline {
	return daemon.Pipeline{
		ID: id, Title: "login", Template: "gate", Prompt: "make it fast", Status: daemon.PipelineWaiting, Host: "one",
		UpdatedAt: noon.Add(-time.Duration(minutes) * time.Minute),
		Steps: []daemon.Step{
			{ID: 10*id + 1, AgentName: "developer", Status: daemon.StepDone, LatestHandoff: &daemon.StepHandoff{ContentMD: "# Done\n\nall of it"}},
			{ID: 10*id + 2, AgentName: "reviewer", Status: daemon.StepPending, Approval: true},
		},
	}
}

// seen adds what the daemon says of rows, of which some are pipelines.
func seen(s snapshot, pipelines ...daemon.Pipeline) snapshot {
	s.at = noon
	s.needs = (&views.Overview{At: noon, Agents: s.agents, Handoffs: s.handoffs, Pipelines: pipelines}).Attention()
	return s
}

// opened is the program with what there is, at 120x30.
func opened(t *testing.T, s snapshot, pipelines ...daemon.Pipeline) *model {
	t.Helper()
	s = seen(s, pipelines...)
	same := func(s string) string { return s }
	m := newModel(t.Context(), Config{Explain: func(err error) string { return err.Error() }, Words: same}, s)
	m.preview.mode = previewOff
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 30})
	return m
}

// pressed presses keys by their names, a word of several letters letter by letter, and returns what the
// last one led to.
func pressed(m *model, keys ...string) (cmd tea.Cmd) {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "down": tea.KeyDown, "up": tea.KeyUp,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
	}
	for _, k := range keys {
		if k == "shift+tab" {
			_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift})
			continue
		}
		if code, ok := special[k]; ok {
			_, cmd = m.Update(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range k {
			_, cmd = m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return cmd
}

// labels are the rows, in order.
func labels(m *model) string {
	var out []string
	for i := range m.rows {
		out = append(out, m.rows[i].label())
	}
	return strings.Join(out, " ")
}

func (m *model) shows() string { return strings.Join(m.screenLines(), "\n") }

// asksFor presses keys, the last of which must ask the daemon for something, and the program says for what.
func asksFor(t *testing.T, m *model, said string, keys ...string) {
	t.Helper()
	if cmd := pressed(m, keys...); cmd == nil || m.said != said {
		t.Errorf("%q: asked %t, said %q, want %q", keys, cmd != nil, m.said, said)
	}
}

// doesNothing presses keys, which must neither ask the daemon for something nor open a form.
func doesNothing(t *testing.T, m *model, keys ...string) {
	t.Helper()
	if cmd := pressed(m, keys...); cmd != nil || m.form != nil {
		t.Errorf("%q: asked %t, form %+v", keys, cmd != nil, m.form)
	}
}

// wantShown looks for texts on the screen.
func wantShown(t *testing.T, m *model, texts ...string) {
	t.Helper()
	holds(t, "the screen", m.bare(), texts...)
}

func TestWhoNeedsAPersonComesFirst(t *testing.T) {
	t.Parallel()
	old := handoff(4, 90, daemon.Failed)
	old.CreatedAt = noon.Add(-48 * time.Hour)
	retried := handoff(5, 7, daemon.Failed) // which has a newer one, as has that of agent 2
	successor := handoff(9, 91, daemon.Failed)
	goesOn := agent(8, daemon.Idle, 5)
	goesOn.PreviousAgentID = &successor.AgentID
	s := snapshot{
		at: noon,
		agents: []daemon.Agent{
			agent(1, daemon.Starting, 1), agent(2, daemon.Idle, 2), agent(3, daemon.Working, 3), agent(4, daemon.Waiting, 4),
			agent(5, daemon.Waiting, 40), agent(6, daemon.Idle, 6), agent(7, daemon.Working, 7), goesOn,
		},
		handoffs: []daemon.Handoff{
			successor, handoff(8, 92, daemon.Failed), handoff(7, 6, daemon.Failed), handoff(6, 7, daemon.Instructing), retried, old,
			handoff(3, 2, daemon.Cancelled), handoff(2, 2, daemon.Failed),
		},
	}
	equal(t, "rows are", labels(opened(t, s, gate(1, 20))), "5 p1 4 6 h8 3 7 2 8 1")
}

func TestSelectionStaysWithWhomItIsOn(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), agent(2, daemon.Idle, 1), agent(3, daemon.Idle, 1)}})
	pressed(m, "down", "down")
	m.Update(freshMsg(seen(snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), agent(2, daemon.Idle, 1), agent(3, daemon.Waiting, 1)}})))
	if r := m.row(); r == nil || r.id != 3 || m.at != 0 {
		t.Fatalf("selected %v at %d, want agent 3 at the top", m.selected, m.at)
	}
	// It ends: who goes on with its work is selected, also if it comes later, and no key that was meant for it acts on that one.
	heir := agent(4, daemon.Waiting, 1)
	heir.PreviousAgentID = new(int64(3))
	m.Update(freshMsg(seen(snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), agent(2, daemon.Idle, 1)}})))
	if r := m.row(); r != nil || !strings.Contains(m.shows(), "agent 3 has ended: r opens its session again") {
		t.Errorf("selected %v before anybody goes on:\n%s", m.selected, m.shows())
	}
	m.Update(freshMsg(seen(snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), agent(2, daemon.Idle, 1), heir}})))
	if r := m.row(); r == nil || r.id != 4 || !strings.Contains(m.shows(), "agent 3 has ended; agent 4 goes on with its work") {
		t.Errorf("selected %v; it is not said what became of it:\n%s", m.selected, m.shows())
	}
	for _, k := range []string{"a", "h", "c", "t", "y", "n"} {
		if cmd := pressed(m, k); cmd != nil || m.form != nil || m.screen != listScreen || !strings.Contains(m.said, "gone on to agent 4") {
			t.Errorf("%s did something although the selection has just moved: %s", k, m.said)
		}
	}
	m.now = m.now.Add(followed)
	if pressed(m, "h"); m.form == nil || m.form.action.agent != 4 {
		t.Errorf("h after a second: %q", m.said)
	}
	pressed(m, "esc")
	// That one ends, and two go on with its work: nobody comes to be selected in its place.
	var heirs []daemon.Agent
	for id := range int64(2) {
		h := agent(5+id, daemon.Idle, 1)
		h.PreviousAgentID = &heir.ID
		heirs = append(heirs, h)
	}
	m.Update(freshMsg(seen(snapshot{agents: append(heirs, agent(1, daemon.Idle, 1))})))
	for _, k := range []string{"a", "h", "c", "t", "y", "n", "enter"} {
		if cmd := pressed(m, k); cmd != nil || m.form != nil || m.screen != listScreen {
			t.Errorf("%s did something although the selected row has gone", k)
		}
	}
	if pressed(m, "down"); m.row() == nil {
		t.Error("down selects nobody")
	}
}

// An action is about whom it was asked for, whatever has happened to the list meanwhile.
func TestActionNamesWhomItWasAskedFor(t *testing.T) {
	t.Parallel()
	both := snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), agent(2, daemon.Idle, 1)}}
	m := opened(t, both, gate(3, 1))
	pressed(m, "end", "h", "full", "tab", "the login q?/")
	m.Update(freshMsg{at: noon, agents: []daemon.Agent{agent(1, daemon.Idle, 1)}})
	equal(t, "the form is for", m.form.filled(), (action{verb: handOff, agent: 2, reason: "full", text: "the login q?/"}))
	asksFor(t, m, "handing off agent 2…", "enter")

	m = opened(t, both, gate(3, 1))
	pressed(m, "y", "fine")
	equal(t, "the form is for", m.form.filled(), (action{verb: approve, pipeline: 3, step: 32, text: "fine"}))
	asksFor(t, m, "approving pipeline 3…", "enter")
	if cmd := pressed(m, "n", "enter"); cmd != nil || m.form == nil || !strings.Contains(m.shows(), "Reject pipeline 3? That ends it.") {
		t.Errorf("n did not ask:\n%s", m.shows())
	}
	doesNothing(t, m, "x")
	asksFor(t, m, "rejecting pipeline 3…", "n", "enter", "y")
}

// What is typed is seen, also when there is no room for all of it.
func TestFormShowsTheEndOfALongText(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1)}})
	m.w = 40
	pressed(m, "h", "tab")
	for range 3 {
		pressed(m, strings.Repeat("words ", 20)+"the end")
		holds(t, "its end", m.bare(), "the end")
		m.w += 10
	}
	pressed(m, "shift+tab")
	m.Update(tea.PasteMsg{Content: "full\nof\x1b[2J 🇩🇪"})
	equal(t, "pasted", m.form.filled().reason, "full of[2J DE")
}

func TestKeysThatHaveNothingToDo(t *testing.T) {
	t.Parallel()
	bare := agent(2, daemon.Idle, 1)
	bare.Pane = nil
	m := opened(t, snapshot{
		agents:   []daemon.Agent{agent(1, daemon.Idle, 1), bare, agent(3, daemon.Idle, 1)},
		handoffs: []daemon.Handoff{handoff(8, 3, daemon.Briefing), handoff(7, 99, daemon.Failed)},
	})
	for _, c := range []struct{ select_, key, want string }{
		{"h7", "a", "select one"}, {"h7", "h", "select one"}, {"h7", "c", "handoff 7 has no open handoff"}, {"h7", "y", "select one that waits"},
		{"1", "c", "agent 1 has no open handoff"}, {"1", "t", "agent 1 has no handoff that could"}, {"1", "n", "select one that waits"},
		{"2", "a", "agent 2 has no tmux pane"}, {"3", "t", "agent 3 has no handoff that could"},
	} {
		m.choose(slices.IndexFunc(m.rows, func(r row) bool { return r.label() == c.select_ }))
		if cmd := pressed(m, c.key); cmd != nil || m.form != nil || !m.wrong || !strings.Contains(m.said, c.want) {
			t.Errorf("%s on %s: said %q, want %q", c.key, c.select_, m.said, c.want)
		}
	}
	m.choose(slices.IndexFunc(m.rows, func(r row) bool { return r.id == 3 }))
	asksFor(t, m, "cancelling handoff 8…", "c")
	m.choose(0)
	asksFor(t, m, "retrying handoff 7…", "t")
}

func TestFilter(t *testing.T) {
	t.Parallel()
	con, far := agent(1, daemon.Idle, 1), agent(2, daemon.Working, 1)
	slug := "developer-con-1"
	con.Persona, far.Host = &slug, "mars"
	m := opened(t, snapshot{agents: []daemon.Agent{con, far, agent(3, daemon.Idle, 1)}}, gate(4, 1))
	for typed, want := range map[string]string{
		"con idle": "1", "MARS": "2", "agent-3": "3", "approval": "p4", "idle mars": "", "": "p4 2 1 3",
	} {
		pressed(m, "/", typed, "enter")
		equal(t, "filter", labels(m), want)
		pressed(m, "esc")
	}
	pressed(m, "end", "/", "agent", "enter")
	if m.row() == nil || m.row().id != 3 || !strings.Contains(m.shows(), "filter agent: 3 of 4") {
		t.Errorf("selected %v:\n%s", m.selected, m.shows())
	}
	pressed(m, "/", "-1")
	if pressed(m, "esc"); labels(m) != "p4 2 1 3" || m.filtering {
		t.Errorf("Esc did not clear the filter: %s", labels(m))
	}
}

func TestStale(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1)}})
	m.Update(doneMsg{said: "handoff 7 goes on"}) // that is older
	m.Update(lostMsg{errSlow})
	m.Update(tickMsg(noon.Add(time.Second)))
	for _, columns := range []int{120, 40} {
		m.w = columns
		holds(t, fmt.Sprintf("the title at %d columns", columns), m.screenLines()[0], "stale since 12:03:04, reconnecting")
	}
	wantShown(t, m, "does not answer", "agent-1")
	m.Update(freshMsg{at: noon.Add(time.Minute)})
	if got := m.shows(); strings.Contains(got, "stale") || !strings.Contains(got, "12:04:04") || !strings.Contains(got, "no agents") {
		t.Errorf("after it came back:\n%s", got)
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1)}, handoffs: []daemon.Handoff{handoff(7, 1, daemon.Failed)}})
	if pressed(m, "enter") == nil {
		t.Fatal("the details are not read")
	}
	h := handoff(7, 1, daemon.Failed)
	m.Update(detailsMsg{key: key{agentRow, 2}}) // late, of another
	m.Update(detailsMsg{key: key{agentRow, 1}, handoff: &h, moves: []daemon.Transition{
		{From: daemon.Requested, To: daemon.Instructing, At: noon.Add(10 * time.Millisecond)},
		{From: daemon.Instructing, To: daemon.Failed, At: noon.Add(2510 * time.Millisecond)},
	}})
	wantShown(t, m, "✓ requested                0.01 s", "✗ instructing              2.50 s", "verifying (document_missing)", "There is no document.", "Ask for it")
	if strings.Contains(m.bare(), "over time") {
		t.Errorf("a window that was never measured is drawn:\n%s", m.bare())
	}
	m.Update(detailsMsg{key: key{agentRow, 1}, handoff: &h, spark: "▁▃█ in 2 h"})
	wantShown(t, m, "over time  ▁▃█ in 2 h")
	asksFor(t, m, "retrying handoff 7…", "t")
	if pressed(m, "?", "x"); m.screen != detailScreen {
		t.Error("help does not lead back to the details")
	}
	if pressed(m, "esc"); m.screen != listScreen {
		t.Error("Esc does not lead back to the list")
	}

	m = opened(t, snapshot{}, gate(3, 1))
	pressed(m, "enter")
	p := gate(3, 1)
	m.Update(detailsMsg{key: key{pipelineRow, 3}, pipeline: &p})
	wantShown(t, m, "make it fast", "1. developer", "output of step 1", "all of it")
}

// TestWhatEndedBadlyIsShown: an agent that died and a pipeline that failed have rows, whose keys do nothing that can't be
// done, and which name what can.
func TestWhatEndedBadlyIsShown(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{})
	died, broken := agent(7, daemon.Ended, 5), gate(3, 1)
	died.EndedAt, died.EndCode = &died.StateAt, daemon.EndedGone
	broken.Status, broken.FinishedAt, broken.Hint = daemon.PipelineFailed, &noon, "mend the template"
	needs := (&views.Overview{At: noon, Ended: []daemon.Agent{died}, Pipelines: []daemon.Pipeline{broken}}).Attention()
	m.Update(freshMsg{at: noon, needs: needs})
	m.choose(1)
	if got := labels(m); got != "p3 7" || !strings.Contains(m.shows(), "2 need you") || !strings.Contains(m.shows(), "understudy agent start") {
		t.Errorf("rows are %s:\n%s", got, m.shows())
	}
	for _, k := range []string{"a", "h", "c", "t", "y"} {
		if cmd := pressed(m, k); cmd != nil || m.form != nil || !m.wrong {
			t.Errorf("%s did something about an agent that has ended", k)
		}
	}
	m.choose(0)
	if cmd := pressed(m, "y"); cmd != nil || m.form != nil || !strings.Contains(m.shows(), "mend the template") {
		t.Errorf("y did something about a pipeline that has failed, or it is not said what to do:\n%s", m.shows())
	}
}

// TestTroubleNeedsAPerson: an agent whose turns fail is not idle among those that are done. While it tries again it
// is at work.
func TestTroubleNeedsAPerson(t *testing.T) {
	t.Parallel()
	fails, tries := agent(2, daemon.Idle, 1), agent(3, daemon.Working, 1)
	for _, a := range []*daemon.Agent{&fails, &tries} {
		a.Trouble = &daemon.Trouble{Code: "usage_limit", Message: "You've hit your limit", Since: noon.Add(-time.Hour)}
	}
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), fails, tries}})
	equal(t, "rows are", labels(m), "2 3 1")
	if shown := m.shows(); strings.Count(shown, "usage_limit: You've hit your limit") == 0 || !strings.Contains(shown, "trouble 60 min") {
		t.Errorf("it shows\n%s", shown)
	}
}

// TestKeysDecideAboutALimit: w and o decide about the limit of the selected agent, as far as that can be decided.
func TestKeysDecideAboutALimit(t *testing.T) {
	t.Parallel()
	limited := func(id int64, l daemon.Limit) daemon.Agent {
		a := agent(id, daemon.Limited, 1)
		a.Limit = &l
		return a
	}
	m := opened(t, snapshot{agents: []daemon.Agent{
		limited(1, daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitAsk}), limited(2, daemon.Limit{Kind: daemon.LimitContext, Do: daemon.LimitAsk}),
		limited(3, daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitWait}), limited(4, daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitHandOver}),
		agent(5, daemon.Idle, 1),
	}})
	for _, c := range []struct {
		id        int64
		key, want string
		does      bool
	}{
		{1, "w", "deciding about the limit of agent 1…", true}, {1, "o", "deciding about the limit of agent 1…", true},
		{2, "w", "gives its work to a successor", false}, {2, "o", "deciding about the limit of agent 2…", true},
		{3, "w", "goes on by itself after the reset", false}, {3, "o", "deciding about the limit of agent 3…", true},
		{4, "w", "it is handed over", false}, {4, "o", "it is handed over", false},
		{5, "w", "select an agent that has hit one", false}, {5, "o", "select an agent that has hit one", false},
	} {
		m.said, m.wrong = "", false
		m.choose(slices.IndexFunc(m.rows, func(r row) bool { return r.id == c.id }))
		if cmd := pressed(m, c.key); (cmd != nil) != c.does || m.wrong == c.does || !strings.Contains(m.said, c.want) {
			t.Errorf("%s on agent %d: said %q, want %q", c.key, c.id, m.said, c.want)
		}
	}
}
