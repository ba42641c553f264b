package top

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
)

// bare is what is shown, without colours.
func (m *model) bare() string { return escapes.ReplaceAllString(m.shows(), "") }

// last is the line at the bottom.
func (m *model) last() string {
	lines := m.screenLines()
	return escapes.ReplaceAllString(lines[len(lines)-1], "")
}

// dead is an agent that died, with a session that may be opened again.
func dead(id int64, cause string) daemon.Agent {
	a := agent(id, daemon.Ended, 5)
	session := "s"
	a.EndedAt, a.EndCode, a.SessionID, a.RegisteredAt, a.EndCause = &a.StateAt, daemon.EndedGone, &session, &a.CreatedAt, cause
	return a
}

// needs is what the daemon says of agents, some of which have ended.
func needs(active, ended []daemon.Agent) freshMsg {
	return freshMsg{at: noon, agents: active, needs: (&views.Overview{At: noon, Agents: active, Ended: ended}).Attention()}
}

// N proposes an agent like the selected one, in its directory. The form stays until the agent is there, and then that one is
// selected.
func TestNewAgent(t *testing.T) {
	t.Parallel()
	slug := "reviewer-ada-1"
	a := agent(7, daemon.Idle, 1)
	a.Persona = &slug
	m := opened(t, snapshot{agents: []daemon.Agent{a}})
	if pressed(m, "N") == nil {
		t.Fatal("nothing is read")
	}
	f := m.form
	if got := f.filled().start; got.Persona != slug || got.Cwd != "/srv/app" || got.Columns != 120 || got.Rows != 30 {
		t.Errorf("proposed: %+v", got)
	}
	m.Update(offerMsg{form: f, field: personaField, options: []option{{value: "architect-ivo-1"}, {value: slug}, {value: "tester-kit-1"}, {name: "none"}}})
	m.Update(offerMsg{form: f, field: runtimeField, options: []option{{name: "the persona's"}, {value: "claude"}, {value: "codex"}}})
	if got := f.filled().start; got.Persona != slug || got.Runtime != "" {
		t.Errorf("the lists have changed the proposal: %+v", got)
	}
	pressed(m, "kit", "tab", "tab", "cod", "tab", "checkout", "tab", "line one")
	m.Update(tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl})
	pressed(m, "line two")
	want := agents.NewAgent{Persona: "tester-kit-1", Cwd: "/srv/app", Runtime: "codex", Prompt: "line one\nline two", Name: "checkout", Columns: 120, Rows: 30}
	equal(t, "f.filled().start", f.filled().start, want)
	pressed(m, "enter", "typed too late", "enter")
	if !f.busy || m.form != f || !strings.Contains(m.bare(), "starting an agent…") {
		t.Fatalf("the form does not wait:\n%s", m.bare())
	}
	m.Update(doneMsg{err: daemon.Errorf(daemon.KindInvalid, "bad_cwd", "No such directory"), form: f})
	if m.form != f || f.busy || !strings.Contains(m.bare(), "No such directory") || !reflect.DeepEqual(f.filled().start, want) {
		t.Fatalf("what was typed is lost, or the reason is not shown:\n%s", m.bare())
	}
	pressed(m, "enter")
	m.Update(doneMsg{err: errSlow, form: f})
	wantShown(t, m, "it may have been done")
	pressed(m, "enter")
	m.Update(doneMsg{said: "agent 9 (checkout) is starting", form: f, agent: 9})
	if m.form != nil || m.row().id != 7 {
		t.Error("the form is still open, or another row is selected")
	}
	pressed(m, "enter") // the keys in the details are about agent 7
	m.Update(freshMsg(seen(snapshot{agents: []daemon.Agent{a, agent(9, daemon.Starting, 0)}})))
	equal(t, "another row is selected behind the details", m.row().id, 7)
	pressed(m, "esc")
	m.Update(freshMsg(seen(snapshot{agents: []daemon.Agent{a, agent(9, daemon.Starting, 0)}})))
	if m.row() == nil || m.row().id != 9 {
		t.Errorf("selected is %v, want the new agent", m.selected)
	}
}

// Enter sends a message of several lines. What was not sent is not lost, and the operator is told when the agent has taken it.
func TestMessage(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(7, daemon.Working, 1), agent(8, daemon.Idle, 1)}})
	pressed(m, "m", "hello", "esc", "down", "m")
	if got := m.form.filled(); got.text != "" || got.agent != 8 {
		t.Errorf("the message to agent 8 begins with %q", got.text)
	}
	pressed(m, "esc", "up", "m")
	m.Update(tea.PasteMsg{Content: " you\n/x\x1b[2J"})
	equal(t, "m.form.filled()", m.form.filled(), (action{verb: sendMessage, agent: 7, text: "hello you\n/x[2J"}))
	f := m.form
	pressed(m, "enter")
	m.Update(doneMsg{err: daemon.Errorf(daemon.KindUnprocessable, daemon.CodeTextIsCommand, "It is a command"), form: f})
	if !strings.Contains(m.bare(), "Send it as a command?") || !strings.Contains(m.last(), "y send it as a command") {
		t.Fatalf("nothing is asked:\n%s", m.bare())
	}
	pressed(m, "x")
	if m.form != f || f.asking || f.filled().text != "hello you\n/x[2J" || f.filled().runs {
		t.Fatalf("the text is lost, or it is a command: %+v", f.filled())
	}
	f.asCommand()
	if cmd := pressed(m, "y"); cmd == nil || !f.filled().runs || !f.busy {
		t.Error("y does not send it as a command")
	}
	m.Update(doneMsg{said: "queued for agent 7", form: f, sent: &daemon.Delivery{ID: 5, AgentID: 7, State: daemon.DeliveryQueued}})
	if m.form != nil || m.drafts[7] != "" || !strings.Contains(m.said, "queued for agent 7: agent 7 is in a turn") {
		t.Errorf("said %q, draft %q", m.said, m.drafts[7])
	}
	for _, c := range []struct {
		verdict daemon.Verdict
		said    string
		wrong   bool
	}{{daemon.Submitted, "agent 7 has taken the text", false}, {daemon.Unconfirmed, "agent 7 has not taken the text, as far as is known (no hook): look at it with a", true}} {
		m.sent = []daemon.Delivery{{ID: 5, AgentID: 7}}
		m.Update(sentMsg{{ID: 5, AgentID: 7, State: daemon.DeliveryQueued}})
		if len(m.sent) != 1 {
			t.Fatal("a text without a verdict is forgotten")
		}
		m.Update(sentMsg{{ID: 5, AgentID: 7, State: daemon.DeliveryDone, Verdict: &c.verdict, Evidence: "no hook"}})
		if m.said != c.said || m.wrong != c.wrong || len(m.sent) != 0 {
			t.Errorf("said %q", m.said)
		}
	}
}

// An agent is stopped only after a question that says what that means, and by y or f alone.
func TestStopAsks(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(7, daemon.Working, 1)}})
	for key, force := range map[string]bool{"y": false, "f": true} {
		if cmd := pressed(m, "s"); cmd != nil || !strings.Contains(m.bare(), "asked to exit") || !strings.Contains(m.last(), "y stop  f end it at once  Esc leave it") {
			t.Fatalf("nothing is asked:\n%s", m.bare())
		}
		doesNothing(t, m, "enter")
		pressed(m, "s")
		f := m.form
		if cmd := pressed(m, key); cmd == nil || m.said != "stopping agent 7…" || f.filled().force != force {
			t.Errorf("%s: said %q, %+v", key, m.said, f.filled())
		}
	}
}

// r opens the session of the selected agent again that died, or that was selected when it ended; R those of all that died.
func TestResume(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{})
	lost := dead(2, "")
	lost.SessionID = nil // of which nothing can be opened again
	m.Update(needs([]daemon.Agent{agent(1, daemon.Idle, 1)}, []daemon.Agent{dead(7, ""), dead(8, "server"), dead(9, "server"), lost}))
	choose := func(id int64) { m.choose(m.find(key{agentRow, id})) }
	choose(7)
	if cmd := pressed(m, "r"); cmd == nil || m.said != "opening the session of agent 7…" || !strings.HasPrefix(m.last(), "r resume  D dismiss") {
		t.Errorf("said %q, keys %q", m.said, m.last())
	}
	choose(8)
	if cmd := pressed(m, "r"); cmd != nil || m.form == nil || !slices.Equal(m.form.filled().ids, []int64{8, 9}) {
		t.Errorf("r on agents that died together does not ask about them: %+v", m.form)
	}
	if cmd := pressed(m, "esc", "R"); cmd != nil || !strings.Contains(m.bare(), "Open the sessions of 3 agents again?") {
		t.Errorf("R does not ask:\n%s", m.bare())
	}
	if cmd := pressed(m, "y"); cmd == nil || !strings.HasPrefix(m.said, "opening the session of agents ") {
		t.Errorf("y does not open them: %q", m.said)
	}
	choose(2)
	if strings.Contains(m.last(), "r resume") {
		t.Errorf("a session that is not there may be opened: %q", m.last())
	}
	if cmd := pressed(m, "r"); cmd != nil || m.form != nil || m.said != "agent 2: no session can be opened again; D dismisses it" {
		t.Errorf("r on it: %q", m.said)
	}
	asksFor(t, m, "dismissing agent 2…", "D")
	choose(8)
	if !strings.HasPrefix(m.last(), "r resume all 2  D dismiss all 2") {
		t.Errorf("keys of agents that died together: %q", m.last())
	}
	asksFor(t, m, "dismissing agents 8, 9…", "D")
	choose(1)
	if cmd := pressed(m, "D"); cmd != nil || !m.wrong {
		t.Errorf("D on an agent that lives: %q", m.said)
	}
	choose(1)
	if cmd := pressed(m, "r"); cmd == nil || m.form == nil || m.form.action.verb != resumeAgents {
		t.Error("r offers no list of those that have ended")
	}
	pressed(m, "esc")
	m.Update(needs(nil, nil))
	if m.row() != nil || !strings.Contains(m.bare(), "agent 1 has ended: r opens its session again") {
		t.Fatalf("it does not say what can be done:\n%s", m.bare())
	}
	asksFor(t, m, "opening the session of agent 1…", "r")
}

// Tab goes round among those that need somebody or have finished, from wherever the selection is.
func TestJump(t *testing.T) {
	t.Parallel()
	done := agent(3, daemon.Idle, 1)
	done.Unread = true
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Waiting, 9), agent(2, daemon.Waiting, 5), done, agent(4, daemon.Working, 1), agent(5, daemon.Idle, 1)}})
	m.choose(m.find(key{agentRow, 5}))
	for _, c := range []struct {
		key  string
		want int64
	}{{"tab", 1}, {"tab", 2}, {"tab", 3}, {"tab", 1}, {"shift+tab", 3}, {"shift+tab", 2}} {
		if pressed(m, c.key); m.row().id != c.want {
			t.Errorf("%s leads to %s, want %d", c.key, m.row(), c.want)
		}
	}
	m = opened(t, snapshot{agents: []daemon.Agent{agent(4, daemon.Working, 1)}})
	if pressed(m, "tab"); m.said != "nothing needs you, and nobody has finished" || strings.Contains(m.last(), "Tab") {
		t.Errorf("said %q, keys %q", m.said, m.last())
	}
	m = opened(t, snapshot{})
	pressed(m, "tab", "shift+tab")
}

// The line of keys says for each kind of row what can be done first, ends with the key that shows all, and fits any width.
func TestKeysOfARow(t *testing.T) {
	t.Parallel()
	asks := agent(2, daemon.Waiting, 1)
	asks.WaitsFor = "trust this folder?"
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1), asks, agent(3, daemon.Idle, 1)}, handoffs: []daemon.Handoff{handoff(8, 3, daemon.Briefing)}}, gate(4, 1))
	for label, want := range map[string]string{
		"1":  "a attach  m message  Tab next  h hand off  d diff  s stop  e rename  N new  p preview  / filter  q quit  ? all keys",
		"2":  "x answer  a attach  Tab next  m message  d diff",
		"3":  "a attach  c cancel handoff  Tab next  m message  d diff  s stop",
		"p4": "y approve  n reject  Tab next  Enter details  N new",
	} {
		m.choose(slices.IndexFunc(m.rows, func(r row) bool { return r.label() == label }))
		for _, m.w = range []int{200, 118, 80, 60, 40, 12, 5} {
			got := m.last()
			if n := fit.Width(got); n > m.w || m.w >= 12 && !strings.HasSuffix(got, "? all keys") {
				t.Errorf("%s at %d columns: %q", label, m.w, got)
			}
			if m.w == 118 && !strings.HasPrefix(got, want) {
				t.Errorf("%s:\n got %s\nwant %s", label, got, want)
			}
		}
	}
	if m.w = 80; pressed(m, "y") != nil {
		t.Error("y did something")
	}
}
