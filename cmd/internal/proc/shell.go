package proc

import "strings"

// ShellQuote quotes a word for a POSIX shell if the shell would change it.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CommandLine is a program and its arguments. String returns the line that a person would type into a shell.
type CommandLine []string

func (c CommandLine) String() string {
	words := make([]string, len(c))
	for i, word := range c {
		words[i] = ShellQuote(word)
	}
	return strings.Join(words, " ")
}
