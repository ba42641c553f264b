package top

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
)

// hint is a key and what it does now, for the line at the bottom. A click on it presses the key.
type hint struct{ key, does string }

// placed is a hint in the line, from one column up to another.
type placed struct {
	hint
	from, to int
}

// place puts as many hints side by side as fit. The last one always has a place, because it leads to all others.
func place(columns int, hints []hint) []placed {
	const gap = 2
	wide := func(h hint) int { return fit.Width(h.key) + 1 + fit.Width(h.does) }
	if len(hints) == 0 || wide(hints[len(hints)-1]) > columns {
		return nil
	}
	last := hints[len(hints)-1]
	var out []placed
	at := 0
	for _, h := range hints[:len(hints)-1] {
		if at+wide(h)+gap+wide(last) > columns {
			break
		}
		out = append(out, placed{h, at, at + wide(h)})
		at += wide(h) + gap
	}
	return append(out, placed{last, at, at + wide(last)})
}

// barLine draws hints on one line.
func barLine(columns int, hints []hint) string {
	var b strings.Builder
	for i, p := range place(columns, hints) {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(bold.Render(p.key) + " " + faint.Render(p.does))
	}
	return b.String()
}

// hints returns the keys that have an effect now, the most useful first.
func (m *model) hints() []hint {
	all := hint{"?", "all keys"}
	switch {
	case m.form != nil:
		return m.form.keys()
	case m.filtering:
		return []hint{{"Enter", "keep"}, {"Esc", "show all"}}
	case m.screen == diffScreen:
		return []hint{{"↑ ↓ PgUp PgDn", "move"}, {"r", "read again"}, {"Esc", "back"}}
	case m.screen == dialogScreen:
		return m.dialogHints()
	case m.screen == helpScreen:
		return []hint{{"↑ ↓ PgUp PgDn", "move"}, {"Esc", "back"}}
	}
	var keys []hint
	r := m.row()
	if r != nil {
		keys = rowHints(r)
	}
	if m.screen == detailScreen {
		return append(append([]hint{{"Esc", "back"}}, keys...), all)
	}
	if at := m.next(1); at >= 0 && (r == nil || m.rows[at].key != r.key) {
		keys = slices.Insert(keys, min(len(keys), 2), hint{"Tab", "next"})
	}
	if n := len(m.died()); n > 1 && (r == nil || len(r.dead()) < n) {
		keys = append(keys, hint{"R", fmt.Sprintf("resume all %d", n)})
	}
	if r == nil {
		keys = append(keys, hint{"r", "resume"})
	}
	return append(keys, hint{"N", "new"}, hint{"p", "preview"}, hint{"/", "filter"}, hint{"q", "quit"}, all)
}

// rowHints returns the keys that act on a row.
func rowHints(r *row) []hint {
	rest := []hint{{"d", "diff"}, {"s", "stop"}, {"e", "rename"}}
	switch {
	case r.decides():
		return []hint{{"y", "approve"}, {"n", "reject"}, {"Enter", "details"}}
	case r.kind == pipelineRow:
		return []hint{{"Enter", "details"}}
	case r.died() != nil:
		return diedHints(len(r.dead()), len(r.died()))
	case r.kind == handoffRow:
		return []hint{{"t", "retry"}, {"Enter", "details"}}
	case !r.agent.Active():
		return []hint{{"d", "diff"}, {"Enter", "details"}}
	case r.asked() != nil:
		keys := []hint{{"y", "allow"}, {"n", "deny"}}
		if r.asked().Rule != "" {
			keys = append(keys, hint{"Y", "allow always"})
		}
		return append(append(keys, hint{"a", "attach"}, hint{"m", "message"}), rest...)
	case r.need != nil && r.need.Kind == views.NeedsAnswer:
		return append([]hint{{"x", "answer"}, {"a", "attach"}, {"m", "message"}}, rest...)
	case r.handoff != nil && r.handoff.Open():
		return append([]hint{{"a", "attach"}, {"c", "cancel handoff"}, {"m", "message"}}, rest...)
	case r.handoff != nil:
		return append([]hint{{"a", "attach"}, {"t", "retry"}, {"h", "hand off"}, {"m", "message"}}, rest...)
	case len(views.LimitChoices(r.agent)) > 0:
		return append(append(limitHints(views.LimitChoices(r.agent)), hint{"a", "attach"}, hint{"m", "message"}), rest...)
	}
	return append([]hint{{"a", "attach"}, {"m", "message"}, {"h", "hand off"}}, rest...)
}

// diedHints returns the keys of a row with agents that died, of which so many can be resumed.
func diedHints(resumable, died int) (keys []hint) {
	switch {
	case resumable > 1:
		keys = append(keys, hint{"r", fmt.Sprintf("resume all %d", resumable)})
	case resumable == 1:
		keys = append(keys, hint{"r", "resume"})
	}
	if died > 1 {
		return append(keys, hint{"D", fmt.Sprintf("dismiss all %d", died)}, hint{"Enter", "details"})
	}
	return append(keys, hint{"D", "dismiss"}, hint{"d", "diff"}, hint{"Enter", "details"})
}

// limitHints returns the keys that decide about a limit.
func limitHints(choices []daemon.LimitAction) (keys []hint) {
	if slices.Contains(choices, daemon.LimitWait) {
		keys = append(keys, hint{"w", "wait"})
	}
	return append(keys, hint{"o", "hand over"})
}

// helpLines describe all keys.
var helpLines = [][2]string{
	{"↑ ↓ j k", "move; the same row stays selected when rows move"},
	{"PgUp PgDn", "move by a screen"},
	{"Home End g G", "to the first, to the last"},
	{"Tab Shift-Tab", "to the next, the previous one that needs you or has finished"},
	{"p", "preview of the selected agent's pane: beside or below the list, alone, or not at all"},
	{"/", "filter by name, persona, state and host; Esc shows all"},
	{"Enter", "details: the handoff's phases with times, the pipeline's steps"},
	{"", ""},
	{"a", "attach to the agent's pane; leave it as tmux does (Ctrl-b d)"},
	{"m", "message to the agent; it is typed when the agent's turn is over"},
	{"d", "what has changed in the agent's directory since the agent began"},
	{"y Y n", "allow what the agent asks once, or from now on by the rule that is shown; deny it"},
	{"x", "the dialog in the agent's pane: what it says, and its choices"},
	{"y n", "approve or reject the pipeline, with a comment"},
	{"w o", "the agent has hit a limit: wait for the reset, or hand its work over"},
	{"h", "hand off: asks for reason and focus"},
	{"c", "cancel the agent's open handoff; it works until the document is recorded"},
	{"t", "retry the failed handoff, from the phase that failed"},
	{"s", "stop the agent; asks first"},
	{"r", "open the session of an agent again that died; else of one that has ended, out of a list"},
	{"R", "open the sessions of all agents again that died; asks first"},
	{"D", "dismiss agents that died: they need you no more, and can still be resumed"},
	{"e", "rename the agent"},
	{"N", "start a new agent"},
	{"q Ctrl-C", "quit; agents and daemon go on"},
	{"", ""},
	{"mouse", "click selects, double click opens details or, in the preview, attaches; the wheel moves; a click on a key below presses it"},
	{"Shift-mouse", "selects text, as without top; in tmux the mouse reaches top only with `set -g mouse on`"},
	{"", ""},
	{"! ✗", "needs you: a dialog, an approval, trouble; what failed or died"},
	{"◆", "has finished its turn since you looked: Enter or a, or two seconds of its preview"},
	{"● ○ ·", "working, idle, starting"},
}

func (m *frame) help() []string {
	const keys = 15
	var out []string
	for _, l := range helpLines {
		folded := fit.FoldWithin(l[1], m.w-keys)
		if len(folded) == 0 {
			folded = []string{""}
		}
		for i, line := range folded {
			name := l[0]
			if i > 0 {
				name = ""
			}
			out = append(out, bold.Render(fit.Pad(name, keys))+line)
		}
	}
	return out
}
