package runtimes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

var UUID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
})

// TOMLText returns a text as a basic string of TOML, which has the escapes of JSON.
func TOMLText(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string cannot fail
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// ShellWord returns a text as one word of a shell's command line.
func ShellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Marshal returns a value as JSON that cannot fail.
func Marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("runtimes: %v", err))
	}
	return b
}

// JSONText returns a text as a literal of JSON, which is one of TypeScript as well.
func JSONText(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}

// FirstOf returns the first text that is not blank, as one line.
func FirstOf(texts ...string) string {
	for _, t := range texts {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return t
		}
	}
	return ""
}
