package codex

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// The composer is at the bottom of the screen. From top to bottom: the prompt sign and the draft, whose further lines are
// indented by two; a blank line; the footer with model and folder; a second footer with hints, which may be missing. While
// the CLI starts, the composer is there but not the footer with the model. A dialog takes the place of all of it.
const (
	sign      = "› "
	shell     = "! " // in place of the sign, if Enter would run the text as a command
	shellMode = "shell mode: Enter would run the text as a command"
)

var (
	// footerRow matches the footer with model and folder: "  GPT-5.5 default · /srv/work · Title".
	footerRow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  \S.* · [/~…]`) })
	// spinner matches the row of a running tool: "◦ Working (1s • esc to interrupt)". While an answer streams, only
	// the title of the pane shows a turn.
	spinner = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[◦•] .*\(.*esc to interrupt\)`) })
)

const (
	placeholder = "Ask Codex to do anything"
	// empty stands in the second footer while the composer is empty, whatever placeholder it shows.
	empty = "← for agents"
	asks  = "Action Required" // in the title while a permission is asked for
)

// dialogs have a text that only this dialog shows. The first match wins.
var dialogs = runtimes.Signs{
	{"Trust this folder?", "trust: may the agent work in this folder?"},
	{"Try new model", "model notice: which model is the agent to use?"},
	{"Approaching rate limits", "rate limit: switch to a smaller model?"},
	{"Sign in with ChatGPT", "login: how is the CLI to log in?"},
	{"Hooks need review", "hooks: may those that are new run?"},
	{"enter open", "agents view"},
}

// hints are parts of the last row of a dialog.
var hints = []string{
	"enter to confirm", "enter confirm", "esc to cancel", "enter/esc confirm", "enter select", "enter continue", "enter to continue",
	"enter open", "esc back", "esc to go back", "enter to select",
}

func readScreen(v runtimes.View) runtimes.Screen {
	lines := runtimes.ScreenLines(v.Text)
	at := len(lines) - 1
	for ; at >= 0 && !strings.HasPrefix(lines[at]+" ", sign) && !strings.HasPrefix(lines[at]+" ", shell); at-- {
	}
	last := lines[len(lines)-1]
	if isDialog(last) || strings.Contains(v.Title, asks) {
		return runtimes.Screen{Dialog: dialog(lines)}
	}
	if at < 0 {
		return runtimes.Screen{Dialog: namedDialog(lines)}
	}
	footer := -1
	for i := at + 1; i < len(lines); i++ {
		if footerRow().MatchString(lines[i]) && lines[i-1] == "" || strings.Contains(lines[i], empty) && footer < 0 {
			footer = i
		}
	}
	if footer < 0 {
		return runtimes.Screen{Dialog: namedDialog(lines[at:])}
	}
	if slices.ContainsFunc(lines[at:footer], func(l string) bool { return strings.HasPrefix(l, shell) }) {
		return runtimes.Screen{Dialog: shellMode}
	}
	s := runtimes.Screen{
		Composer: true,
		Row:      lines[at],
		Draft:    draft(lines[at:footer]),
		Busy:     busy(lines[:at], v.Title) || strings.Contains(last, "tab to queue message"),
	}
	if strings.Contains(last, empty) || s.Draft == placeholder {
		s.Draft = ""
	}
	return s
}

// dialogLook says how Codex draws its dialogs: all rows are indented, but for the chosen one, and nothing of the conversation
// above is.
var dialogLook = runtimes.DialogLook{Mark: '›', Region: func(lines []string) []string {
	first := len(lines)
	for first > 0 && (lines[first-1] == "" || strings.HasPrefix(lines[first-1], "  ") || choice().MatchString(lines[first-1])) {
		first--
	}
	return lines[first:]
}}

var choice = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^› \d\. `) })

func isDialog(last string) bool {
	last = strings.ToLower(last)
	return slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(last, hint) })
}

// dialog names the dialog that is open.
func dialog(lines []string) string {
	if name := namedDialog(lines); name != "" {
		return name
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); strings.HasPrefix(l, "Would you like to ") {
			return "permission: " + l
		}
	}
	for i := len(lines) - 1; i >= 0; i-- { // the line above the answers, behind the last line of the conversation
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(lines[i]), sign), "1. ") {
			return "dialog: " + runtimes.DialogTitle(lastBlock(lines[:i]))
		}
	}
	return "dialog: " + runtimes.DialogTitle(lines[max(0, len(lines)-3):])
}

// lastBlock returns the last lines that are not blank.
func lastBlock(lines []string) []string {
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	start := end
	for start > 0 && lines[start-1] != "" {
		start--
	}
	return lines[start:end]
}

func namedDialog(lines []string) string {
	const reach = 30 // lines; a dialog is at the bottom
	return dialogs.Find(lines[max(0, len(lines)-reach):])
}

// draft returns the text of the composer. lines end with the blank line before the footer.
func draft(lines []string) string {
	lines = slices.Clone(lines)
	for i, l := range lines {
		if i == 0 {
			lines[i] = strings.TrimRight(strings.TrimPrefix(l+" ", sign), " ")
		} else {
			lines[i] = strings.TrimPrefix(l, "  ")
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \n")
}

// busy reports whether the title begins with the sign of a running turn, a pattern of Braille dots, or a row above the
// composer shows a running tool.
func busy(above []string, title string) bool {
	if first := []rune(title + " ")[0]; '\u2800' <= first && first <= '\u28ff' {
		return true
	}
	const reach = 6 // lines
	return slices.ContainsFunc(above[max(0, len(above)-reach):], spinner().MatchString)
}

// refusals are the heads of what the screen shows when a hook has refused a prompt.
var refusals = []string{"• Blocked by hook", "• Hook stopped"}

// refusal returns the words of the hook that has refused the newest prompt. They stand between that prompt and the composer: the
// first line behind "  └ ", the others indented by four.
func refusal(v runtimes.View) string {
	lines := runtimes.ScreenLines(v.Text)
	at := len(lines) - 1
	for ; at >= 0 && !strings.HasPrefix(lines[at]+" ", sign); at-- { // the composer
	}
	for at--; at >= 0 && !strings.HasPrefix(lines[at], sign); at-- {
		if !slices.Contains(refusals, lines[at]) {
			continue
		}
		var words []string
		for _, l := range lines[at+1:] {
			text, first := strings.CutPrefix(l, "  └ ")
			if !first && !strings.HasPrefix(l, "    ") || first == (len(words) > 0) {
				break
			}
			words = append(words, strings.TrimSpace(text))
		}
		return strings.Join(words, " ")
	}
	return ""
}
