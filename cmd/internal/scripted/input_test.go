package scripted

import (
	"reflect"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/actor"
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
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("got  %+v\nwant %+v", got, row.want)
			}
			if len(k.pending) != 0 {
				t.Errorf("left over: %q", k.pending)
			}
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

func TestComposer(t *testing.T) {
	t.Parallel()
	var c actor.Composer
	c.Text = "draft"
	c.PutAway()
	c.PutAway() // no harm on an empty composer
	c.Paste("a\nb  \n")
	if got := c.Take(); got != "a\nb" {
		t.Errorf("prompt %q", got)
	}
	if c.Text != "draft" {
		t.Errorf("the draft did not come back: %q", c.Text)
	}
	c.Text = "one\ntwo"
	for _, want := range []string{"one\n", "one", ""} {
		if c.KillLine(); c.Text != want {
			t.Errorf("C-u: %q, want %q", c.Text, want)
		}
	}
	long := strings.Repeat("y", 801)
	c.Text = "see "
	c.Paste(long)
	if c.Text != "see [Pasted text #1 +0 lines]" {
		t.Errorf("composer %q", c.Text)
	}
	if got := c.Take(); got != "see \n\n<pasted_content id=\"f982\">\n"+long+"\n</pasted_content id=\"f982\">\n" {
		t.Errorf("prompt %q", got)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
	} {
		if got := actor.Wrap(row.text, row.width); !reflect.DeepEqual(got, row.want) {
			t.Errorf("actor.Wrap(%q, %d) = %q, want %q", row.text, row.width, got, row.want)
		}
	}
}
