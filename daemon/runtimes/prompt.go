package runtimes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
)

// MaxTyped and MaxTypedLines are the largest text, in UTF-16 code units and in lines, that Claude
// Code takes for typed. Anything larger it wraps as pasted content, and tells the model to be
// wary of instructions in it.
const (
	MaxTyped      = 800
	MaxTypedLines = 3
)

// FitsTyped tells whether the text reaches the model as if it had been typed.
func FitsTyped(text string) bool {
	units := 0
	for _, r := range text {
		units += utf16.RuneLen(r)
	}
	return units <= MaxTyped && strings.Count(text, "\n") < MaxTypedLines
}

// IsCommandText tells whether the composer would take the text for something other than a
// prompt: a slash command, a shell command, or a word that ends the session.
func IsCommandText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		return false
	}
	return text[0] == '!' || text[0] == '/' || slices.Contains(exitWords, text)
}

// exitWords end Claude Code when they are the whole text.
var exitWords = []string{"exit", "quit", ":q", ":q!", ":wq", ":wq!"}

// MaxArgument is the longest first prompt that can be given as an argument, in bytes. Linux takes one
// byte less than 128 KiB (measured).
const MaxArgument = 120_000

// firstLine stands before a first prompt that would be taken for a command.
const firstLine = "Request:\n\n"

// FirstPrompt returns the text as it can be given as the argument that a session begins with. That
// reaches the model byte for byte and without a wrapper, whatever its size, with two exceptions (Claude
// Code 2.1.329): what looks like a command is one, also behind blanks and characters that are not
// shown, and is therefore given a line before it; and a text that begins like one, but has such
// characters in it, would stand in the composer without being submitted.
func FirstPrompt(text string) string {
	shown := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text))
	if strings.HasPrefix(shown, "/") || slices.Contains(exitWords, shown) {
		return firstLine + text
	}
	return text
}

// completion is a word at the very end that opens a list of files, which then takes the Enter.
var completion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|\s)@\S*$`) })

// SafePrompt returns the text as it can be typed and submitted with one Enter: without blanks
// around it, and with one blank at the end where the last character would otherwise take the
// Enter for itself (a backslash: a new line; "@name": the list of completions). The CLI trims
// that blank again. A text that is blank or a command is refused.
func SafePrompt(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", errors.New("the text is empty")
	}
	if IsCommandText(text) {
		first, _, _ := strings.Cut(text, "\n")
		return "", fmt.Errorf("the agent would take %.40q for a command: say explicitly that it is one", first)
	}
	if strings.HasSuffix(text, `\`) || completion().MatchString(text) {
		text += " "
	}
	return text, nil
}

var wrapper = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`</?pasted_content id="[^"]*">`) })

// MatchesPrompt tells whether the prompt that a hook reports contains the text that was typed.
// The CLI trims blanks, turns tabs into blanks, wraps large texts as pasted content and puts a
// text that was already in the composer in front; so white space counts as one blank and the
// wrapper not at all. What is typed may quote a wrapper, as it does if it passes on what an agent said.
func MatchesPrompt(hookPrompt, typed string) bool {
	typed = unwrapped(typed)
	return typed != "" && strings.Contains(unwrapped(hookPrompt), typed)
}

// unwrapped is a prompt without what the CLI changes in it.
func unwrapped(prompt string) string { return squeeze(wrapper().ReplaceAllString(prompt, " ")) }

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
