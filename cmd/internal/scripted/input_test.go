package scripted

import (
	"strings"
	"testing"
)

func TestKeyboard(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", pasteRead)
	for name, row := range map[string]struct {
		reads []string
		want  []key
	}{
		"typed":            {[]string{"hi\r"}, []key{{keyText, "hi"}, {keyEnter, ""}}},
		"one read":         {[]string{"\x13" + pasteBegin + "a\rb" + pasteEnd + "\r"}, []key{{keyControl, "s"}, {keyPaste, "a\nb"}, {keyEnter, ""}}},
		"paste in pieces":  {[]string{pasteBegin + "a\x1b[20", "1~\r"}, []key{{keyPaste, "a"}, {keyEnter, ""}}},
		"long read":        {[]string{long + "\r"}, []key{{keyPaste, long + "\n"}}},
		"long, then enter": {[]string{long, "\r"}, []key{{keyPaste, long}, {keyEnter, ""}}},
		"split rune":       {[]string{"\xe2\x9d", "\xaf"}, []key{{keyText, "❯"}}},
		"arrows":           {[]string{"\x1b[A\x1b[1;5C\x1b[B"}, []key{{keyUp, ""}, {keyDown, ""}}},
		"alt-enter":        {[]string{"a\x1b\rb"}, []key{{keyText, "a"}, {keyNewline, ""}, {keyText, "b"}}},
		"cleaned":          {[]string{pasteBegin + "a\x1b[31mb\tc\x00\r\nd" + pasteEnd}, []key{{keyPaste, "ab    c\nd"}}},
		"control":          {[]string{"\x03\x15\x7f"}, []key{{keyControl, "c"}, {keyControl, "u"}, {keyBackspace, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var k keyboard
			var got []key
			for _, read := range row.reads {
				got = append(got, k.feed([]byte(read))...)
			}
			equal(t, "got", got, row.want)
			equal(t, "left over", len(k.pending), 0)
		})
	}
}

func TestLoneEscape(t *testing.T) {
	t.Parallel()
	var k keyboard
	if got := k.feed([]byte{0x1b}); got != nil || !k.waiting() {
		t.Fatalf("a lone ESC is not waited for: %+v", got)
	}
	if got := k.flush(); len(got) != 1 || got[0].kind != keyEsc {
		t.Fatalf("flush: %+v", got)
	}
}

func FuzzKeyboard(f *testing.F) {
	f.Add([]byte(pasteBegin+"a"+pasteEnd+"\r"), 3)
	f.Add([]byte("\x1b[\x1b[A\xff"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var k keyboard
		cut = max(0, min(cut, len(data)))
		k.feed(data[:cut])
		for _, key := range k.feed(data[cut:]) {
			if strings.ContainsAny(key.text, "\x1b\r\x00") {
				t.Errorf("control bytes in %q", key.text)
			}
		}
	})
}
