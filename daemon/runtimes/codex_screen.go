package runtimes

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The composer is at the bottom of the screen. From top to bottom: the prompt sign and the draft, whose further lines are
// indented by two; a blank line; the footer with model and folder; a second footer with hints, which may be missing. While
// the CLI starts, the composer is there but not the footer with the model. A dialog takes the place of all of it.
const (
	codexSign      = "› "
	codexShell     = "! " // in place of the sign, if Enter would run the text as a command
	codexShellMode = "shell mode: Enter would run the text as a command"
)

var (
	// codexFooter matches the footer with model and folder: "  GPT-5.5 default · /srv/work · Title".
	codexFooter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  \S.* · [/~…]`) })
	// codexSpinner matches the row of a running tool: "◦ Working (1s • esc to interrupt)". While an answer streams, only
	// the title of the pane shows a turn.
	codexSpinner = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[◦•] .*\(.*esc to interrupt\)`) })
)

const (
	codexPlaceholder = "Ask Codex to do anything"
	// codexEmpty stands in the second footer while the composer is empty, whatever placeholder it shows.
	codexEmpty = "← for agents"
	codexAsks  = "Action Required" // in the title while a permission is asked for
)

// codexDialogs have a text that only this dialog shows. The first match wins.
var codexDialogs = []struct{ text, name string }{
	{"Trust this folder?", "trust: may the agent work in this folder?"},
	{"Try new model", "model notice: which model is the agent to use?"},
	{"Approaching rate limits", "rate limit: switch to a smaller model?"},
	{"Sign in with ChatGPT", "login: how is the CLI to log in?"},
	{"Hooks need review", "hooks: may those that are new run?"},
	{"enter open", "agents view"},
}

// codexHints are parts of the last row of a dialog.
var codexHints = []string{
	"enter to confirm", "enter confirm", "esc to cancel", "enter/esc confirm", "enter select", "enter continue", "enter to continue",
	"enter open", "esc back", "esc to go back", "enter to select",
}

func readCodexScreen(v View) Screen {
	lines := screenLines(v.Text)
	at := len(lines) - 1
	for ; at >= 0 && !strings.HasPrefix(lines[at]+" ", codexSign) && !strings.HasPrefix(lines[at]+" ", codexShell); at-- {
	}
	last := lines[len(lines)-1]
	if isCodexDialog(last) || strings.Contains(v.Title, codexAsks) {
		return Screen{Dialog: codexDialog(lines)}
	}
	if at < 0 {
		return Screen{Dialog: namedCodexDialog(lines)}
	}
	footer := -1
	for i := at + 1; i < len(lines); i++ {
		if codexFooter().MatchString(lines[i]) && lines[i-1] == "" || strings.Contains(lines[i], codexEmpty) && footer < 0 {
			footer = i
		}
	}
	if footer < 0 {
		return Screen{Dialog: namedCodexDialog(lines[at:])}
	}
	if slices.ContainsFunc(lines[at:footer], func(l string) bool { return strings.HasPrefix(l, codexShell) }) {
		return Screen{Dialog: codexShellMode}
	}
	s := Screen{
		Composer: true,
		Row:      lines[at],
		Draft:    codexDraft(lines[at:footer]),
		Busy:     codexBusy(lines[:at], v.Title) || strings.Contains(last, "tab to queue message"),
	}
	if strings.Contains(last, codexEmpty) || s.Draft == codexPlaceholder {
		s.Draft = ""
	}
	return s
}

// codexDialogLook says how Codex draws its dialogs: all rows are indented, but for the chosen one, and nothing of the conversation
// above is.
var codexDialogLook = dialogLook{mark: '›', region: func(lines []string) []string {
	first := len(lines)
	for first > 0 && (lines[first-1] == "" || strings.HasPrefix(lines[first-1], "  ") || codexChoice().MatchString(lines[first-1])) {
		first--
	}
	return lines[first:]
}}

var codexChoice = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^› \d\. `) })

func isCodexDialog(last string) bool {
	last = strings.ToLower(last)
	return slices.ContainsFunc(codexHints, func(hint string) bool { return strings.Contains(last, hint) })
}

// codexDialog names the dialog that is open.
func codexDialog(lines []string) string {
	if name := namedCodexDialog(lines); name != "" {
		return name
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); strings.HasPrefix(l, "Would you like to ") {
			return "permission: " + l
		}
	}
	for i := len(lines) - 1; i >= 0; i-- { // the line above the answers, behind the last line of the conversation
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(lines[i]), codexSign), "1. ") {
			return "dialog: " + title(lastBlock(lines[:i]))
		}
	}
	return "dialog: " + title(lines[max(0, len(lines)-3):])
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

func namedCodexDialog(lines []string) string {
	const reach = 30 // lines; a dialog is at the bottom
	words := strings.Join(strings.Fields(strings.Join(lines[max(0, len(lines)-reach):], "\n")), " ")
	for _, d := range codexDialogs {
		if strings.Contains(words, d.text) {
			return d.name
		}
	}
	return ""
}

// codexDraft returns the text of the composer. lines end with the blank line before the footer.
func codexDraft(lines []string) string {
	lines = slices.Clone(lines)
	for i, l := range lines {
		if i == 0 {
			lines[i] = strings.TrimRight(strings.TrimPrefix(l+" ", codexSign), " ")
		} else {
			lines[i] = strings.TrimPrefix(l, "  ")
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \n")
}

// codexBusy reports whether the title begins with the sign of a running turn, a pattern of Braille dots, or a row above the
// composer shows a running tool.
func codexBusy(above []string, title string) bool {
	if first := []rune(title + " ")[0]; '\u2800' <= first && first <= '\u28ff' {
		return true
	}
	const reach = 6 // lines
	return slices.ContainsFunc(above[max(0, len(above)-reach):], codexSpinner().MatchString)
}

// codexRefusals are the heads of what the screen shows when a hook has refused a prompt.
var codexRefusals = []string{"• Blocked by hook", "• Hook stopped"}

// codexRefusal returns the words of the hook that has refused the newest prompt. They stand between that prompt and the composer: the
// first line behind "  └ ", the others indented by four.
func codexRefusal(v View) string {
	lines := screenLines(v.Text)
	at := len(lines) - 1
	for ; at >= 0 && !strings.HasPrefix(lines[at]+" ", codexSign); at-- { // the composer
	}
	for at--; at >= 0 && !strings.HasPrefix(lines[at], codexSign); at-- {
		if !slices.Contains(codexRefusals, lines[at]) {
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
