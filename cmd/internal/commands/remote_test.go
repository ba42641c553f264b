package commands

import (
	"net/url"
	"strings"
	"testing"

	"rsc.io/qr"
)

// TestRemoteFitsTheDaemon: the commands name the daemon's own port and address, and the name if it has one.
func TestRemoteFitsTheDaemon(t *testing.T) {
	t.Parallel()
	local := &url.URL{Scheme: "http", Host: "127.0.0.1:7555"}
	text := remoteText(local, "", "con@desk")
	holds(t, "with an address", text, "ssh -L 7555:127.0.0.1:7555 con@desk", "tailscale serve --bg 7555", "reverse-proxy --from desk.example.org --to 127.0.0.1:7555", "No other machine reaches it")
	text = remoteText(local, "https://desk.tail1.ts.net", "con@desk")
	if !strings.Contains(text, "public_url: https://desk.tail1.ts.net") || strings.Contains(text, "example.org") || !strings.Contains(text, "remote --qr") {
		t.Errorf("with a name:\n%s", text)
	}
	holds(t, "beyond loopback", remoteText(&url.URL{Host: "192.168.1.5:7433"}, "", "con@desk"), "Better listen on 127.0.0.1")
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
}

// TestCodeIsDrawnDotByDot: what is printed has the dots of the code, and fits a terminal of 80x24.
func TestCodeIsDrawnDotByDot(t *testing.T) {
	t.Parallel()
	code := value(qr.Encode("https://desk.tail12345.ts.net/login?key=ABCDEFGHIJKLMNOPQRSTUVWXYZ", qr.L))(t)
	lines := strings.Split(strings.TrimSuffix(codeText(code, false), "\n"), "\n")
	if len(lines) > 22 || len([]rune(lines[0])) > 80 {
		t.Errorf("%d lines of %d columns", len(lines), len([]rune(lines[0])))
	}
	black := 0
	for i, line := range lines {
		for j, dots := range []rune(line) {
			x, y := j-quiet, 2*i-quiet
			upper, lower := dots == '█' || dots == '▀', dots == '█' || dots == '▄'
			if upper != code.Black(x, y) || lower != code.Black(x, y+1) {
				t.Fatalf("dot %d,%d is drawn as %q", x, y, dots)
			}
			if upper {
				black++
			}
		}
	}
	if black == 0 {
		t.Error("no dot is black")
	}
	equal(t, "a line's colours go on", strings.Count(codeText(code, true), "\x1b[0m\n"), len(lines))
}
