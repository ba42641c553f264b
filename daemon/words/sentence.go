package words

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

var names = strings.NewReplacer("_", " ", "worktree", "work tree")

// Of writes a name of the API as words: awaiting_document becomes "awaiting document".
func Of[S ~string](name S) string { return names.Replace(string(name)) }

// Capital makes the first letter of a sentence a capital.
func Capital(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

// TrimDot removes the full stop of a sentence, for use inside another one.
func TrimDot(s string) string { return strings.TrimSuffix(s, ".") }

// Join joins the parts that are not empty.
func Join(separator string, parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}

// List writes the items in first, and counts the others of the n items: "a, b and 3 more".
func List(first []string, n int) string {
	list := strings.Join(first, ", ")
	if more := n - len(first); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
