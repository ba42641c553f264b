package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDescriptionHasEveryCode compares the error codes in the description with those in the source. Other tests check that
// the right code is answered.
func TestDescriptionHasEveryCode(t *testing.T) {
	t.Parallel()
	var described []string
	for _, code := range loadSpec(t).doc.Components.Schemas["Error"].Value.Properties["code"].Value.Enum {
		described = append(described, code.(string))
	}
	if !slices.IsSorted(described) {
		t.Error("the codes are not in order in api/openapi.yaml, components/schemas/Error/code")
	}
	codes, prefixes := codesIn(t, ".", "../daemon", "../db", "../data")
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found in the source: adapt this test to how errors are made", len(codes))
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if !slices.Contains(described, code) {
			t.Errorf("%s: code %q is not described: add it to components/schemas/Error/code in api/openapi.yaml", codes[code], code)
		}
	}
	for _, code := range described {
		made := func(prefix string) bool { return strings.HasPrefix(code, prefix) }
		if codes[code] == "" && !slices.ContainsFunc(prefixes, made) {
			t.Errorf("code %q is described, but no code answers with it: remove it from api/openapi.yaml", code)
		}
	}
}

// codesIn returns the error codes in the source with their places, and the prefixes of codes that are put together.
func codesIn(t *testing.T, dirs ...string) (codes map[string]string, prefixes []string) {
	t.Helper()
	codes = map[string]string{}
	for _, dir := range dirs {
		for _, path := range must(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test.go") || dir == "." && strings.HasPrefix(name, "client") {
				continue // the client's own errors are not part of the API
			}
			set := token.NewFileSet()
			file := must(parser.ParseFile(set, path, must(os.ReadFile(path))(t), 0))(t)
			ast.Inspect(file, func(n ast.Node) bool {
				code := codeOf(n)
				if sum, ok := code.(*ast.BinaryExpr); ok {
					if prefix := text(sum.X); prefix != "" {
						prefixes = append(prefixes, prefix)
					}
				} else if s := text(code); s != "" {
					codes[s] = set.Position(n.Pos()).String()
				}
				return true
			})
		}
	}
	return codes, prefixes
}

// codeOf returns the code of an error if the node makes one, else nil.
func codeOf(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch {
		case nameOf(n.Fun) == "invalid" && len(n.Args) > 0:
			return n.Args[0]
		case nameOf(n.Fun) == "Errorf" && len(n.Args) > 1 && strings.HasPrefix(nameOf(n.Args[0]), "Kind"):
			return n.Args[1]
		}
	case *ast.ValueSpec: // the codes of documents are constants
		if len(n.Values) == 1 && (strings.HasPrefix(text(n.Values[0]), "document_") || strings.HasPrefix(n.Names[0].Name, "code")) {
			return n.Values[0]
		}
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 && nameOf(n.Lhs[0]) == "Code" {
			return n.Rhs[0]
		}
	case *ast.CompositeLit:
		typ := nameOf(n.Type)
		for i, element := range n.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if ok && typ == "Error" && nameOf(pair.Key) == "Code" {
				return pair.Value
			}
			if !ok && typ == "errorBody" && i == 1 {
				return element
			}
		}
	}
	return nil
}

// nameOf returns the last part of a name.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// text returns the value of a string literal, "" for any other expression.
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(literal.Value)
	return s
}
