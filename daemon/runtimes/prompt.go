package runtimes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxTyped and MaxTypedLines are the size of the largest text, in UTF-16 code units and in lines, that
// Claude Code takes for typed. It wraps a larger text as pasted content, and tells the model to be wary
// of instructions in it.
const (
	MaxTyped      = 800
	MaxTypedLines = 3
)

// FitsTyped reports whether Claude Code takes the text for typed.
func FitsTyped(text string) bool {
	return units(text) <= MaxTyped && strings.Count(text, "\n") < MaxTypedLines
}

// units returns the length of a text in UTF-16, which is how programs in JavaScript count.
func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// foldedText matches the words in place of which a composer keeps a long pasted text: Claude Code with the number of its line breaks, if it has
// any, Gemini CLI (from 501 characters on, or six lines) and Codex with its length.
var foldedText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[Pasted (?:text #\d+(?: \+(\d+) lines)?|(?:Text:|Content) (\d+) (chars|lines)(?: #\d+)?)\]$`)
})

// folds reports whether a draft stands for the text, by its length.
func folds(draft, text string) bool {
	m := foldedText().FindStringSubmatch(strings.Join(strings.Fields(draft), " "))
	breaks := strings.Count(text, "\n")
	switch {
	case m == nil:
		return false
	case m[3] == "chars":
		return m[2] == strconv.Itoa(utf8.RuneCountInString(text)) || m[2] == strconv.Itoa(units(text))
	case m[3] == "lines":
		return m[2] == strconv.Itoa(breaks+1)
	}
	return !FitsTyped(text) && (m[1] == strconv.Itoa(breaks) || m[1] == "" && breaks == 0)
}

// IsCommandText reports whether the composer would take the text for a slash command, a shell command
// or a word that ends the session, instead of a prompt.
func IsCommandText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		return false
	}
	return text[0] == '!' || text[0] == '/' || slices.Contains(exitWords, text)
}

// exitWords end Claude Code when they are the whole text.
var exitWords = []string{"exit", "quit", ":q", ":q!", ":wq", ":wq!"}

// firstLine is the line that FirstPrompt puts before a prompt that Claude Code would take for a command.
const firstLine = "Request:\n\n"

// FirstPrompt returns the prompt of a step in a form that no CLI takes for a command: Claude Code 2.1.329 takes a text for one if the text looks
// like one, even behind blanks and invisible characters. FirstPrompt puts firstLine before such a text.
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

// completion matches a last word such as "@name". Such a word opens a list of files, and the list would take the
// Enter key.
var completion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|\s)@\S*$`) })

// SafePrompt returns the text in a form that can be typed and submitted with one Enter. It trims the text. If
// the end of the text would keep Enter from submitting, it adds one blank: after a backslash, Enter makes a
// new line; after "@name", Enter chooses from a list of files. The CLI removes the blank when it submits.
// SafePrompt refuses a text that is blank or a command.
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

// outside matches a mention of a file that is not in the agent's directory, if its name says so. A mention begins a word: code that imports
// from "@/lib" stays as it is.
var outside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|\s)@("(?:/|~|[^"\n]*\.\.)|(?:/|~|file:|(?:\\.|[^\s"])*\.\.))`)
})

// Unmentioned returns another agent's words with a backslash before each @ that would make the CLI attach a file from outside of the
// receiver's directory: Claude Code and Gemini CLI read such a file unasked. What it says can still be read.
func Unmentioned(text string) string { return outside().ReplaceAllString(text, `${1}\@${2}`) }

var Wrapper = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`</?pasted_content id="[^"]*">`) })

// MatchesPrompt reports whether the prompt that a hook reports contains the text that was typed. The CLI
// trims blanks, turns tabs into blanks, wraps a large text as pasted content, and puts a draft of the
// composer in front of the text. So MatchesPrompt takes each run of white space for one blank, and ignores
// the wrapper. It ignores a wrapper in typed as well, because a typed text may quote another agent's words.
func MatchesPrompt(hookPrompt, typed string) bool {
	typed = Unwrapped(typed)
	return typed != "" && strings.Contains(Unwrapped(hookPrompt), typed)
}

// Unwrapped returns a prompt without the wrapper, and with one blank for each run of white space.
func Unwrapped(prompt string) string { return squeeze(Wrapper().ReplaceAllString(prompt, " ")) }

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
