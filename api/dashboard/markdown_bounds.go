package dashboard

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The time to parse Markdown can grow with the square of its length, and deep nesting can exhaust the stack. These
// bounds prevent both: blocks that are nested too deep become text, and a paragraph that would take too long is shown
// as it was written, as a code block.
const (
	maxDepth     = 24         // nested lists and quotations; a list counts twice
	maxParagraph = 64_000     // bytes of a paragraph
	maxMarks     = 1000       // marks in a paragraph
	maxEffort    = 10_000_000 // the sum, over a document's paragraphs, of the square of their marks
	maxCells     = 50_000     // cells of all tables in a document
)

// marks are the characters that may begin an inline element. For each the parser looks for the end of the element.
const marks = "*_~[]!<`"

// effort counts the work for the paragraphs of a document that were parsed so far.
type effort struct{ marks, cells int }

var effortKey = parser.NewContextKey()

func effortOf(pc parser.Context) *effort {
	return pc.ComputeIfAbsent(effortKey, func() any { return &effort{} }).(*effort)
}

// read adds a paragraph with so many marks, and reports whether it stays within the bounds.
func (e *effort) read(marks int) bool {
	e.marks += marks * marks
	return marks <= maxMarks && e.marks <= maxEffort
}

// newMarkdownParser makes a parser that treats HTML as text.
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
			util.Prioritized(bound(takesTable), 50), // before the transformers that remove references and tables from a paragraph
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(bound(takesText), 300),
		),
	)
}

// shallow opens a block unless the block is nested too deep.
type shallow struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	line, at := reader.Position()
	node, state := s.BlockParser.Open(parent, reader, pc) // call it even if the block is too deep: the parser keeps state in pc
	if depth > maxDepth {
		reader.SetPosition(line, at)
		return nil, parser.NoChildren
	}
	return node, state
}

// simple opens a block of one line unless the line exceeds the bounds.
type simple struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (s simple) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := reader.PeekLine(); len(line) > maxParagraph || !effortOf(pc).read(countMarks(line)) {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// bound reports whether a paragraph is within the bounds. If a paragraph is not, Transform turns it into a code block.
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

// takesTable says whether a paragraph is within the bounds if it is a table. In a table each row gets as many cells as
// the head has, and each cell is parsed alone.
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

// takesText says whether a paragraph is within the bounds if it is parsed as a whole.
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
