package runtimes

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads a line of a transcript, which must be one JSON object, into a struct with the fields that its caller needs. It reads the line
// once, from front to back, and skips the rest: most of a transcript is the output of tools. Like encoding/json it accepts repeated keys, and
// bytes that are not UTF-8. A value of another kind than its field is skipped, because a CLI may use a name twice.
func Decode(line []byte, v any) error {
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte("{")) || json.Unmarshal(line, v, decoding()) != nil {
		return errors.New("not a JSON object")
	}
	return nil
}

var decoding = sync.OnceValue(func() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(json.UnmarshalFromFunc(decodeFitting)))
})

// decodeFitting skips a value that is of another kind than v, and leaves all others to the library.
func decodeFitting(d *jsontext.Decoder, v any) error {
	switch v := v.(type) {
	case *time.Time:
		raw, err := d.ReadValue()
		*v, _ = time.Parse(time.RFC3339, Unquote(raw)) // the zero time if the text is not a time
		return err
	case *int64:
		raw, err := d.ReadValue()
		*v = 0
		if n, no := strconv.ParseInt(string(raw), 10, 64); no == nil {
			*v = n
		}
		return err
	case *jsontext.Value, json.UnmarshalerFrom:
		return errors.ErrUnsupported
	}
	fits := true
	switch kind := d.PeekKind(); reflect.TypeOf(v).Elem().Kind() {
	case reflect.String:
		fits = kind == '"'
	case reflect.Bool:
		fits = kind == 't' || kind == 'f'
	case reflect.Float64:
		fits = kind == '0'
	case reflect.Struct:
		fits = kind == '{'
	case reflect.Slice:
		fits = kind == '['
	}
	if fits {
		return errors.ErrUnsupported
	}
	return d.SkipValue()
}

// Content is the content of a message: a text, or a list of blocks.
type Content[B any] struct {
	Text   jsontext.Value // a JSON string; nil: there are blocks
	Blocks []B
}

// UnmarshalJSONFrom reads either form, and skips every other one.
func (c *Content[B]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &c.Text)
	case '[':
		return json.UnmarshalDecode(d, &c.Blocks)
	}
	return d.SkipValue()
}

// TextBlock is a block of which only the text is needed.
type TextBlock struct {
	Text jsontext.Value `json:"text"`
}

// Texts returns the texts of a content as JSON strings.
func Texts(c Content[TextBlock]) (texts [][]byte) {
	if c.Text != nil {
		return [][]byte{c.Text}
	}
	for _, b := range c.Blocks {
		if b.Text != nil {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// Unquote returns the text of a JSON string, or "" if raw is not one.
func Unquote(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw) // AppendUnquote replaces bytes that are not UTF-8
	return string(text)
}
