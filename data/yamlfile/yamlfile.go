// Package yamlfile reads the YAML that people write. An error names the line and the key, and says
// what is allowed there; the decoder of package yaml would say it in terms of Go types.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Error says what is wrong in a file, and where.
type Error struct {
	Line    int    // counted from 1; 0: it would take too long to find
	Of      string // the key with those above it, or what the file is; "": the text is no YAML
	Message string // what is wrong with it: a sentence that begins with Of goes on with it
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

// Value is a value in a file, or a key.
type Value struct {
	*yaml.Node
	Of   string // what errors call it
	keys string // its key with those above it
}

// Errorf returns an [Error] about v.
func (v Value) Errorf(format string, args ...any) error {
	return &Error{Line: v.Line, Of: v.Of, Message: fmt.Sprintf(format, args...)}
}

// Empty reports whether nothing is there: the file is empty, or the key stands alone.
func (v Value) Empty() bool { return v.ShortTag() == "!!null" }

// Parse reads the one document of a file, which errors call of.
func Parse(b []byte, of string) (Value, error) {
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

// syntaxLine finds the line in which a text ceases to be YAML: the one behind the longest part
// that is. The parser itself often names the line where the block or list around it begins. 0: it
// would take too long to find.
func syntaxLine(b []byte) int {
	const budget = 4 << 20 // bytes to parse
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

// Each calls do for each key of a mapping, if there is one. It may have no keys but the known ones; nil:
// any words.
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

// Items returns those of a list, if there is one; errors call each as they call the list. hint ends
// the sentence that it must be a list.
func (v Value) Items(hint string) (items []Value, err error) {
	if v.Kind != yaml.SequenceNode && !v.Empty() {
		return nil, v.Errorf("must be a list%s", hint)
	}
	for _, n := range v.Content {
		items = append(items, Value{Node: n, Of: v.Of})
	}
	return items, nil
}

// Text returns a text without the blanks around it; "" for a key that stands alone.
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

// IsControl reports whether a character would do something to a terminal.
func IsControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Quote shows what a file holds, in one line that is not too long.
func Quote(s string) string {
	if short := []rune(s); len(short) > 40 {
		s = string(short[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
