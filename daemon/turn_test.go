package daemon

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestTurnFactsHaveOneWriter: only turn.go sets the fields that are facts about a turn.
func TestTurnFactsHaveOneWriter(t *testing.T) {
	t.Parallel()
	facts := []string{
		"TurnPromptID", "TurnError", "LastPrompt", "LastPromptAt", "LastStop", "WorkStop", "HandingOver", "BackgroundTasks", // Agent
		"Confirmed", "PromptID", "PromptQueue", "StopHook", // Handoff
		"Trouble", // both
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	set := token.NewFileSet()
	written := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := wardentest.Value(parser.ParseFile(set, name, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			for _, field := range writes(n) {
				switch {
				case !slices.Contains(facts, field.Name):
				case name == "turn.go":
					written[field.Name] = true
				default:
					t.Errorf("%s: %s is set outside turn.go", set.Position(field.Pos()), field.Name)
				}
			}
			return true
		})
	}
	for _, field := range facts {
		if !written[field] {
			t.Errorf("turn.go does not set %s", field)
		}
	}
}

// writes returns the fields that a node of the syntax tree sets, or takes the address of.
func writes(n ast.Node) (fields []*ast.Ident) {
	var to []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		to = n.Lhs
	case *ast.IncDecStmt:
		to = []ast.Expr{n.X}
	case *ast.RangeStmt:
		to = []ast.Expr{n.Key, n.Value}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			to = []ast.Expr{n.X}
		}
	case *ast.CompositeLit:
		if typ, ok := n.Type.(*ast.Ident); !ok || typ.Name != "Agent" && typ.Name != "Handoff" {
			return nil
		}
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				to = append(to, kv.Key)
			}
		}
	}
	for _, e := range to {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			fields = append(fields, e.Sel)
		case *ast.Ident:
			if _, ok := n.(*ast.CompositeLit); ok {
				fields = append(fields, e)
			}
		}
	}
	return fields
}
