package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// skim reads a JSON document once, from front to back, and decodes only the values that its caller asks for. Most of a
// transcript is the output of tools, which this package does not need; encoding/json would read that output several
// times.
//
// When the document is not valid JSON, err is set. The results of later calls mean nothing then.
type skim struct {
	d   *jsontext.Decoder
	b   []byte // the document
	err error
}

var errNotJSON = errors.New("not a JSON object")

// newSkim returns a skim of b. Like encoding/json it accepts repeated keys, and bytes that are not UTF-8.
func newSkim(b []byte) *skim {
	return &skim{b: b, d: jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// end sets err if anything but white space follows.
func (s *skim) end() {
	if _, err := s.d.ReadToken(); !errors.Is(err, io.EOF) {
		s.err = errNotJSON
	}
}

// token reads a bracket or a key, and returns it without quotes.
func (s *skim) token() string {
	t, err := s.d.ReadToken()
	if err != nil {
		s.err = errNotJSON
		return ""
	}
	return t.String()
}

// object calls member with each key of an object; member may read the value. object skips a value that is not an object.
func (s *skim) object(member func(key string)) {
	s.each('{', func() {
		key := s.token()
		s.value(func() { member(key) })
	})
}

// array calls element before each element of an array; element may read it. array skips a value that is not an array.
func (s *skim) array(element func()) {
	s.each('[', func() { s.value(element) })
}

// each calls item before each item of the object or array that open begins.
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

// value calls read, and skips the next value if read did not read it.
func (s *skim) value(read func()) {
	from := s.d.InputOffset()
	if read(); s.d.InputOffset() == from {
		s.raw()
	}
}

// text reads the next value and returns it if it is a string, else "".
func (s *skim) text() string { return unquote(s.raw()) }

// number reads the next value and returns it if it is a whole number, else 0.
func (s *skim) number() int64 {
	var n int64
	if json.Unmarshal(s.raw(), &n) != nil {
		return 0
	}
	return n
}

// isTrue reads the next value and reports whether it is true.
func (s *skim) isTrue() bool { return string(s.raw()) == "true" }

// raw reads the next value and returns its bytes.
func (s *skim) raw() []byte {
	v, err := s.d.ReadValue()
	if err != nil {
		s.err = errNotJSON
		return nil
	}
	end := int(s.d.InputOffset()) // v is valid only until the next call, so return the same bytes of s.b
	return s.b[end-len(v) : end]
}

// unquote returns the text of a JSON string, or "" if raw is not one.
func unquote(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw) // AppendUnquote replaces bytes that are not UTF-8
	return string(text)
}
