package understudy_test

import (
	"errors"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// layers are the folders whose packages are type-checked, with those that they import.
var layers = []string{"daemon", "db", "api"}

// program is what the type checker knows of the packages above, without their tests. Packages that are not ours stay unknown, and so does
// what is made of them: the tests that use a program say where that would hide something from them.
type program struct {
	info  *types.Info
	files map[string][]*source // by folder
}

// checked are the packages, checked once for all tests.
var checked = sync.OnceValues(func() (*program, error) {
	all, err := parsed()
	if err != nil {
		return nil, err
	}
	p := &program{files: map[string][]*source{}, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	for _, s := range all {
		if !s.test && !forTests(s.dir) && !simulated(s.dir) {
			p.files[s.dir] = append(p.files[s.dir], s)
		}
	}
	known := packages{}
	for dir := range p.files {
		if slices.Contains(layers, parent(dir)) {
			p.check(known, dir)
		}
	}
	return p, nil
})

// check checks a package after those that it imports.
func (p *program) check(known packages, dir string) {
	name := path.Join(module, dir)
	if _, done := known[name]; done || len(p.files[dir]) == 0 {
		return
	}
	known[name] = nil
	var files []*ast.File
	for _, s := range p.files[dir] {
		files = append(files, s.ast)
		for _, imp := range s.ast.Imports {
			other, _ := strconv.Unquote(imp.Path.Value)
			if folder, ours := strings.CutPrefix(other, module+"/"); ours {
				p.check(known, folder)
			}
		}
	}
	conf := types.Config{Importer: known, Error: func(error) {}}
	known[name], _ = conf.Check(name, p.files[dir][0].set, files, p.info)
}

// programOf fails where the packages can't be read any more.
func programOf(t *testing.T) *program {
	t.Helper()
	return wardentest.Value(checked())(t)
}

// packages are an importer of those that were checked already.
type packages map[string]*types.Package

func (p packages) Import(name string) (*types.Package, error) {
	if p[name] == nil {
		return nil, errors.New("not one of ours")
	}
	return p[name], nil
}

// nameOf returns the name of a type, or of what a pointer points to, with its package: "daemon.Agent"; "": it has none.
func nameOf(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	return path.Base(named.Obj().Pkg().Path()) + "." + named.Obj().Name()
}
