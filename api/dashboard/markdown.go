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
)

const (
	maxMarkdown = 1 << 20 // bytes that are laid out; more are shown as text
	maxAddress  = 2000    // bytes of a link's address
	maxLinked   = 4 << 20 // bytes of all addresses: a short text can refer to a long one often
)

// markdown lays out a text that an agent wrote. What comes out loads nothing, runs nothing, has no id,
// name or class that a page could take for its own, and every link in it names its address. HTML in the
// text is shown as it was written. What is too large, or made to take long, is shown as text.
func markdown(source string) template.HTML {
	source = strings.ToValidUTF8(source, "\uFFFD")
	var b bytes.Buffer
	if err := layOut(&b, source); err != nil {
		return template.HTML(`<p class="hint">This is ` + err.Error() + ` and is shown as text.</p><pre class="text">` +
			words.Page(template.HTMLEscapeString(source)) + "</pre>")
	}
	return template.HTML(words.Page(b.String()))
}

var (
	errTooLarge = errors.New("too large to be laid out")
	errTangled  = errors.New("too tangled to be laid out")
)

func layOut(b *bytes.Buffer, from string) error {
	if len(from) > maxMarkdown {
		return errTooLarge
	}
	source := []byte(from)
	doc := layout().Parser().Parse(text.NewReader(source))
	if linked(doc) > maxLinked {
		return errTangled
	}
	if layout().Renderer().Render(b, source, doc) != nil {
		return errTangled
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

// layout is GitHub's Markdown, drawn in our way.
var layout = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(newMarkdownParser()),
		goldmark.WithExtensions(
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // a style would need another policy
			extension.Strikethrough, extension.TaskList,
		),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(drawing{}, 100), util.Prioritized(html.NewRenderer(), 1000),
		))),
	)
})

// drawing draws the nodes that are drawn in another way than goldmark's.
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

// heading is one level lower: the page has a first one.
func (drawing) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := min(n.(*ast.Heading).Level+1, 6)
	if entering {
		fmt.Fprintf(w, "<h%d>", level)
	} else {
		fmt.Fprintf(w, "</h%d>\n", level)
	}
	return ast.WalkContinue, nil
}

// code leaves out the language: it would become a class of the writer's choosing.
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

// image is a link to it: what a page loads by itself tells others that it is read.
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

// box has a name for those who cannot see it.
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

// leads are the addresses that a link may lead to. Of all others browsers make something of their own.
var leads = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:https?://|mailto:)[!-~]+$`) })

// anchor returns what stands before the text of a link and behind it. An address that leads nowhere good
// can be read but not followed.
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

// textOf is the text in a node without its marks.
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
