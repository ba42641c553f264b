package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Skim reads a JSON document once, from front to back, and decodes only the values that its caller asks for. Most of a
// transcript is the output of tools, which this package does not need; encoding/json would read that output several
// times.
//
// When the document is not valid JSON, err is set. The results of later calls mean nothing then.
type Skim struct {
	D   *jsontext.Decoder
	b   []byte // the document
	Err error
}

var ErrNotJSON = errors.New("not a JSON object")

// NewSkim returns a skim of b. Like encoding/json it accepts repeated keys, and bytes that are not UTF-8.
func NewSkim(b []byte) *Skim {
	return &Skim{b: b, D: jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// End sets err if anything but white space follows.
func (s *Skim) End() {
	if _, err := s.D.ReadToken(); !errors.Is(err, io.EOF) {
		s.Err = ErrNotJSON
	}
}

// token reads a bracket or a key, and returns it without quotes.
func (s *Skim) token() string {
	t, err := s.D.ReadToken()
	if err != nil {
		s.Err = ErrNotJSON
		return ""
	}
	return t.String()
}

// Object calls member with each key of an object; member may read the value. object skips a value that is not an object.
func (s *Skim) Object(member func(key string)) {
	s.each('{', func() {
		key := s.token()
		s.value(func() { member(key) })
	})
}

// Array calls element before each element of an array; element may read it. array skips a value that is not an array.
func (s *Skim) Array(element func()) {
	s.each('[', func() { s.value(element) })
}

// each calls item before each item of the object or array that open begins.
func (s *Skim) each(open jsontext.Kind, item func()) {
	if s.D.PeekKind() != open {
		s.Raw()
		return
	}
	s.token()
	for s.Err == nil && s.D.PeekKind() != open+2 { // the closing bracket
		item()
	}
	s.token()
}

// value calls read, and skips the next value if read did not read it.
func (s *Skim) value(read func()) {
	from := s.D.InputOffset()
	if read(); s.D.InputOffset() == from {
		s.Raw()
	}
}

// Text reads the next value and returns it if it is a string, else "".
func (s *Skim) Text() string { return Unquote(s.Raw()) }

// Number reads the next value and returns it if it is a whole number, else 0.
func (s *Skim) Number() int64 {
	var n int64
	if json.Unmarshal(s.Raw(), &n) != nil {
		return 0
	}
	return n
}

// IsTrue reads the next value and reports whether it is true.
func (s *Skim) IsTrue() bool { return string(s.Raw()) == "true" }

// Texts reads the texts of a message's content, which is a string or a list of blocks, as JSON strings.
func (s *Skim) Texts() (texts [][]byte) {
	if s.D.PeekKind() == '"' {
		return [][]byte{s.Raw()}
	}
	s.Array(func() {
		s.Object(func(key string) {
			if key == "text" {
				texts = append(texts, s.Raw())
			}
		})
	})
	return texts
}

// Raw reads the next value and returns its bytes.
func (s *Skim) Raw() []byte {
	v, err := s.D.ReadValue()
	if err != nil {
		s.Err = ErrNotJSON
		return nil
	}
	end := int(s.D.InputOffset()) // v is valid only until the next call, so return the same bytes of s.b
	return s.b[end-len(v) : end]
}

// Unquote returns the text of a JSON string, or "" if raw is not one.
func Unquote(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw) // AppendUnquote replaces bytes that are not UTF-8
	return string(text)
}
