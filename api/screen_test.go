package api

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

func TestScreenHTML(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"plain\ntext\t!":                 "plain\ntext\t!",
		`<a href="x">&'`:                 "&lt;a href=&#34;x&#34;&gt;&amp;&#39;",
		"\x1b[1mb\x1b[0mp":               `<span class="bold">b</span>p`,
		"\x1b[1mb\x1b[mp":                `<span class="bold">b</span>p`,
		"\x1b[1m\x1b[0mp":                "p",
		"\x1b[1m\x1b[1mb":                `<span class="bold">b</span>`,
		"\x1b[31;42mx":                   `<span class="f1 g2">x</span>`,
		"\x1b[97;107mx\x1b[39;49my":      `<span class="f15 g15">x</span>y`,
		"\x1b[38;5;200;48;5;17;3mx":      `<span class="italic f200 g17">x</span>`,
		"\x1b[38:5:200mx":                `<span class="f200">x</span>`,
		"\x1b[38;2;1;2;255mx":            `<span data-f="#0102ff">x</span>`,
		"\x1b[48:2::1:2:3mx":             `<span data-g="#010203">x</span>`,
		"\x1b[48:2:1:2:3;1mx":            `<span class="bold" data-g="#010203">x</span>`,
		"\x1b[38;5;256mx":                "x",
		"\x1b[38;2;1;2mx":                "x",
		"\x1b[38mx\x1b[38;7mx":           "xx",
		"\x1b[58:5:3mx\x1b[58;2;1;1;1mx": "xx",
		"\x1b[4:3mx\x1b[4:0my":           `<span class="underline">x</span>y`,
		"\x1b[5:3mx\x1b[55my":            `<span class="overline">x</span>y`,
		"\x1b[1;2;3;4;5;7;8;9;53mx":      `<span class="bold dim italic underline blink reverse hidden strike overline">x</span>`,
		"\x1b[1;2;3;4;5;7;8;9mx\x1b[22;23;24;25;27;28;29my": `<span class="bold dim italic underline blink reverse hidden strike">x</span>y`,
		"\x1b[7mbar\nnext":                        "<span class=\"reverse\">bar\nnext</span>",
		"\x1b[7;31mx":                             `<span class="reverse g1">x</span>`,
		"\x1b[31;48;2;1;2;3;7mx\x1b[27my":         `<span class="reverse g1" data-f="#010203">x</span><span class="f1" data-g="#010203">y</span>`,
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x07!": "link!",
		"\x1b]0;title":                            "",
		"\x1b]0;title\nline":                      "\nline",
		"\x1bPq#0\x1b\\x":                         "x",
		"\x1b(Bx\x1b=y\x1b":                       "xy",
		"\x1b[2Jx\x1b[?25ly\x1b[>1;31mz":          "xyz",
		"\x1b[12":                                 "",
		"\x1b[1\x1b[31mx":                         `<span class="f1">x</span>`,
		"\x1b[1\nx":                               "\nx",
		"a\x00\x07\x08\r\x7f\u009bb":              "ab",
		"\xff\xfe":                                "\uFFFD\uFFFD",
		"\x0elqqk\x0flq":                          "┌──┐lq",
		"漢字 é 👩‍💻":                                "漢字 é 👩‍💻",
	} {
		equal(t, in, screenHTML(in), want)
	}
}

// TestScreenOfRealPane: screenHTML understands the output of the real tmux.
func TestScreenOfRealPane(t *testing.T) {
	t.Parallel()
	server := tmuxtest.Server(t)
	text := `\033[1;31mred\033[0m \033[4:3mcurly\033[0m \033[38;2;1;2;3mrgb\033[0m \033[53mover\033[0m \033(0lqk\033(B <b>`
	pane := value(server.Spawn(t.Context(), tmux.Spec{Session: "screen", Dir: "/", Argv: []string{"/bin/sh", "-c", "printf '" + text + "'; exec sleep 1000"}}))(t)
	want := `<span class="bold f1">red</span> <span class="underline">curly</span> <span data-f="#010203">rgb</span> <span class="overline">over</span> ┌─┐ &lt;b&gt;`
	var got string
	tmuxtest.Eventually(t, "the screen shows the text", func() bool {
		screens := value(server.Capture(context.Background(), 0, true, pane.Ref))(t)
		got = screenHTML(screens[pane.Pane])
		return strings.Contains(got, "&lt;b&gt;")
	})
	if line, _, _ := strings.Cut(got, "\n"); strings.TrimRight(line, " ") != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

var spanTag = regexp.MustCompile(`^<span( class="[a-z0-9 ]+")?( data-f="#[0-9a-f]{6}")?( data-g="#[0-9a-f]{6}")?>`)

func FuzzScreenHTML(f *testing.F) {
	for _, seed := range []string{
		"plain", "\x1b[1;31mred\x1b[0m", "\x1b[38;2;1;2;3m<&>", "\x1b]8;;x\x1b\\y", "\x1b[4:3m\x0eq\x0f", "\x1bP\n\x1b(B", "\xff\x1b[", "\x1b[38:2::1:2:3;48;5;7m€",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := screenHTML(in)
		// The HTML must be well-formed, and have only our elements and no control bytes.
		decoder := xml.NewDecoder(strings.NewReader("<pre>" + got + "</pre>"))
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				if strings.Contains(err.Error(), "illegal character code") {
					return // U+FFFE and the like are not XML, but harmless in HTML
				}
				t.Fatalf("%q becomes %q: %v", in, got, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local != "span" && e.Name.Local != "pre" {
				t.Fatalf("%q becomes %q with <%s>", in, got, e.Name.Local)
			}
		}
		for rest := got; ; {
			i := strings.IndexByte(rest, '<')
			if i < 0 {
				break
			}
			rest = rest[i:]
			if !strings.HasPrefix(rest, "</span>") && !spanTag.MatchString(rest) {
				t.Fatalf("%q becomes %q", in, got)
			}
			rest = rest[1:]
		}
		if strings.Count(got, "<span") != strings.Count(got, "</span>") {
			t.Fatalf("%q becomes %q", in, got)
		}
		if strings.Count(got, "\n") != strings.Count(in, "\n") {
			t.Fatalf("%q has other lines than %q", got, in)
		}
	})
}
