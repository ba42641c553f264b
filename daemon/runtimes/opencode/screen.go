package opencode

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// The composer of OpenCode is a box that is open to the right, at the left edge or, on an empty start screen, in the
// middle:
//
//	┃
//	┃  the draft
//	┃
//	┃  Build · MODEL PROVIDER
//	╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
//	 /the/directory                    ctrl+p commands
//
// A dialog stands in its place, in a box without the lower edge.
const (
	lowerEdge = "╹▀▀▀"
	border    = "┃"
)

// dialogs are signs of the dialogs that stand in place of the composer, with what people are told. The first match
// wins. Each sign is in the last lines of the screen.
var dialogs = runtimes.Signs{
	{"△ Permission required", "permission: may the agent do this?"},
	{"△ Always allow", "permission: allow this always?"},
	{"△ Reject permission", "permission: what is the agent told?"},
	{"enter submit esc dismiss", "question of the agent"},
	{"Connect a provider", "login: which provider is OpenCode to use?"},
}

// dialogLook says how OpenCode draws its dialogs: below the last row that begins with their sign. A colour alone shows
// which answer is chosen.
var dialogLook = runtimes.DialogLook{Region: func(lines []string) []string {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], border+"  △ ") {
			return lines[i:]
		}
	}
	const reach = 25 // lines
	return lines[max(0, len(lines)-reach):]
}}

// readScreen reads the screen from the bottom up. The daemon needs it only to type a command, and to show what a
// pane waits for: the state of the agent is read from its server.
func readScreen(v runtimes.View) runtimes.Screen {
	lines := runtimes.ScreenLines(v.Text)
	edge := -1
	for i := len(lines) - 1; i >= 0 && edge < 0; i-- {
		if strings.HasPrefix(strings.TrimLeft(lines[i], " "), lowerEdge) {
			edge = i
		}
	}
	if edge < 2 {
		return runtimes.Screen{Dialog: dialog(lines)}
	}
	below := strings.Join(lines[edge+1:], "\n")
	if open := dialog(lines[edge+1:]); open != "" {
		return runtimes.Screen{Dialog: open}
	}
	indent := lines[edge][:strings.Index(lines[edge], "╹")]
	top := edge
	for top > 0 && strings.HasPrefix(lines[top-1], indent+border) {
		top--
	}
	if top > edge-3 {
		return runtimes.Screen{Dialog: dialog(lines)}
	}
	rows := slices.Clone(lines[top : edge-1]) // without the row with the agent and the model
	for i, r := range rows {
		rows[i] = strings.TrimRight(columns(r, strings.TrimRight(lines[edge], " ")), " ")
	}
	s := runtimes.Screen{Busy: strings.Contains(below, "esc interrupt") || strings.Contains(below, "esc again to interrupt")}
	if menu := menu(rows); menu != "" {
		s.Dialog = menu
		return s
	}
	s.Composer, s.Row, s.Draft = true, row(lines[top:edge-1]), draft(rows, indent)
	return s
}

// columns returns the part of a row that is above the edge. A wide pane has a side bar to the right of it.
func columns(row, edge string) string {
	wide := utf8.RuneCountInString(edge[:strings.LastIndex(edge, "▀")+len("▀")])
	for i, r := range row {
		if wide <= 0 {
			return row[:i]
		}
		if wide--; r >= 0x1100 && !('─' <= r && r <= '◿') {
			wide-- // most of these signs are two columns wide
		}
	}
	return row
}

// menu names the menu that lies over the composer; "": there is none. A menu covers the border of some rows, or shows
// its own key to leave it.
func menu(rows []string) string {
	for _, r := range rows {
		if strings.HasSuffix(r, " esc") {
			return "menu: close it with Escape"
		}
	}
	return ""
}

func row(rows []string) string {
	for _, r := range rows {
		if strings.Trim(r, " "+border) != "" {
			return r
		}
	}
	return rows[0]
}

// draft returns the text in the composer. In an empty composer, a hint begins with "Ask anything…".
func draft(rows []string, indent string) string {
	var text []string
	for _, r := range rows {
		text = append(text, strings.TrimPrefix(strings.TrimPrefix(r, indent+border), "  "))
	}
	draft := strings.Trim(strings.Join(text, "\n"), "\n")
	if strings.HasPrefix(draft, "Ask anything…") {
		return ""
	}
	return draft
}

// dialog names the dialog in the last lines of a screen; "": there is none.
func dialog(lines []string) string {
	const reach = 25 // lines; the agent may quote anything above the dialog
	return dialogs.Find(lines[max(0, len(lines)-reach):])
}
