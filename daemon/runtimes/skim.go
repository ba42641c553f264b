package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
)

// skim reads a JSON document once, from front to back, and decodes only what it is asked for: most
// of a transcript is what tools returned, which nobody wants here and encoding/json would check and
// decode all the same. What is skipped is only looked at for where it ends, so a fault within it
// goes unnoticed; a document that is cut off does not.
//
// After a fault every method does nothing, and err says that there was one.
type skim struct {
	b   []byte
	i   int
	err error
}

var errNotJSON = errors.New("not a JSON object")

// end makes anything that still follows a fault.
func (s *skim) end() {
	if s.peek(); s.i < len(s.b) {
		s.fail()
	}
}

// peek returns the next byte that is not white space; 0 at the end.
func (s *skim) peek() byte {
	for s.err == nil && s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// take steps over c, if it is next.
func (s *skim) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

func (s *skim) want(c byte) {
	if !s.take(c) {
		s.fail()
	}
}

func (s *skim) fail() {
	s.err, s.i = errNotJSON, len(s.b)
}

// object calls member with each key of an object; member reads the value or leaves it. Anything
// else than an object is skipped.
func (s *skim) object(member func(key []byte)) {
	s.each('{', '}', func() {
		key := s.quoted()
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(unquote(s.b[s.i-len(key)-2 : s.i]))
		}
		s.want(':')
		if s.err == nil {
			s.value(func() { member(key) })
		}
	})
}

// array calls element before each element of an array, which reads it or leaves it. Anything else
// than an array is skipped.
func (s *skim) array(element func()) {
	s.each('[', ']', func() { s.value(element) })
}

// each calls item before each item between two brackets.
func (s *skim) each(open, end byte, item func()) {
	if !s.take(open) {
		s.skip()
		return
	}
	if s.take(end) {
		return
	}
	for s.err == nil {
		item()
		if s.take(end) {
			return
		}
		s.want(',')
	}
}

// value lets read read the value that is next, and skips it if that left it.
func (s *skim) value(read func()) {
	s.peek()
	from := s.i
	if read(); s.i == from {
		s.skip()
	}
}

// text returns a string; "" for anything else, which it skips.
func (s *skim) text() string { return unquote(s.raw()) }

// number returns a whole number; 0 for anything else, which it skips.
func (s *skim) number() int64 {
	var n int64
	if json.Unmarshal(s.raw(), &n) != nil {
		return 0
	}
	return n
}

// isTrue tells whether the value is true.
func (s *skim) isTrue() bool { return string(s.raw()) == "true" }

// raw returns the value that is next as it is written.
func (s *skim) raw() []byte {
	s.peek()
	from := s.i
	s.skip()
	return s.b[from:s.i]
}

// skip steps over a value.
func (s *skim) skip() {
	switch s.peek() {
	case '"':
		s.quoted()
	case '{', '[':
		s.skipNested()
	default:
		s.skipPlain()
	}
}

// skipNested steps over an object or an array, by its brackets alone.
func (s *skim) skipNested() {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			s.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return
		}
	}
	s.fail()
}

// skipPlain steps over a number, true, false or null.
func (s *skim) skipPlain() {
	from := s.i
	for ; s.i < len(s.b); s.i++ {
		if c := s.b[s.i]; c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != 'E' {
			break
		}
	}
	if !json.Valid(s.b[from:s.i]) {
		s.fail()
	}
}

// quoted steps over a string and returns what is between its quotes, as it is written.
func (s *skim) quoted() []byte {
	if !s.take('"') {
		s.fail()
		return nil
	}
	from := s.i
	for {
		at := bytes.IndexByte(s.b[s.i:], '"')
		if at < 0 {
			s.fail()
			return nil
		}
		end := s.i + at
		s.i = end + 1
		escapes := 0
		for end-escapes > from && s.b[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return s.b[from:end]
		}
	}
}

// unquote returns a string that is written in JSON; "" if it is none.
func unquote(raw []byte) string {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}
