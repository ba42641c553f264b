package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// This file edits JSON text: it finds the offsets of items and inserts or cuts
// byte ranges, so that all other bytes stay as their owner wrote them. encoding/json
// has accepted the text before (see checkObject), so these functions do not look
// for errors.

// item is a member of an object, or an element of an array, in a text.
type item struct {
	key        string // a member's key; "" for an element
	start, end int    // the whole item, including a member's key
	value      int    // where the value begins; for an element, the same as start
}

// items lists the items of the object or array that opens at open.
func items(text []byte, open int) []item {
	var list []item
	d := json.NewDecoder(bytes.NewReader(text[open:]))
	_, _ = d.Token() // the bracket
	for end := open + 1; d.More(); {
		it := item{start: skip(text, end, spaces+",")}
		if text[open] == '{' {
			key, _ := d.Token()
			it.key, _ = key.(string)
		}
		var value json.RawMessage
		_ = d.Decode(&value)
		end = open + int(d.InputOffset())
		it.end, it.value = end, end-len(value)
		list = append(list, it)
	}
	return list
}

// member finds the member with a key. If several members have the key, it returns the last one, as JSON parsers do.
func member(text []byte, open int, key string) (item, bool) {
	for _, it := range slices.Backward(items(text, open)) {
		if it.key == key {
			return it, true
		}
	}
	return item{}, false
}

const spaces = " \t\r\n"

// skip returns the offset of the first byte, from i on, that is not in set.
func skip(text []byte, i int, set string) int {
	return len(text) - len(bytes.TrimLeft(text[i:], set))
}

func skipSpace(text []byte, i int) int { return skip(text, i, spaces) }

// style is how a text is laid out.
type style struct {
	newline string // "", "\n" or "\r\n"; "" for a text on one line
	indent  string // one level
}

// styleOf returns the layout of the root object's first member.
func styleOf(text []byte, root int) style {
	s := style{newline: "\n", indent: "  "}
	if n := bytes.IndexByte(text, '\n'); n > 0 && text[n-1] == '\r' {
		s.newline = "\r\n"
	}
	members := items(text, root)
	if len(members) == 0 {
		return s
	}
	lead := string(text[root+1 : members[0].start])
	n := strings.LastIndexByte(lead, '\n')
	switch {
	case n < 0:
		return style{}
	case n+1 < len(lead):
		s.indent = lead[n+1:]
	}
	return s
}

func (s style) lineAt(depth int) string {
	if s.newline == "" {
		return ""
	}
	return s.newline + strings.Repeat(s.indent, depth)
}

func (s style) colon() string {
	if s.newline == "" {
		return ":"
	}
	return ": "
}

// render returns v as JSON, laid out as the value of an item at depth.
func (s style) render(v any, depth int) (string, error) {
	if s.newline == "" {
		text, err := marshal(v, "", "")
		return string(text), err
	}
	text, err := marshal(v, strings.Repeat(s.indent, depth), s.indent)
	return strings.ReplaceAll(string(text), "\n", s.newline), err
}

// insert puts what after the last item of the container that opens at open. The
// container's items are at depth. remove is the exact inverse of insert. In an
// empty container without space, such as {}, insert adds space before and after the
// item, or none at all. In an empty container with space it adds no space, and puts
// the item before the space that is there. So if there is space before the only
// item, remove knows that all the space is ours.
func insert(text []byte, open int, what string, s style, depth int) []byte {
	list := items(text, open)
	at := open + 1
	switch {
	case len(list) > 0:
		at = list[len(list)-1].end
		what = "," + s.lineAt(depth) + what
	case skipSpace(text, at) == at: // {} or []
		what = s.lineAt(depth) + what + s.lineAt(depth-1)
	}
	return slices.Concat(text[:at], []byte(what), text[at:])
}

// remove cuts the n-th item out of the container that opens at open.
func remove(text []byte, open, n int) []byte {
	list := items(text, open)
	from, to := list[n].start, list[n].end
	switch {
	case n > 0:
		from = list[n-1].end
	case len(list) > 1:
		to = list[1].start
	case skipSpace(text, open+1) > open+1:
		from, to = open+1, skipSpace(text, to)
	}
	return slices.Concat(text[:from], text[to:])
}

// checkObject returns an error if text is not a JSON object. If text is not JSON, the error names the line.
func checkObject(text []byte) error {
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return errors.New("the file is UTF-16, which the CLI does not read: convert it with `iconv -f UTF-16 -t UTF-8` and try again")
	}
	var whole json.RawMessage
	err := json.Unmarshal(text, &whole)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(max(0, int(wrong.Offset)-1), len(text))
		return fmt.Errorf("line %d is not JSON: %w; correct it (JSON knows no comments) and try again",
			1+bytes.Count(text[:at], []byte("\n")), wrong)
	}
	if err != nil {
		return err
	}
	if text[skipSpace(text, 0)] != '{' {
		return errors.New("the file holds JSON but no object {…}")
	}
	return nil
}
