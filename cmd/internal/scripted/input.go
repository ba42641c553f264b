package scripted

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// keyKind is the kind of a key event.
type keyKind int

const (
	keyText    keyKind = iota // text typed
	keyPaste                  // text pasted, \n between lines
	keyEnter                  // submit
	keyNewline                // Alt-Enter: a new line in the composer
	keyEsc
	keyUp
	keyDown
	keyBackspace
	keyControl // text holds the letter: "c" for C-c
)

type key struct {
	kind keyKind
	text string
}

// If one read returns pasteRead bytes of text or more, the text counts as a paste, and an Enter in it is part of the
// paste. Measured: up to 60 bytes count as typed, 80 bytes or more as pasted.
const pasteRead = 64

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// keyboard turns the terminal's bytes into keys. It keeps the bytes of an incomplete key for the next read.
type keyboard struct {
	pending []byte
	pasting bool
}

// feed takes one read's bytes.
func (k *keyboard) feed(chunk []byte) []key {
	k.pending = append(k.pending, chunk...)
	var keys []key
	for len(k.pending) > 0 {
		next, n := k.next()
		if n == 0 {
			break
		}
		k.pending = k.pending[n:]
		keys = append(keys, next...)
	}
	return keys
}

// flush returns the key Esc if only an ESC byte is pending. The loop calls it when no more bytes have come.
func (k *keyboard) flush() []key {
	if !k.waiting() {
		return nil
	}
	k.pending = nil
	return []key{{kind: keyEsc}}
}

// waiting reports whether the pending bytes begin with ESC, which may be the key Esc or the beginning of a sequence.
func (k *keyboard) waiting() bool { return !k.pasting && bytes.HasPrefix(k.pending, []byte{0x1b}) }

// next reads keys from the front of pending, and returns how many bytes they took. 0 means that the key needs more
// bytes.
func (k *keyboard) next() ([]key, int) {
	data := k.pending
	if k.pasting {
		end := bytes.Index(data, []byte(pasteEnd))
		if end < 0 {
			return nil, 0
		}
		k.pasting = false
		return []key{{kind: keyPaste, text: cleanPaste(data[:end])}}, end + len(pasteEnd)
	}
	switch {
	case bytes.HasPrefix(data, []byte(pasteBegin)):
		k.pasting = true
		return nil, len(pasteBegin)
	case data[0] == 0x1b:
		return escape(data)
	case data[0] < 0x20 && data[0] != '\r' && data[0] != '\n' && data[0] != '\t':
		return []key{{kind: keyControl, text: string(rune(data[0] | 0x60))}}, 1
	case data[0] == 0x7f:
		return []key{{kind: keyBackspace}}, 1
	}
	return plain(data)
}

// plain reads text up to the next control byte.
func plain(data []byte) ([]key, int) {
	end := bytes.IndexFunc(data, func(r rune) bool {
		return (r < 0x20 && r != '\r' && r != '\n' && r != '\t') || r == 0x7f
	})
	if end < 0 {
		end = len(data)
	}
	for cut := 1; cut < utf8.UTFMax && cut <= end; cut++ { // wait for the next read if it has the rest of a rune
		if start := end - cut; utf8.RuneStart(data[start]) {
			if !utf8.FullRune(data[start:end]) {
				end = start
			}
			break
		}
	}
	if end >= pasteRead {
		return []key{{kind: keyPaste, text: cleanPaste(data[:end])}}, end
	}
	var keys []key
	text := ""
	for _, r := range string(data[:end]) {
		switch r {
		case '\r', '\n':
			if text != "" {
				keys = append(keys, key{keyText, text})
			}
			keys, text = append(keys, key{kind: keyEnter}), ""
		case '\t': // Tab completes, but there is nothing to complete
		default:
			text += string(r)
		}
	}
	if text != "" {
		keys = append(keys, key{keyText, text})
	}
	return keys, end
}

var csi = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\x1b(\[[0-9;?<=>]*[ -/]*[@-~]|O[@-~])`) })

// escape reads one escape sequence.
func escape(data []byte) ([]key, int) {
	if seq := csi().Find(data); seq != nil {
		switch string(seq[1:]) {
		case "[A", "OA":
			return []key{{kind: keyUp}}, len(seq)
		case "[B", "OB":
			return []key{{kind: keyDown}}, len(seq)
		}
		return nil, len(seq)
	}
	switch {
	case len(data) == 1, data[1] == '[' && len(data) < 16, data[1] == 'O' && len(data) == 2:
		return nil, 0
	case data[1] == 0x1b:
		return []key{{kind: keyEsc}}, 1
	case data[1] == '\r' || data[1] == '\n':
		return []key{{kind: keyNewline}}, 2
	}
	return nil, 2 // Alt and a letter
}

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b(\[[0-9;?<=>]*[ -/]*[@-~]|.)?`) })

// cleanPaste turns pasted bytes into text: without escape sequences and control bytes, \n between lines, four blanks for
// a tab.
func cleanPaste(data []byte) string {
	text := escapes().ReplaceAllString(strings.ToValidUTF8(string(data), "\uFFFD"), "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(text)
	return strings.Map(func(r rune) rune {
		if (r < 0x20 && r != '\n') || r == 0x7f {
			return -1
		}
		return r
	}, text)
}
