package top

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
)

// hostile are texts that agents could have written.
var hostile = []string{
	"\x1b[2J\x1b]0;owned\a\x1b[31mred", "a\nb\r\nc\td\v", "日本語の長い名前がここにあります", "👨‍👩‍👧‍👦👍🏽🇩🇪❤️", "e" + strings.Repeat("\u0301", 50),
	"\u202eesrever\u202c\u2066", "\u009b5mcsi", strings.Repeat("x", 300), strings.Repeat("﷽", 20), "", " ", "\xff\xfe", "\u200b\u00ad\ufeff", "नमस्ते दुनिया",
}

// escapes matches what changes colours, the only thing but text that may be written.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wantFits fails unless what is shown fills the terminal and no more, with nothing that could steer it.
func wantFits(t *testing.T, what string, m *model) {
	t.Helper()
	lines := m.screenLines()
	equal(t, what, len(lines), m.h)
	for _, line := range lines {
		bare := escapes.ReplaceAllString(line, "")
		if n := fit.Width(bare); n > m.w {
			t.Errorf("%s at %dx%d: %d columns in %q", what, m.w, m.h, n, bare)
		}
		if i := strings.IndexFunc(bare, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }); i >= 0 {
			t.Errorf("%s: %q is written to the terminal", what, bare)
		}
	}
}

// everything is a list with all kinds of rows, of which each text is hostile.
func everything() (s snapshot, pipelines []daemon.Pipeline) {
	states := []daemon.AgentState{daemon.Waiting, daemon.Working, daemon.Idle, daemon.Starting}
	s.at = noon
	for i, text := range hostile {
		a := agent(int64(i+1), states[i%len(states)], i*37)
		percent := float64(i * 11)
		limit := int64(200_000)
		a.Name, a.Persona, a.WaitsFor, a.Note, a.LastMessage, a.Cwd, a.Host, a.Runtime = text, &text, text, text, text+"\n"+text, text, text, text
		a.Context = &daemon.ContextUse{Tokens: int64(percent * 2000), Limit: &limit, Percent: &percent, Tier: []daemon.Tier{daemon.TierNormal, daemon.TierWarn, daemon.TierHigh}[i%3]}
		h := handoff(int64(100+i), a.ID, []daemon.Phase{daemon.Failed, daemon.AwaitingRegistration, daemon.Completed}[i%3])
		h.Note, h.SourceAgent, h.Reason, h.Focus, h.Warnings = text, text, text, text, []string{text}
		if h.Error != nil {
			h.Error.Message, h.Error.Hint, h.Error.Code = text, text, daemon.Code(text)
		}
		orphan := h
		orphan.ID, orphan.AgentID = h.ID+100, 1000+a.ID
		p := gate(int64(i+1), i)
		p.Title, p.Template, p.Prompt, p.Cwd, p.Host, p.Warnings = text, text, text, text, text, []string{text}
		p.Steps[0].AgentName, p.Steps[1].AgentName = text, text
		p.Steps[0].LatestHandoff = &daemon.StepHandoff{ContentMD: strings.Join(hostile, "\n")}
		s.agents, s.handoffs, pipelines = append(s.agents, a), append(s.handoffs, h, orphan), append(pipelines, p)
	}
	return s, pipelines
}

// Nothing that agents write breaks the screen, on any terminal.
func TestNothingBreaksTheScreen(t *testing.T) {
	t.Parallel()
	s, pipelines := everything()
	for i, size := range [][2]int{{40, 8}, {60, 20}, {120, 30}, {47, 12}, {89, 24}, {20, 5}, {1, 1}} {
		m := opened(t, s, pipelines...)
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for at := i; at < len(m.rows); at += 1 + 3*min(i, 1) { // all of them on the narrowest
			m.choose(at)
			r := m.row()
			wantFits(t, "the list", m)
			pressed(m, "enter")
			h := s.handoffs[at%len(s.handoffs)]
			msg := detailsMsg{key: r.key, handoff: &h, moves: []daemon.Transition{{From: daemon.Requested, At: noon}, {From: daemon.AwaitingRegistration, To: daemon.Failed}}}
			if r.kind == pipelineRow {
				msg.pipeline = r.pipeline
			}
			m.Update(msg)
			wantFits(t, "the details", m)
			pressed(m, "end")
			wantFits(t, "the end of the details", m)
			pressed(m, map[kind]string{agentRow: "h", pipelineRow: "n", handoffRow: "?"}[r.kind])
			for _, text := range hostile {
				m.Update(tea.PasteMsg{Content: text})
			}
			wantFits(t, "a form", m)
			pressed(m, "enter", "esc")
			m.Update(doneMsg{said: hostile[at%len(hostile)]})
			pressed(m, "esc", "esc")
			wantFits(t, "what was said", m)
			for range 3 {
				pressed(m, "p")
				m.Update(previewMsg{asked: m.preview.asked, screen: "\x1b[7;38;5;200mx\x1b[2J" + strings.Join(hostile, "\n\x1b[44m")})
				wantFits(t, fmt.Sprintf("the list with preview %d", m.preview.mode), m)
			}
			for _, k := range []string{"N", "m", "s", "r", "e", "R"} {
				pressed(m, k)
				if m.form != nil && len(m.form.fields) > 0 && m.form.fields[0].list != nil {
					m.offered(offerMsg{form: m.form, options: []option{{value: hostile[0], about: hostile[2]}}})
				}
				for _, text := range hostile {
					m.Update(tea.PasteMsg{Content: text})
				}
				wantFits(t, "the form of "+k, m)
				pressed(m, "esc")
			}
		}
		m.Update(lostMsg{fmt.Errorf("%s", strings.Join(hostile, " "))})
		pressed(m, "/", "no such thing")
		wantFits(t, "an empty list", m)
		pressed(m, "esc", "?")
		wantFits(t, "help", m)
	}
}

// On a narrow terminal what matters most is left.
func TestColumns(t *testing.T) {
	t.Parallel()
	a := agent(7, daemon.Waiting, 3)
	percent, slug := 82.0, "reviewer-ada-1"
	a.WaitsFor, a.Persona, a.Context = "permission for Bash: rm -rf build", &slug, &daemon.ContextUse{Percent: &percent, Tier: daemon.TierHigh}
	b := agent(8, daemon.Idle, 1)
	b.Host = "two"
	m := opened(t, snapshot{agents: []daemon.Agent{a, b}, handoffs: []daemon.Handoff{handoff(9, 7, daemon.Briefing)}})
	for columns, want := range map[int]string{
		40:  "▸! 7  agent-7 waiting 3 min 82 % high",
		60:  "▸!  7   agent-7  waiting 3 min  permission for B…  82 % high",
		120: "▸!  7   agent-7  reviewer-…  waiting 3 min  permission for Bash: rm -rf build  ███████░ 82 % high  1    9 briefing  one",
	} {
		m.w = columns
		lines := m.screenLines()
		equal(t, fmt.Sprint("at ", columns, " columns"), strings.TrimRight(escapes.ReplaceAllString(lines[2], ""), " "), want)
	}
	b.Host = "one" // then there is no need to say it
	m.Update(freshMsg{at: noon, agents: []daemon.Agent{a, b}})
	if strings.Contains(m.shows(), "HOST") {
		t.Errorf("one host is named:\n%s", m.shows())
	}
}

// A list that is longer than the screen shows the selected row, wherever that is.
func TestLongList(t *testing.T) {
	t.Parallel()
	s := snapshot{}
	for i := range 200 {
		s.agents = append(s.agents, agent(int64(i+1), daemon.Idle, 1))
	}
	m := opened(t, s)
	for _, c := range []struct {
		key  string
		want int64
	}{{"end", 200}, {"pgup", 176}, {"up", 175}, {"home", 1}, {"pgdown", 25}, {"j", 26}, {"k", 25}, {"G", 200}, {"down", 200}, {"g", 1}, {"up", 1}} {
		pressed(m, c.key)
		shown := slices.ContainsFunc(m.screenLines(), func(l string) bool {
			return strings.Contains(l, "▸") && strings.Contains(escapes.ReplaceAllString(l, ""), fmt.Sprintf("agent-%d ", c.want))
		})
		if m.row().id != c.want || !shown {
			t.Errorf("%s selects %s, want %d, shown %t", c.key, m.row(), c.want, shown)
		}
	}
}
