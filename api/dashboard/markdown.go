package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tasks "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/secrets"
)

const (
	maxMarkdown = 1 << 20 // bytes of a text that is drawn as Markdown; a longer text is shown as plain text
	maxAddress  = 2000    // bytes of a link's address
	maxLinked   = 4 << 20 // bytes of all addresses: a short text can refer to one long address many times
)

// markdown draws a text that an agent wrote. The returned HTML loads nothing and runs nothing. It has no id, name or class
// that the page's scripts or styles could mistake for the page's own, and it shows the address of every link. If the text
// contains HTML, the page shows that HTML as text. If the text is too large or would take too long to parse, markdown
// returns it as plain text.
func markdown(source string) template.HTML {
	source = secrets.Mask(strings.ToValidUTF8(source, "\uFFFD"))
	var b bytes.Buffer
	if err := layOut(&b, source); err != nil {
		return template.HTML(`<p class="hint">This text ` + err.Error() + `. It is shown as plain text.</p><pre class="text">` +
			words.Page(template.HTMLEscapeString(source)) + "</pre>")
	}
	return template.HTML(words.Page(b.String()))
}

var (
	errTooLarge = errors.New("is too large to be drawn as Markdown")
	errLinks    = errors.New("has too many links to be drawn as Markdown")
)

func layOut(b *bytes.Buffer, from string) error {
	if len(from) > maxMarkdown {
		return errTooLarge
	}
	source := []byte(from)
	doc := layout().Parser().Parse(text.NewReader(source))
	if linked(doc) > maxLinked {
		return errLinks
	}
	if layout().Renderer().Render(b, source, doc) != nil {
		return errLinks
	}
	return nil
}

// linked counts the bytes of all addresses in a document.
func linked(doc ast.Node) (n int) {
	_ = ast.Walk(doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch link := node.(type) {
		case *ast.Link:
			n += len(link.Destination)
		case *ast.Image:
			n += len(link.Destination)
		}
		return ast.WalkContinue, nil
	})
	return n
}

// layout parses GitHub's Markdown; [drawing] draws some of its nodes.
var layout = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(newMarkdownParser()),
		goldmark.WithExtensions(
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // the policy of the pages allows no style attribute
			extension.Strikethrough, extension.TaskList,
		),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(drawing{}, 100), util.Prioritized(html.NewRenderer(), 1000),
		))),
	)
})

// drawing draws the nodes for which goldmark's own HTML is not suitable.
type drawing struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (d drawing) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, d.heading)
	r.Register(ast.KindFencedCodeBlock, d.code)
	r.Register(ast.KindLink, d.link)
	r.Register(ast.KindAutoLink, d.autoLink)
	r.Register(ast.KindImage, d.image)
	r.Register(tasks.KindTaskCheckBox, d.box)
}

// heading draws a heading one level lower, because the page itself has the heading of the first level.
func (drawing) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := min(n.(*ast.Heading).Level+1, 6)
	if entering {
		fmt.Fprintf(w, "<h%d>", level)
	} else {
		fmt.Fprintf(w, "</h%d>\n", level)
	}
	return ast.WalkContinue, nil
}

// code draws a code block without its language. goldmark would make the language a class, which the writer could choose.
func (drawing) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	fmt.Fprint(w, "<pre><code>")
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		template.HTMLEscape(w, line.Value(source))
	}
	fmt.Fprint(w, "</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

func (drawing) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	open, end := anchor(n.(*ast.Link).Destination)
	if entering {
		fmt.Fprint(w, open)
	} else {
		fmt.Fprint(w, end)
	}
	return ast.WalkContinue, nil
}

func (drawing) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink)
	address := link.URL(source)
	if link.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(address), []byte("mailto:")) {
		address = append([]byte("mailto:"), address...)
	}
	writeLink(w, address, link.Label(source))
	return ast.WalkContinue, nil
}

// image draws a link to the image. If the page loaded the image, the image's server would notice that somebody reads the
// page.
func (drawing) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	alt := append([]byte("image: "), textOf(n, source)...)
	if inLink(n) {
		template.HTMLEscape(w, alt)
	} else {
		writeLink(w, n.(*ast.Image).Destination, alt)
	}
	return ast.WalkSkipChildren, nil
}

// box draws a check box with a label for screen readers.
func (drawing) box(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch {
	case !entering:
	case n.(*tasks.TaskCheckBox).IsChecked:
		fmt.Fprint(w, `<input type="checkbox" aria-label="done" checked disabled> `)
	default:
		fmt.Fprint(w, `<input type="checkbox" aria-label="to do" disabled> `)
	}
	return ast.WalkContinue, nil
}

func writeLink(w util.BufWriter, address, text []byte) {
	open, end := anchor(address)
	fmt.Fprint(w, open)
	template.HTMLEscape(w, text)
	fmt.Fprint(w, end)
}

// leads matches the addresses that a link may have. Browsers may give any other address another meaning.
var leads = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:https?://|mailto:)[!-~]+$`) })

// anchor returns the tags before and after the text of a link. If [leads] does not match the address, the reader sees the
// address but cannot follow it.
func anchor(address []byte) (open, end string) {
	shown := string(util.URLEscape(address[:min(len(address), maxAddress)], true))
	escaped := template.HTMLEscapeString(shown)
	if len(address) > maxAddress || !leads().MatchString(shown) {
		return `<span class="nolink" title="` + escaped + `">`, "</span>"
	}
	return `<a href="` + escaped + `" title="` + escaped + `" rel="noopener noreferrer nofollow" target="_blank">`, "</a>"
}

func inLink(n ast.Node) bool {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if n.Kind() == ast.KindLink {
			return true
		}
	}
	return false
}

// textOf returns the text in a node without its markup.
func textOf(n ast.Node, source []byte) (out []byte) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			out = append(out, t.Segment.Value(source)...)
			if t.SoftLineBreak() {
				out = append(out, ' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}
