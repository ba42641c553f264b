// Package storetext makes every text and every JSON value fit for a store, so that all stores keep the
// same value. Agents print bytes that PostgreSQL refuses. Each such byte becomes U+FFFD, because a strange
// byte must not stop a handoff.
//
// All functions are pure and may be called from several goroutines. A crash leaves nothing.
package storetext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON beyond one of these limits is stored as a JSON string. PostgreSQL's jsonb keeps a number as a
// decimal, so a few bytes of exponent would become many kilobytes or an error. It parses nested values on
// the server's stack, so very deep nesting would be an error too.
const (
	maxJSONDepth    = 1000
	maxJSONNumber   = 1000 // characters
	maxJSONExponent = 3    // digits
)

const replacement = "\uFFFD"

// Text replaces the bytes that a text column cannot hold: NUL, and bytes that are not UTF-8.
func Text(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// JSON replaces the parts of a JSON text that a jsonb column cannot hold: the escape \u0000, the escape
// of half a surrogate pair, and bytes that are not UTF-8. A text that is not JSON, or that exceeds one of
// the limits above, becomes a JSON string with that text. An empty text becomes an empty object.
func JSON(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	if !json.Valid(raw) || excessive(raw) {
		raw, _ = json.Marshal(string(raw)) // a string can always be marshalled
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte(replacement))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	// In valid JSON every backslash is inside a string, and every escape is complete.
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		n := 1
		switch {
		case raw[i] != '\\':
		case raw[i+1] != 'u':
			n = 2
		case escapeLen(raw[i:]) == 0:
			out = append(out, replacement...)
			i += 6
			continue
		default:
			n = escapeLen(raw[i:])
		}
		out = append(out, raw[i:i+n]...)
		i += n
	}
	return out
}

// escapeLen returns the length of the \u escape, or surrogate pair of escapes, at the start of raw. It
// returns 0 if jsonb cannot hold that escape.
func escapeLen(raw []byte) int {
	r := unicodeEscape(raw)
	switch {
	case r == 0:
		return 0
	case !utf16.IsSurrogate(r):
		return 6
	case utf16.DecodeRune(r, unicodeEscape(raw[6:])) == utf8.RuneError:
		return 0
	}
	return 12
}

// unicodeEscape returns the code unit of the \u escape at the start of raw, or -1 if there is none.
func unicodeEscape(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// excessive reports whether valid JSON exceeds one of the limits.
func excessive(raw []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			if depth++; depth > maxJSONDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			number := raw[i : i+numberLen(raw[i:])]
			exponent := bytes.IndexAny(number, "eE")
			if len(number) > maxJSONNumber || exponent >= 0 && len(number)-exponent-1 > maxJSONExponent {
				return true
			}
			i += len(number) - 1
		}
	}
	return false
}

// numberLen returns the length of the JSON number at the start of raw.
func numberLen(raw []byte) int {
	for i, c := range raw {
		if !strings.ContainsRune("+-.eE0123456789", rune(c)) {
			return i
		}
	}
	return len(raw)
}
