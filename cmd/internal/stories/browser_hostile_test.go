//go:build e2e

package stories

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/understudyd/understudy/daemon"
)

// hostileLine tries to be more than text, wherever a page may put it.
var hostileLine = `"'></title></textarea></select></pre></bdi></p></li></ul></section></main><script>window.pwned=1</script>` +
	`<img src=https://evil.example/a onerror=window.pwned=1><svg onload=window.pwned=1><form id=main action=/api/agents/1/stop><input name=action>` +
	` <iframe srcdoc="<script>parent.pwned=1</script>"></iframe> onclick=window.pwned=1 {{.}} ${window.pwned=1} javascript:window.pwned=1 //evil.example ../..?a=b&c#d &lt;b&gt;` +
	" \x1b[31m\x1b[2J\x1b]8;;https://evil.example\x1b\\here\x1b]52;c;cHduZWQ=\x07\u202e\u2066desrever\u200b\ufeff\x00\u0301" + strings.Repeat("\u0300", 60) + " " + strings.Repeat("w", 400)

// hostileDocument is Markdown that tries to be more than a document.
var hostileDocument = hostileLine + "\n\n# heading {#main .card onclick=window.pwned=1}\n\n" +
	"<script>window.pwned=1</script>\n\n<div id=\"main\" name=\"body\" style=\"position:fixed;inset:0;z-index:99\">over all</div>\n\n" +
	"</main><form action=/api/agents/1/stop method=post><button>Approve</button></form>\n\n<meta http-equiv=refresh content=\"0;url=https://evil.example/b\">\n\n" +
	"![a](https://evil.example/c.png) ![b](data:image/svg+xml,<svg/onload=window.pwned=1>) ![c](/api/agents/1/stop)\n\n" +
	"[a](javascript:window.pwned=1) [b](data:text/html,<script>window.pwned=1</script>) [c](//evil.example/d) [d](/login?key=a) [e](#main) [f](vbscript:x) <javascript:window.pwned=1>\n\n" +
	"[a]: https://evil.example/e \"onmouseover=window.pwned=1\"\n\n```\"><script>window.pwned=1</script>\n</code></pre><script>window.pwned=1</script>\n```\n\n" +
	"| a | " + strings.Repeat("w", 5000) + " |\n|:-:|--:|\n| <img src=https://evil.example/f> | `x` |\n\n- [ ] <input name=getElementById>\n\n" +
	strings.Repeat(">", 200) + " quoted\n\n" + strings.Repeat("- ", 200) + "listed\n\n" + strings.Repeat("**[", 400) + "\n\n[^1] https://evil.example/g www.evil.example\n"

// hostileScreen is output that tries to make a pane show more than text.
const hostileScreen = "\x1b[2J\x1b[H\x1b[31mred\x1b[0m </pre></main><script>window.pwned=1</script> \x1b]8;;javascript:window.pwned=1\x1b\\link\x1b]8;;\x1b\\" +
	"\x1b]52;c;cHduZWQ=\x07\x1b]0;<img src=x onerror=window.pwned=1>\x07\r\n\x1b[38;2;1;200;3mtrue\x1b[48;5;200;1;4;7m colour\x1b[0m \u202e宽字👩‍👩‍👧\r\n\x1b(0lqqk\x1b(B &lt;b&gt; end of it\r\n"

// updated makes the page update itself by the morph several times, as if events came. It returns the page after that,
// without ages, pictures of time, and what the page itself adds.
const updated = `(async times => {
	const { morph } = await import('/ui/static/morph.js');
	const { ask } = await import('/ui/static/session.js');
	const main = document.getElementById('main');
	for (let i = 0; i < times; i++) {
		morph(main, new DOMParser().parseFromString(await (await ask(location.pathname + location.search, { headers: { Accept: 'text/html' } })).text(), 'text/html').getElementById('main'));
	}
	const copy = main.cloneNode(true);
	for (const time of copy.querySelectorAll('time')) time.textContent = '';
	for (const drawn of copy.querySelectorAll('figure.picture, svg.chart')) drawn.replaceChildren();
	for (const kept of copy.querySelectorAll('[data-keep]')) kept.replaceChildren();
	for (const kept of copy.querySelectorAll('[data-watched]')) kept.removeAttribute('data-watched');
	return copy.outerHTML.replaceAll(/\d[\d.]* (s|min|h)\b/g, '');
})`

// script loads a program from testdata/browser, for eval.
func (p *tab) script(name string) string {
	p.r.t.Helper()
	return p.r.readFile("testdata/browser/" + name)
}

// wantSound fails if the page has a problem on a wide or on a narrow screen.
func (p *tab) wantSound(what string) {
	p.r.t.Helper()
	widths := []int64{1280, 390}
	if eval[int64](p, "innerWidth") == 390 {
		slices.Reverse(widths) // as wantReadable
	}
	for _, width := range widths {
		p.setScreen(width, "light")
		for _, problem := range eval[[]string](p, p.script("audit.js")) {
			p.r.t.Errorf("%s at %d: %s", what, width, problem)
		}
	}
}

// TestBrowserShowsHostileTextAsText fills every field that agents can write with hostile text. Each page must run and
// load nothing of it, and stay usable. That it has the same elements as with plain words, TestHostileText of the dashboard shows.
func TestBrowserShowsHostileTextAsText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	evil := stageScene(r, func(string) string { return hostileLine }, func(string) string { return hostileDocument })
	p := openDashboard(r)
	p.listensForViolations()
	for _, page := range evil.pages() {
		p.visit(page.path)
		p.wantSound(page.name)
		p.takePicture("hostile-" + page.name)
		fresh, again := eval[string](p, updated+"(0)"), eval[string](p, updated+"(3)")
		if fresh != again {
			t.Errorf("%s is another page after updates than when it is loaded: %s", page.name, firstDifference(fresh, again))
		}
		if broken := eval[[]string](p, "window.violations"); len(broken) > 0 {
			t.Errorf("%s would do what its policy forbids: %v", page.name, broken)
		}
	}
	p.visit("/")
	p.setScreen(390, "light")
	p.click(fmt.Sprintf("#agent-%d [data-open=hand-off]", evil.agents["full"]))
	p.awaitText("#hand-off h2", "script")
	if at := eval[[]float64](p, `[document.querySelector('#hand-off .primary').getBoundingClientRect().bottom, innerHeight]`); at[0] > at[1] {
		t.Errorf("the dialog's button ends at %.0f on a screen of %.0f", at[0], at[1])
	}
	p.takePicture("hostile-dialog")
}

// listensForViolations makes each page note what its content policy forbids.
func (p *tab) listensForViolations() {
	p.r.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{
			Source: "window.violations = []; addEventListener('securitypolicyviolation', e => window.violations.push(e.violatedDirective + ' ' + e.blockedURI))"})
		return err
	}))
}

// firstDifference returns the first lines in which two texts differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: want %.300q, got %.300q", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(y), len(x))
}

// showsAHostileScreen has a pane print text that tries to be more than a screen.
func showsAHostileScreen(t *testing.T, p *tab, a daemon.Agent) {
	terminal := fmt.Sprintf("/proc/%d/fd/1", agentRow(p.r, a.ID).PID)
	must(t, os.WriteFile(terminal, []byte(hostileScreen), 0))
	p.awaitText("#screen", "end of it")
	for _, want := range []string{"</pre></main><script>", "┌──┐", "宽字", "&lt;b&gt;"} {
		p.awaitText("#screen", want)
	}
	holds(t, "colours", strings.Join(eval[[]string](p, "[...document.querySelectorAll('#screen span')].map(e => e.className + ' ' + getComputedStyle(e).color)"), "\n"), "rgb(1, 200, 3)")
	equal(t, "elements that are no text of a screen", eval[int](p, "document.querySelectorAll('#screen :not(pre, span)').length"), 0)
	p.wantSound("the agent's page")
	p.takePicture("hostile-screen")
}
