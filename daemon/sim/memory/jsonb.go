package memory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/daemon/storetext"
)

// jsonb writes JSON as PostgreSQL writes a jsonb column: the members of an object in the order of the lengths and
// then of the bytes of their names, of equal names the last one, numbers without exponents. A search through the
// event log looks at this text.
func jsonb(raw []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(storetext.JSON(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err) // cannot happen: storetext.JSON returns valid JSON
	}
	return appendJSONB(nil, v)
}

func appendJSONB(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		return appendObject(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = appendJSONB(out, item)
		}
		return append(out, ']')
	case string:
		return appendText(out, v)
	case json.Number:
		return append(out, decimal(v.String())...)
	case bool:
		return strconv.AppendBool(out, v)
	}
	return append(out, "null"...)
}

func appendObject(out []byte, members map[string]any) []byte {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(appendText(out, name), ": "...)
		out = appendJSONB(out, members[name])
	}
	return append(out, '}')
}

// escapes are the characters that PostgreSQL escapes with a single character. It escapes the other control characters
// by their numbers, and no other character.
var escapes = map[byte]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case escapes[c] != "":
			out = append(out, escapes[c]...)
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// decimal writes a JSON number without an exponent, with as many decimals as it had.
func decimal(number string) string {
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(digits[i+1:]) // storetext.JSON lets no long exponent pass
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = whole + fraction
	point := len(whole) + exponent
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	if point < 1 {
		digits = strings.Repeat("0", 1-point) + digits
		point = 1
	}
	whole, fraction = strings.TrimLeft(digits[:point-1], "0"), digits[point:]
	if first := digits[point-1 : point]; whole != "" || first != "" {
		whole += first
	}
	out := whole
	if fraction != "" {
		out += "." + fraction
	}
	if negative && strings.Trim(digits, "0") != "" {
		out = "-" + out
	}
	return out
}
