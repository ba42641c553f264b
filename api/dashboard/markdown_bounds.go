package dashboard

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Reading Markdown can take time that grows with the square of what is read, and depth that no stack has.
// A document is bounded where that begins: what is nested too deep is text, and a paragraph that would
// take too much is shown as it was written, as if it were code.
const (
	maxDepth     = 24         // lists and quotations in each other, each list counting twice
	maxParagraph = 64_000     // bytes
	maxMarks     = 1000       // of a paragraph
	maxEffort    = 10_000_000 // of a document: the marks of each paragraph, squared
	maxCells     = 50_000     // of all tables of a document
)

// marks are the characters that may begin something; what ends it is looked for.
const marks = "*_~[]!<`"

// effort is what a document has taken so far.
type effort struct{ marks, cells int }

var effortKey = parser.NewContextKey()

func effortOf(pc parser.Context) *effort {
	return pc.ComputeIfAbsent(effortKey, func() any { return &effort{} }).(*effort)
}

// read reports whether so many marks can be read at once, too.
func (e *effort) read(marks int) bool {
	e.marks += marks * marks
	return marks <= maxMarks && e.marks <= maxEffort
}

// newMarkdownParser knows no HTML: that is text.
func newMarkdownParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(shallow{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(simple{parser.NewATXHeadingParser()}, 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(bound(takesTable), 50), // before references and tables are taken out
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(bound(takesText), 300),
		),
	)
}

// shallow opens a block unless it is nested too deep.
type shallow struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	line, at := reader.Position()
	node, state := s.BlockParser.Open(parent, reader, pc) // in any case: it keeps notes
	if depth > maxDepth {
		reader.SetPosition(line, at)
		return nil, parser.NoChildren
	}
	return node, state
}

// simple opens a block of one line unless that would take too much.
type simple struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (s simple) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := reader.PeekLine(); len(line) > maxParagraph || !effortOf(pc).read(countMarks(line)) {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// bound makes code of the paragraphs that it does not take.
type bound func(e *effort, lines *text.Segments, source []byte) bool

// Transform implements [parser.ParagraphTransformer].
func (b bound) Transform(p *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if b(effortOf(pc), p.Lines(), reader.Source()) {
		return
	}
	code := ast.NewCodeBlock()
	code.SetLines(p.Lines())
	p.Parent().ReplaceChild(p.Parent(), p, code)
}

// takesTable says whether a paragraph may become a table: then each row has as many cells as the head, whatever it
// says itself, and each cell is read alone.
func takesTable(e *effort, lines *text.Segments, source []byte) bool {
	size, columns := 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(source)
		size += len(line)
		columns = max(columns, bytes.Count(line, []byte("|")))
		if size > maxParagraph || !e.read(countMarks(line)) {
			return false
		}
	}
	e.cells += columns * lines.Len()
	return e.cells <= maxCells
}

// takesText says whether a paragraph can be read as a whole.
func takesText(e *effort, lines *text.Segments, source []byte) bool {
	n := 0
	for i := range lines.Len() {
		segment := lines.At(i)
		n += countMarks(segment.Value(source))
	}
	return e.read(n)
}

func countMarks(line []byte) (n int) {
	for _, c := range line {
		if strings.IndexByte(marks, c) >= 0 {
			n++
		}
	}
	return n
}
