package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// skim reads a JSON document once, from front to back, and decodes only what it is asked for: most
// of a transcript is what tools returned, which nobody wants here. encoding/json would read it
// several times over.
//
// A fault sets err. What the methods return after it means nothing.
type skim struct {
	d   *jsontext.Decoder
	b   []byte // the document
	err error
}

var errNotJSON = errors.New("not a JSON object")

// newSkim takes what encoding/json takes: keys that come twice, and bytes that are no UTF-8.
func newSkim(b []byte) *skim {
	return &skim{b: b, d: jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// end makes anything that still follows a fault.
func (s *skim) end() {
	if _, err := s.d.ReadToken(); !errors.Is(err, io.EOF) {
		s.err = errNotJSON
	}
}

// token steps over a bracket or a key, and returns it without quotes.
func (s *skim) token() string {
	t, err := s.d.ReadToken()
	if err != nil {
		s.err = errNotJSON
		return ""
	}
	return t.String()
}

// object calls member with each key of an object; member reads the value or leaves it. Anything
// else than an object is skipped.
func (s *skim) object(member func(key string)) {
	s.each('{', func() {
		key := s.token()
		s.value(func() { member(key) })
	})
}

// array calls element before each element of an array, which reads it or leaves it. Anything else
// than an array is skipped.
func (s *skim) array(element func()) {
	s.each('[', func() { s.value(element) })
}

// each calls item before each item of what open begins.
func (s *skim) each(open jsontext.Kind, item func()) {
	if s.d.PeekKind() != open {
		s.raw()
		return
	}
	s.token()
	for s.err == nil && s.d.PeekKind() != open+2 { // the closing bracket
		item()
	}
	s.token()
}

// value lets read read the value that is next, and skips it if that left it.
func (s *skim) value(read func()) {
	from := s.d.InputOffset()
	if read(); s.d.InputOffset() == from {
		s.raw()
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

// raw steps over the value that is next, and returns it as it is written.
func (s *skim) raw() []byte {
	v, err := s.d.ReadValue()
	if err != nil {
		s.err = errNotJSON
		return nil
	}
	end := int(s.d.InputOffset()) // v is good until the next call alone, b for longer
	return s.b[end-len(v) : end]
}

// unquote returns a string that is written in JSON; "" if it is none.
func unquote(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw) // bytes that are no UTF-8 are replaced
	return string(text)
}
