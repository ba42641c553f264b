package claude

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// DialogExitTasks is the dialog that Claude Code opens after /exit if the session has background tasks.
// Enter answers it with "Exit and stop tasks".
const DialogExitTasks = "exit: background work is running"

// DialogExitTree is the dialog that Claude Code opens after /exit if the session works in a work tree that the CLI has made,
// and the tree or the session is worth keeping. The choice that begins with [KeepTree] keeps the tree; another one removes it.
const DialogExitTree = "exit: keep or remove the work tree?"

// Claude Code opens this dialog at a usage limit if it may not go on by itself after the reset, or has not read yet in its settings
// whether it may. The first choice, which is selected, closes it.
const (
	limitChoice = "1. Stop and wait for limit to reset"
	limitDialog = "usage limit: wait, or what else?"
)

// KeepTree is the beginning of the choice that keeps the work tree.
const KeepTree = "Keep worktree"

// The composer is a box at the bottom of the screen. From top to bottom: a rule, which may carry the
// session's name at its right end; the prompt sign with a no-break space (an earlier prompt in the
// conversation has an ordinary space) and the draft; a rule without a name; the lines of a status line,
// indented by two, with any content; the footer.
const (
	promptSign = "❯\u00a0"
	shellSign  = "!\u00a0"
)

var (
	// spinner matches the row of a running turn, above the composer: "✽ Orbiting… (1s · ↓ 3 tokens)". The
	// row of a finished turn, "✻ Worked for 2s · done 4:22 PM", has no ellipsis. With the setting
	// prefersReducedMotion, the row begins with "●", as an answer of the agent does; only the time behind the
	// ellipsis distinguishes the two. If the API has not answered for a minute, the CLI shows "Waiting for
	// API response" instead.
	spinner = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[·✢✳✶✻✽*] \S.*…|● \S+… \([0-9hms ]+ · |[·✢✳✶✻✽*●] Waiting for API response · )`)
	})

	// placeholder matches the texts that the CLI itself shows in an empty composer: a hint about queued
	// prompts, an example of a prompt, or what to do about an error of the API.
	placeholder = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(` + queuedHint + `|Try ".*"|Resend your message to try again|Once fixed, resend your message|Run /rewind to go back)$`)
	})
)

// queuedHint is the text that an empty composer shows while prompts are queued. The turn of the first queued
// prompt is about to begin.
const queuedHint = "Press up to edit queued messages"

// dialogs lists the dialogs that Claude Code opens in place of the composer. Each has a text that only this
// dialog shows. The first match wins. A name quotes nothing from the screen, because a login shows secrets.
var dialogs = runtimes.Signs{
	{"Paste code here", "login: log in with the browser"},
	{"Select login method", "login: which account is the CLI to use?"},
	{"Login successful", "login: press Enter to go on"},
	{"Choose the text style", "theme: which colours suit the terminal?"},
	{"Security notes", "security notes: press Enter to go on"},
	{"use this API key?", "API key: may the key in the environment be used?"},
	{"MCP server found in this project", "MCP servers: may those of the project be used?"},
	{"MCP servers found in this project", "MCP servers: may those of the project be used?"},
	{"Background work is running", DialogExitTasks},
	{"Exiting worktree session", DialogExitTree},
	{"Showing detailed transcript", "transcript view"},
	{"Select model", "model picker"},
	{"enter to return", "agents view"}, // the box of this view looks like a composer, but starts new sessions
	{"trust this folder", "trust: may the agent work in this folder?"},
	{"Settings Warning", "settings warning"},
	{"Settings Error", "settings error"},
	{limitChoice, limitDialog},
	{"Bypass Permissions mode", "bypass permissions: accept the risk?"},
}

// readScreen reads the screen from the bottom up, because only the CLI writes at the bottom. In the
// rows above, the agent may quote any text.
func readScreen(v runtimes.View) runtimes.Screen {
	lines := runtimes.ScreenLines(v.Text)
	top, bottom, ok := findBox(lines)
	if !ok {
		return readDialog(lines)
	}
	box, footer := lines[top+1:bottom], lines[len(lines)-1]
	if strings.HasPrefix(box[0], "!") {
		return runtimes.Screen{Dialog: "shell mode: Enter would run the text as a command", Busy: busyAbove(lines[:top])}
	}
	return runtimes.Screen{
		Composer: true,
		Row:      box[0],
		Draft:    draft(box),
		Stashed:  top > 0 && strings.Contains(lines[top-1], "draft stashed"),
		Busy:     strings.Contains(footer, "esc to interrupt") || strings.HasSuffix(box[0], queuedHint) || busyAbove(lines[:top]),
		Held:     strings.Contains(spinnerAbove(lines[:top]), startsHooks),
	}
}

// findBox returns the indexes of the two rules of the composer's box. At least one line is between them.
func findBox(lines []string) (top, bottom int, ok bool) {
	for bottom = len(lines) - 1; bottom >= 0 && !runtimes.PlainRule(lines[bottom]); bottom-- {
	}
	for top = bottom - 1; top >= 0 && !rule(lines[top]); top-- {
	}
	if top < 0 || top+1 == bottom {
		return 0, 0, false
	}
	first := lines[top+1]
	shell := strings.TrimRight(first, "\u00a0") == "!" || strings.HasPrefix(first, shellSign)
	return top, bottom, strings.HasPrefix(first, promptSign) || strings.HasPrefix(lines[top], scrolled) || shell
}

func draft(box []string) string {
	lines := make([]string, len(box))
	for i, l := range box {
		if i == 0 {
			lines[i] = strings.TrimPrefix(l, promptSign)
		} else {
			lines[i] = strings.TrimPrefix(l, "  ")
		}
	}
	text := strings.Join(lines, "\n")
	if placeholder().MatchString(text) {
		return ""
	}
	return text
}

// startsHooks is in the spinner while other hooks of the session's start hold a prompt: "· Orbiting… (running SessionStart hooks… 1/2 · 2s)".
const startsHooks = "(running SessionStart hooks…"

// busyAbove reports whether a spinner is between the last message and the composer.
func busyAbove(lines []string) bool { return spinnerAbove(lines) != "" }

// spinnerAbove returns the row of the spinner between the last message and the composer; "": there is none.
func spinnerAbove(lines []string) string {
	const reach = 20 // lines to search, because tips, queued prompts and a list of tasks may be below the spinner
	for i := len(lines) - 1; i >= max(0, len(lines)-reach); i-- {
		if spinner().MatchString(lines[i]) {
			return lines[i]
		}
		if strings.HasPrefix(lines[i], "● ") {
			return ""
		}
	}
	return ""
}

// dialogLook says how Claude Code draws its dialogs. Above those of the first start it draws a picture, which ends with a
// row of dots.
var dialogLook = runtimes.DialogLook{Mark: '❯', Region: func(lines []string) []string {
	lines = dialogRegion(lines)
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], strings.Repeat(".", runtimes.RuleLength)) || strings.HasPrefix(lines[i], "Welcome to Claude Code") {
			return lines[i+1:]
		}
	}
	return lines
}}

// dialogRegion returns the rows below the last separator, where the CLI draws dialogs. In a question of the agent a separator
// stands before the last choice: it is left out.
func dialogRegion(lines []string) []string {
	to := len(lines)
	if to > 0 && rule(lines[to-1]) {
		to-- // skip the composer's upper rule, which may be left below a dialog
	}
	from := afterRule(lines[:to])
	if from > 0 && from < to && laterChoice().MatchString(lines[from]) {
		return append(slices.Clone(lines[afterRule(lines[:from-1]):from-1]), lines[from:to]...)
	}
	return lines[from:to]
}

// laterChoice matches the row of a choice that is not the first one of its list.
var laterChoice = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:❯| ) ?[2-9]\. `) })

// afterRule returns the index of the row below the last separator; 0: there is none.
func afterRule(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if rule(lines[i]) || strings.HasPrefix(lines[i], strings.Repeat("▔", runtimes.RuleLength)) {
			return i + 1
		}
	}
	return 0
}

// readDialog reads the dialog that stands in place of the composer. A question about a limit in which a person has moved to another
// choice is left to that person.
func readDialog(lines []string) runtimes.Screen {
	s := runtimes.Screen{Dialog: findDialog(lines)}
	if s.Dialog != limitDialog {
		return s
	}
	for _, l := range dialogRegion(lines) {
		if strings.HasPrefix(strings.TrimSpace(l), "❯ 1. ") {
			s.Limit, s.Row, s.Stops = true, l, true
		}
	}
	return s
}

// findDialog names the dialog that is open. It returns "" if there is none.
func findDialog(lines []string) string {
	region := dialogRegion(lines)
	text := strings.Join(region, "\n")
	if name := dialogs.Find(region); name != "" {
		return name
	}
	for _, l := range region {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "Do you want to ") || strings.HasPrefix(l, "Would you like to ") {
			return "permission: " + l
		}
	}
	if q := question(region); q != "" {
		return "question: " + q
	}
	if signOfDialog().MatchString(text) {
		return "dialog: " + runtimes.DialogTitle(region)
	}
	return ""
}

// signOfDialog matches what a dialog, or a view that a command opens, says of its keys, or its first choice.
var signOfDialog = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Esc to (cancel|go back|close|exit|dismiss)|Enter to (confirm|select|continue)|❯ 1\. `)
})

// question returns what the agent asks the person of its own; "": the dialog is another one. Such a dialog begins with the
// questions' headings, each with a box.
func question(lines []string) string {
	for i, l := range lines {
		switch l = strings.TrimSpace(l); {
		case l == "":
		case strings.HasPrefix(strings.TrimLeft(l, "← "), "☐ "):
			return runtimes.DialogTitle(lines[i+1:])
		default:
			return ""
		}
	}
	return ""
}

// scrolled is the start of the upper rule of a composer that hides lines above the shown ones.
const scrolled = "─── ↑ "

func rule(l string) bool {
	return (strings.HasPrefix(l, strings.Repeat("─", runtimes.RuleLength)) || strings.HasPrefix(l, scrolled)) && strings.HasSuffix(l, "─")
}
