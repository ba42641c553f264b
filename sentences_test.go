package understudy_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// sentences are fields of rows that hold words for people, beside the code by which the daemon decides: Hold, EndCode, EvidenceCode.
var sentences = []string{"Note", "EndReason", "Evidence"}

// readsWords are the files that may compare such words, with what they do there. Other fields with these names are those of a file in a
// document, of an answer to a dialog and of a pipeline.
var readsWords = map[string]string{
	"daemon/hold_old.go":                "reads the words that a daemon of the last release has written",
	"daemon/handoffs/assemble_files.go": "the note of a file in a document",
	"daemon/dialog.go":                  "the note of an answer to a dialog",
	"daemon/pipelines/run.go":           "whether the words about a pipeline have changed, which is told",
	"daemon/pipelines/watch.go":         "whether there is a reason to print",
	"daemon/handoffs/handoff_words.go":  "whether there is a reason to print",
}

// TestNoSentenceIsState: the daemon compares no words that are stored for people. It decides by the code beside them, so that words can
// be changed, and rows of older daemons mean what they meant.
func TestNoSentenceIsState(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.dir != "daemon" && !strings.HasPrefix(s.dir, "daemon/") || readsWords[s.path] != "" || strings.HasPrefix(s.dir, "daemon/sim") || s.dir == "daemon/storetest" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var read []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					read = []ast.Expr{n.X, n.Y}
				}
			case *ast.SwitchStmt:
				read = []ast.Expr{n.Tag}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok {
					if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "strings" {
						read = n.Args
					}
				}
			}
			for _, e := range read {
				if star, ok := e.(*ast.StarExpr); ok {
					e = star.X
				}
				if field, ok := e.(*ast.SelectorExpr); ok && slices.Contains(sentences, field.Sel.Name) {
					t.Errorf("%s: %s holds words for people: decide by the code beside it", s.line(e.Pos()), field.Sel.Name)
				}
			}
			return true
		})
	}
}
