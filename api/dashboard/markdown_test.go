package dashboard

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/understudyd/understudy/daemon/words"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const link = `title="%s" rel="noopener noreferrer nofollow" target="_blank"`
	for source, want := range map[string]string{
		"# A\n\nb *c* **d** ~~e~~ `f`":       "<h2>A</h2>\n<p>b <em>c</em> <strong>d</strong> <del>e</del> <code>f</code></p>\n",
		"A\n===\n\n###### B":                 "<h2>A</h2>\n<h6>B</h6>\n",
		"- [x] a\n- [ ] b":                   "<ul>\n<li><input type=\"checkbox\" aria-label=\"done\" checked disabled> a</li>\n<li><input type=\"checkbox\" aria-label=\"to do\" disabled> b</li>\n</ul>\n",
		"|a|b|\n|-|:-:|\n|c|d|":              "<table>\n<thead>\n<tr>\n<th>a</th>\n<th align=\"center\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>c</td>\n<td align=\"center\">d</td>\n</tr>\n</tbody>\n</table>\n",
		"```go\na <b>\n```":                  "<pre><code>a &lt;b&gt;\n</code></pre>\n",
		"[a](https://e.org/?b=1&c=\"2\")":    `<p><a href="https://e.org/?b=1&amp;c=%222%22" ` + strings.Replace(link, "%s", "https://e.org/?b=1&amp;c=%222%22", 1) + ">a</a></p>\n",
		"see https://e.org.":                 `<p>see <a href="https://e.org" ` + strings.Replace(link, "%s", "https://e.org", 1) + ">https://e.org</a>.</p>\n",
		"<a@e.org>":                          `<p><a href="mailto:a@e.org" ` + strings.Replace(link, "%s", "mailto:a@e.org", 1) + ">a@e.org</a></p>\n",
		"![a *b*](https://e.org/i.png)":      `<p><a href="https://e.org/i.png" ` + strings.Replace(link, "%s", "https://e.org/i.png", 1) + ">image: a b</a></p>\n",
		"[![a](b)](https://e.org/)":          `<p><a href="https://e.org/" ` + strings.Replace(link, "%s", "https://e.org/", 1) + ">image: a</a></p>\n",
		"[a](docs/b.md)":                     `<p><span class="nolink" title="docs/b.md">a</span></p>` + "\n",
		"<persona>\nbe **kind**\n</persona>": "<p>&lt;persona&gt;\nbe <strong>kind</strong>\n&lt;/persona&gt;</p>\n",
		"a \u202eb\x1b[31m\x00c\r\nd":        "<p>a \uFFFDb\uFFFD[31m\uFFFDc\nd</p>\n",
		"a &#x202e;&#27;&lt;b&gt;":           "<p>a \uFFFD\uFFFD&lt;b&gt;</p>\n",
		"":                                   "",
	} {
		equal(t, source+" is drawn as", string(markdown(source)), want)
	}
}

// hostile are texts that try to become HTML, scripts or links.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`, `<iframe src="javascript:alert(1)"></iframe>`,
	`</pre></div></main><h1 id="main">mine</h1>`, `<a href="javascript:alert(1)">x</a>`, `<style>*{display:none}</style>`, `<!-- --><b>x</b>`, `<![CDATA[<b>]]>`,
	`<base href="//evil.example/">`, `<meta http-equiv=refresh content="0;url=//evil.example">`, `<form action=//evil.example><button>x</button></form>`,
	`<button data-call="POST /api/agents/1/stop">x</button>`, `<details open ontoggle=alert(1)>`, `"><b onclick=alert(1)>`, `' onfocus='alert(1)' autofocus='`,
	`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, `[x](java&#115;cript:alert(1))`, `[x](&#x6A;avascript:alert(1))`, "[x](java\tscript:alert(1))", "[x](\x01javascript:alert(1))",
	`[x](data:text/html;base64,PHNjcmlwdD4=)`, `[x](vbscript:x)`, `[x](file:///etc/passwd)`, `[x](//evil.example/x)`, `[x](/api/agents/1/stop)`, `[x](https:evil)`, `[x](blob:https://e.org/1)`,
	`[x](<https://e.org/" onclick="alert(1)>)`, `[x](https://e.org 'a" onclick="alert(1)')`, `<javascript:alert(1)>`, `<https://e.org/"onclick=alert(1)>`, "[x][y]\n\n[y]: javascript:alert(1)",
	`![x](https://evil.example/pixel.png)`, `![x](javascript:alert(1))`, `![" onerror="alert(1)](https://e.org/x)`, "![x][y]\n\n[y]: https://evil.example/pixel.png", `[![x](https://evil.example/p)](javascript:alert(1))`,
	"```a\tscreen\" onclick=alert(1)\nx\n```", "```<script>\nx\n```", "~~~\u00a0a\fscreen\nx\n~~~", "# x {#main .screen onclick=alert(1)}", "|<script>|\n|-|\n|<img src=x onerror=alert(1)>|",
	`\<script>alert(1)\</script>`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `&#60;script&#62;`, "`<script>`", "    <script>", "- <script>\n- <b>", "> <script>", "[^1]\n\n[^1]: <script>", "http://e.org/<script>", "www.e.org/\"onclick=alert(1)", "{{.}} {{template \"layout\"}}",
	"\u202ereversed", "\x1b[2J\x1b]8;;https://evil.example\x07x", "\x00<script>\x00", "<scr\x00ipt>", "\xff\xfe<script>", strings.Repeat("w", 5000), strings.Repeat("a\u0300\u0301\u0302", 1000),
}

// allowed are the elements that Markdown may become, with their attributes.
var allowed = map[atom.Atom][]string{
	atom.A: {"href", "title", "rel", "target"}, atom.Span: {"class", "title"}, atom.Pre: {"class"}, atom.P: {"class"}, atom.Input: {"checked", "disabled", "type", "aria-label"},
	atom.Ol: {"start"}, atom.Th: {"align"}, atom.Td: {"align"}, atom.Ul: nil, atom.Li: nil, atom.Code: nil, atom.Em: nil, atom.Strong: nil, atom.Del: nil, atom.Blockquote: nil,
	atom.H2: nil, atom.H3: nil, atom.H4: nil, atom.H5: nil, atom.H6: nil, atom.Hr: nil, atom.Br: nil, atom.Table: nil, atom.Thead: nil, atom.Tbody: nil, atom.Tr: nil,
}

// harmless checks that the HTML of a text has only text, allowed elements and links, in its own place.
func harmless(t *testing.T, source string) {
	t.Helper()
	drawn := string(markdown(source))
	doc := value(html.Parse(strings.NewReader(`<body><div id="in">` + drawn + `</div><i id="after"></i></body>`)))(t)
	in := find(doc, "in")
	if in == nil || in.NextSibling == nil || attribute(in.NextSibling, "id") != "after" || in.Parent.DataAtom != atom.Body || in.Parent.FirstChild != in {
		t.Fatalf("%.200q breaks out: %.500s", source, drawn)
	}
	for n := range in.Descendants() {
		if n.Type == html.TextNode {
			equal(t, source+": text has control characters", words.Page(n.Data), n.Data)
			continue
		}
		names, ok := allowed[n.DataAtom]
		if n.Type != html.ElementNode || !ok {
			t.Fatalf("%.200q becomes <%s>: %.500s", source, n.Data, drawn)
		}
		for _, a := range n.Attr {
			if !slices.Contains(names, a.Key) {
				t.Errorf("%.200q becomes <%s %s=%q>", source, n.Data, a.Key, a.Val)
			}
			if a.Key == "aria-label" && a.Val != "done" && a.Val != "to do" {
				t.Errorf("%.200q is called %q", source, a.Val)
			}
			if a.Key == "class" && !slices.Contains([]string{"nolink", "text", "hint"}, a.Val) {
				t.Errorf("%.200q has class %q", source, a.Val)
			}
			if a.Key == "href" && (!leads().MatchString(a.Val) || attribute(n, "rel") != "noopener noreferrer nofollow" || attribute(n, "title") != a.Val) {
				t.Errorf("%.200q leads to %q without saying so", source, a.Val)
			}
		}
	}
}

func TestMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	for _, source := range hostile {
		harmless(t, source)
		harmless(t, "- "+source+"\n  > "+source+"\n\n**"+source+"** ["+source+"](https://e.org/"+source+")")
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, source := range hostile {
		f.Add(source)
	}
	f.Fuzz(harmless)
}

// TestMarkdownIsBounded draws texts that would take minutes, or all memory, without the bounds.
func TestMarkdownIsBounded(t *testing.T) {
	t.Parallel()
	const size = 900_000
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for name, source := range map[string]string{
		"quotations":    fill("> ", size),
		"lists":         fill("- ", size),
		"open lists":    fill("- ", size/2) + fill("\n", size/2),
		"brackets":      fill("[", size/2) + fill("]", size/2),
		"emphasis":      fill("*a ", size/2) + fill(" a_", size/2),
		"setext":        fill("*a ", size/2) + "\n" + fill("*a_ ", size/2) + "\n===",
		"headings":      fill("# "+strings.Repeat("*a ", 900)+strings.Repeat(" a_", 900)+"\n", size),
		"paragraphs":    fill(strings.Repeat("[", 499)+strings.Repeat("]", 499)+"\n\n", size),
		"wide table":    fill("|a", size/4) + "\n" + fill("|-", size/4) + "\n" + fill("a\n", size/2),
		"many tables":   fill(strings.Repeat("|a", 100)+"\n"+strings.Repeat("|-", 100)+"\n"+strings.Repeat("a\n", 150)+"\n", size),
		"references":    "[a]: http://" + fill("x", 1900) + "\n\n" + fill(strings.Repeat("[a] ", 100)+"\n\n", size),
		"too much":      fill("a\n\n", 2*size),
		"nested images": fill("![", 4000) + fill("](b)", 8000),
	} {
		if got := markdown(source); len(got) > 8*len(source) {
			t.Errorf("%s: %d bytes become %d", name, len(source), len(got))
		}
	}
	for source, want := range map[string]bool{"a": false, fill("a\n\n", maxMarkdown+3): true, "[a]: http://" + fill("x", 60_000) + "\n\n" + fill("[a] ", 400): true} {
		equal(t, source+": shown as text is", strings.Contains(string(markdown(source)), "is shown as plain text"), want)
	}
	if got := string(markdown(fill("a|", 3000) + "\n" + fill("-|", 3000) + "\n" + fill("b\n", 200))); !strings.HasPrefix(got, "<pre><code>a|a|") {
		t.Errorf("a table that is too large is drawn as %.200s", got)
	}
	deep := string(markdown(fill("> ", 200) + "a"))
	if strings.Count(deep, "<blockquote>") != maxDepth || !strings.Contains(deep, "&gt; a") {
		t.Errorf("200 quotations are drawn as %s", deep)
	}
}
