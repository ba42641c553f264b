// Package yamlfile reads the YAML files that people write. An error names the line and the key, and says
// what is allowed there. The errors of package yaml's own decoder would name Go types instead.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Error says what is wrong in a file, and where.
type Error struct {
	Line    int    // counted from 1; 0: it would take too long to find the line
	Of      string // the key with the keys above it, or the name of the file as given to Parse; "": the text is no YAML
	Message string // says what is wrong; Of is the subject of this sentence
}

func (e *Error) Error() string {
	says := e.Message
	if e.Of != "" {
		says = e.Of + ": " + says
	}
	if e.Line == 0 {
		return says
	}
	return fmt.Sprintf("line %d: %s", e.Line, says)
}

// CheckText refuses bytes that are not UTF-8 text, with the line and the way to convert them.
func CheckText(b []byte) error {
	if bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff}) {
		return &Error{Line: 1, Message: "the text is UTF-16: convert the file with `iconv -f UTF-16 -t UTF-8`"}
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		line := func() int { return 1 + bytes.Count(b[:i], []byte("\n")) }
		switch {
		case r == 0:
			return &Error{Line: line(), Message: "a NUL byte: save the file as UTF-8 text"}
		case r == utf8.RuneError && n == 1:
			return &Error{Line: line(), Message: "the text is not UTF-8, but perhaps Latin-1: convert the file with `iconv -f ISO-8859-1 -t UTF-8`"}
		}
		i += n
	}
	return nil
}

// Value is a value in a file, or a key.
type Value struct {
	*yaml.Node
	Of   string // the name of the value in errors
	keys string // the key of the value with the keys above it, joined by dots; "" for the whole file
}

// Errorf returns an [Error] about v.
func (v Value) Errorf(format string, args ...any) error {
	return &Error{Line: v.Line, Of: v.Of, Message: fmt.Sprintf(format, args...)}
}

// Empty reports whether there is no value: the file is empty, or no value follows the key.
func (v Value) Empty() bool { return v.ShortTag() == "!!null" }

// Parse reads a file with one YAML document. Errors call the file by the name of.
func Parse(b []byte, of string) (Value, error) {
	if err := CheckText(b); err != nil {
		return Value{}, err
	}
	docs, err := documents(b)
	switch {
	case err != nil:
		why := strings.TrimSpace(err.Error()[strings.LastIndex(err.Error(), ": ")+1:])
		return Value{}, &Error{Line: syntaxLine(b), Message: "not YAML (" + why + "): check the indentation, and put quotes around text that contains a colon"}
	case len(docs) == 0:
		return Value{Node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1}, Of: of}, nil
	case len(docs) > 1:
		return Value{}, &Error{Line: docs[1].Line, Message: "a second document begins: put it into a file of its own"}
	}
	return Value{Node: docs[0].Content[0], Of: of}, nil
}

func documents(b []byte) (docs []yaml.Node, err error) {
	for d := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// syntaxLine returns the line with the syntax error: the line behind the longest beginning of the text
// that is YAML. The parser itself often names the line where the block or list around the error begins.
// syntaxLine returns 0 if it would take too long to find the line.
func syntaxLine(b []byte) int {
	const budget = 4 << 20 // the most bytes to parse, in all attempts together
	for spent := 0; len(b) > 0; {
		b = b[:1+bytes.LastIndexByte(b[:len(b)-1], '\n')]
		if spent += len(b); spent > budget {
			return 0
		}
		if _, err := documents(b); err == nil {
			break
		}
	}
	return 1 + bytes.Count(b, []byte("\n"))
}

// Each calls do for each key of a mapping and its value. It calls do for no key if v is empty. It returns
// an error if the mapping has a key that is not in known; if known is nil, all keys are allowed.
func (v Value) Each(known []string, do func(key, value Value) error) error {
	keys := ""
	if known != nil {
		keys = "; the keys are " + strings.Join(known, ", ")
	}
	switch {
	case v.Kind == yaml.MappingNode || v.Empty():
	case v.keys != "":
		return v.Errorf("must be lines of key: value, indented below it%s", keys)
	default:
		return v.Errorf("must be lines of key: value%s", keys)
	}
	seen := map[string]bool{}
	for content := v.Content; len(content) >= 2; content = content[2:] {
		name := content[0].Value
		at := Value{Node: content[0], Of: v.Of}
		switch {
		case known != nil && !slices.Contains(known, name):
			return at.Errorf("has an unknown key %s: correct or remove it%s", Quote(name), keys)
		case at.Kind != yaml.ScalarNode:
			return at.Errorf("a key must be a word")
		case seen[name]:
			return at.Errorf("has the key %s twice: remove one of them", name)
		}
		seen[name] = true
		path := strings.TrimPrefix(v.keys+"."+name, ".")
		if err := do(Value{content[0], path, path}, Value{content[1], path, path}); err != nil {
			return err
		}
	}
	return nil
}

// Items returns the items of a list, or none if v is empty. In errors an item has the name of the list.
// hint is the end of the error which says that v must be a list.
func (v Value) Items(hint string) (items []Value, err error) {
	if v.Kind != yaml.SequenceNode && !v.Empty() {
		return nil, v.Errorf("must be a list%s", hint)
	}
	for _, n := range v.Content {
		items = append(items, Value{Node: n, Of: v.Of})
	}
	return items, nil
}

// Text returns a text without the blanks around it, or "" if v is empty.
func (v Value) Text() (string, error) {
	switch {
	case v.Kind == yaml.ScalarNode && v.Empty():
		return "", nil
	case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str":
		return "", v.Errorf("must be text: put it in quotes")
	case strings.ContainsFunc(v.Value, IsControl):
		return "", v.Errorf("has a control character: remove it")
	}
	return strings.TrimSpace(v.Value), nil
}

// IsControl reports whether a character could control a terminal. Tabs and line breaks do not count.
func IsControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Quote returns a text from a file in quotes, as one line. It keeps at most the first 40 characters.
func Quote(s string) string {
	if short := []rune(s); len(short) > 40 {
		s = string(short[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
