package understudy_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// This file holds the rules about the tree that no compiler checks. They are read off the source,
// not off a build, so that they hold for every platform and every build tag, and take no time.

const module = "github.com/understudyd/understudy"

// mayImport is the import graph: what the code of a folder may import of our own packages. A
// folder stands for all below it that have no entry themselves, and may import those below it.
var mayImport = map[string][]string{
	"cmd":    {"api", "db", "daemon", "tmux", "hooks", "personas", "data"},
	"api":    {"daemon", "tmux", "hooks", "personas", "data"},
	"db":     {"daemon", "tmux", "hooks", "personas", "data"},
	"daemon": {"tmux", "hooks", "personas", "data"},
	// The leaves know nobody, but how YAML is read and whose files are obeyed, and documents the words that are safe to read.
	"tmux":          {},
	"hooks":         {},
	"personas":      {"daemon/words", "data/yamlfile", "data/trust"},
	"data":          {"daemon/words"},
	"data/trust":    {},
	"data/secrets":  {},
	"data/yamlfile": {},
	"tmux/warden":   {},
	// Words, and how wide they are on a terminal, are for all layers, and so know none of them.
	"daemon/words": {},
	"daemon/fit":   {},
	// When days begin.
	"daemon/calendar": {},
	// What people are shown of rows is pure as they are.
	"daemon/views": {"daemon", "daemon/event", "daemon/runtimes", "daemon/words", "data", "personas"},
	// Floors of the domain, from below: each may import those below it, and nothing below knows it.
	"daemon/sandbox":    {},
	"daemon/engine":     {"daemon", "daemon/sandbox", "daemon/views", "daemon/event", "daemon/feed", "daemon/lane", "daemon/presence", "daemon/runtimes", "daemon/tell", "daemon/words", "daemon/worktree", "tmux", "hooks", "personas", "data"},
	"daemon/sight":      {"daemon", "daemon/engine", "daemon/event", "daemon/lane", "daemon/runtimes", "daemon/words", "daemon/worktree", "tmux", "hooks", "data"},
	"daemon/deliveries": {"daemon", "daemon/sight", "daemon/engine", "daemon/event", "daemon/lane", "daemon/presence", "daemon/runtimes", "daemon/words", "tmux", "hooks", "data"},
	"daemon/agents":     {"daemon", "daemon/sandbox", "daemon/views", "daemon/deliveries", "daemon/sight", "daemon/engine", "daemon/event", "daemon/lane", "daemon/runtimes", "daemon/words", "daemon/worktree", "tmux", "hooks", "personas", "data"},
	"daemon/handoffs":   {"daemon", "daemon/views", "daemon/agents", "daemon/deliveries", "daemon/sight", "daemon/engine", "daemon/event", "daemon/runtimes", "daemon/transcript", "daemon/words", "daemon/worktree", "personas", "data"},
	"daemon/intake":     {"daemon", "daemon/sandbox", "daemon/views", "daemon/handoffs", "daemon/agents", "daemon/deliveries", "daemon/sight", "daemon/engine", "daemon/event", "daemon/feed", "daemon/lane", "daemon/runtimes", "daemon/tell", "daemon/transcript", "daemon/words", "daemon/worktree", "tmux", "hooks", "personas", "data"},
	// Rooms of the domain: what each may import. Nobody in the domain imports them but the house.
	"daemon/dialogs":     {"daemon", "daemon/intake", "daemon/deliveries", "daemon/engine", "daemon/event", "daemon/lane", "daemon/runtimes", "daemon/words", "tmux"},
	"daemon/notices":     {"daemon", "daemon/intake", "daemon/engine", "daemon/event", "daemon/tell"},
	"daemon/pictures":    {"daemon", "daemon/views", "daemon/intake", "daemon/engine", "daemon/words"},
	"daemon/limits":      {"daemon", "daemon/views", "daemon/intake", "daemon/handoffs", "daemon/engine", "daemon/event", "daemon/words"},
	"daemon/permissions": {"daemon", "daemon/views", "daemon/intake", "daemon/deliveries", "daemon/engine", "daemon/event", "daemon/lane", "daemon/runtimes", "tmux"},
	"daemon/pipelines":   {"daemon", "daemon/views", "daemon/intake", "daemon/handoffs", "daemon/agents", "daemon/deliveries", "daemon/sight", "daemon/engine", "daemon/event", "daemon/runtimes", "daemon/words", "daemon/worktree", "data", "hooks", "personas"},
	"daemon/usage":       {"daemon", "daemon/views", "daemon/intake", "daemon/handoffs", "daemon/agents", "daemon/sight", "daemon/engine", "daemon/event", "daemon/runtimes", "daemon/transcript", "daemon/words", "personas"},
	"daemon/worktrees":   {"daemon", "daemon/intake", "daemon/agents", "daemon/engine", "daemon/event", "daemon/lane", "daemon/words", "daemon/worktree"},
	"daemon/history":     {"daemon", "daemon/intake", "daemon/agents", "daemon/engine", "daemon/event", "daemon/lane"},
	"daemon/marks":       {"daemon", "daemon/intake", "daemon/agents", "daemon/engine", "daemon/event", "tmux", "personas"},
	"daemon/peers":       {"daemon", "daemon/intake", "daemon/agents", "daemon/deliveries", "daemon/engine", "daemon/event", "daemon/runtimes", "daemon/words", "personas"},
	"daemon/house":       {"daemon/marks", "daemon/peers", "daemon/usage", "daemon/worktrees", "daemon/history", "daemon/intake", "daemon/engine", "daemon/dialogs", "daemon/limits", "daemon/notices", "daemon/permissions", "daemon/pictures", "daemon/pipelines"},
	// What an agent has printed is read the same way for pages and for terminals.
	"daemon/sgr": {},
	// What differs between runtimes is pure; a PostgreSQL knows nothing of what it is for.
	"daemon/runtimes":   {"hooks"},
	"daemon/lane":       {},
	"daemon/presence":   {},
	"daemon/event":      {"daemon/words", "data/secrets"},
	"daemon/feed":       {"daemon/event"},
	"daemon/tell":       {"data/secrets", "daemon/event", "daemon/words", "daemon/presence"},
	"daemon/transcript": {"daemon/runtimes", "data"},
	"daemon/worktree":   {"data"},
	"db/localpg":        {},
	"db/dbtest":         {"db/localpg", "tmux/warden"},
}

// domainRooms are the rooms of the domain: what stands on its floors, side by side.
var domainRooms = []string{"daemon/dialogs", "daemon/limits", "daemon/notices", "daemon/permissions", "daemon/pictures", "daemon/pipelines", "daemon/usage", "daemon/worktrees", "daemon/history", "daemon/marks", "daemon/peers"}

// rooms are the packages of cmd that hold the parts of the program, and what each may import of the others: what is
// below it. Only serve puts the daemon together; only commands knows all that can be asked for.
var rooms = map[string][]string{
	"build":     {},
	"child":     {},
	"term":      {},
	"inside":    {"child"},
	"early":     {"inside"},
	"mcpserver": {},
	"scripted":  {"child"},
	"top":       {},
	"proc":      {"child"},
	"git":       {"child", "proc", "term"},
	"desktop":   {"proc", "term"},
	"opencode":  {},
	"targets":   {"proc"},
	"serve":     {"build", "desktop", "git", "opencode", "proc", "targets"},
	"show":      {"proc", "term"},
	"cli":       {"proc", "term"},
	"doctor":    {"build", "child", "cli", "desktop", "proc", "serve", "show", "term"},
	"demo":      {"cli", "doctor", "proc", "serve", "show", "term"},
	"service":   {"child", "cli", "proc", "term"},
	"commands": {
		"build", "child", "cli", "demo", "desktop", "doctor", "git", "inside", "mcpserver", "proc", "scripted", "serve", "service", "show",
		"term", "top",
	},
}

// TestRooms holds the import graph among the rooms of cmd.
func TestRooms(t *testing.T) {
	t.Parallel()
	const floor = "cmd/internal/"
	for _, s := range sources(t) {
		room, inside := strings.CutPrefix(s.dir, floor)
		room, _, _ = strings.Cut(room, "/")
		if !inside || s.test || forTests(room) {
			continue
		}
		may, known := rooms[room]
		if !known {
			t.Errorf("%s: the room %s has no place in the import graph: add it to rooms", s.path, room)
		}
		for _, imp := range s.ast.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			other, ours := strings.CutPrefix(name, module+"/"+floor)
			other, _, _ = strings.Cut(other, "/")
			if ours && other != room && !slices.Contains(may, other) {
				t.Errorf("%s: %s must not import %s; of the other rooms it may import %v", s.line(imp.Pos()), room, other, may)
			}
		}
	}
}

// testsMayImport is what the tests of a folder may import besides: real parts instead of doubles. All have a warden.
var testsMayImport = map[string][]string{
	"api": {"db"},
}

// onlyIn says where an import that not everybody may use is at home: the packages outside the
// domain are each the only one that knows its technology.
var onlyIn = map[string][]string{
	"github.com/jackc/pgx":                   {"db"},
	"github.com/pressly/goose":               {"db"},
	"database/sql":                           {"db"},
	"github.com/labstack/echo":               {"api"},
	"github.com/r3labs/sse":                  {"api"},
	"github.com/getkin/kin-openapi":          {"api"},
	"github.com/gen2brain/beeep":             {"cmd"},
	"github.com/spf13":                       {"cmd"},
	"rsc.io/qr":                              {"cmd"},
	"github.com/fsnotify/fsnotify":           {"personas"},
	"github.com/prometheus":                  {"api"},
	"github.com/yuin/goldmark":               {"api/dashboard"},
	"charm.land":                             {"cmd/internal/top"},
	"github.com/charmbracelet/x/ansi":        {"daemon/fit", "cmd/internal/top"},
	"github.com/modelcontextprotocol/go-sdk": {"cmd/internal/mcpserver"},
	"github.com/go-json-experiment/json":     {"daemon/runtimes"},
	"net/http":                               {"api", "cmd"},
	"os/exec":                                {"tmux", "tmux/warden", "db/localpg", "cmd"},
}

// source is one Go file of the tree.
type source struct {
	path string // from the root, with slashes
	dir  string
	test bool
	text []byte
	set  *token.FileSet
	ast  *ast.File
}

func (s *source) line(p token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(p).Line)
}

// sources are the Go files of the module. They and what they are made of are read once, for all tests.
func sources(t *testing.T) []*source {
	t.Helper()
	return wardentest.Value(parsed())(t)
}

var parsed = sync.OnceValues(func() ([]*source, error) {
	texts, err := tree()
	if err != nil {
		return nil, err
	}
	var out []*source
	set := token.NewFileSet()
	for name, text := range texts {
		if path.Ext(name) != ".go" || strings.HasPrefix(name, ".") {
			continue // .ci/lint is a module of its own
		}
		s := &source{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), text: text, set: set}
		if s.ast, err = parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *source) int { return cmp.Compare(a.path, b.path) })
	if len(out) == 0 {
		return nil, errors.New("no Go files found: the test must run in the root of the tree")
	}
	return out, nil
})

// files are the tree's, but for what git and .gitignore keep out of it.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	return wardentest.Value(tree())(t)
}

var tree = sync.OnceValues(func() (map[string][]byte, error) {
	out := map[string][]byte{}
	return out, filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == ".git" || name == ".data" || name == "bin" || name == "build"):
			return fs.SkipDir
		case !e.Type().IsRegular() || slices.Contains([]string{".test", ".prof", ".out"}, filepath.Ext(name)):
			return nil
		}
		b, err := os.ReadFile(name)
		out[filepath.ToSlash(name)] = b
		return err
	})
})

// TestRowsArePure: the rows and their rules know no clock, no file and no lane, so that whoever decides by them alone can do so anywhere, also
// under row locks.
func TestRowsArePure(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.dir != "daemon" || s.test {
			continue
		}
		for _, imp := range s.ast.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			switch strings.TrimPrefix(name, module+"/") {
			case "os", "io", "net", "log", "log/slog", "sync/atomic", "daemon/lane", "daemon/feed", "daemon/presence":
				t.Errorf("%s: the rows must not know %s", s.line(imp.Pos()), name)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, _ := sel.X.(*ast.Ident)
			if of != nil && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker"}, sel.Sel.Name) {
				t.Errorf("%s: the rows have no clock: pass the time", s.line(sel.Pos()))
			}
			return true
		})
	}
}

// home finds the entry of a table that a folder belongs to: its own, or its nearest parent's.
func home(dir string, table []string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(table, dir) {
			return dir
		}
	}
	return ""
}

// TestImports holds the import graph.
func TestImports(t *testing.T) {
	t.Parallel()
	places := slices.Collect(maps.Keys(mayImport))
	for _, s := range sources(t) {
		from := home(s.dir, places)
		if from == "" {
			if s.dir != "." {
				t.Errorf("%s: folder %s has no place in the import graph: add it to mayImport", s.path, s.dir)
			}
			continue
		}
		may := mayImport[from]
		if s.test {
			may = slices.Concat(may, testsMayImport[from], []string{"tmux/warden"})
		}
		for _, imp := range s.ast.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			target, ours := strings.CutPrefix(name, module+"/")
			to := home(target, places)
			switch {
			case !ours:
			case !s.test && (forTests(target) && !forTests(s.dir) || simulated(target) && !simulated(s.dir)):
				t.Errorf("%s: %s is for tests alone", s.line(imp.Pos()), target)
			case to == from || strings.HasPrefix(to, from+"/"):
			case slices.Contains(domainRooms, to) && !slices.Contains([]string{"daemon/house", "daemon/sim", "api", "cmd"}, top(from)):
				t.Errorf("%s: %s is a room of the domain: only the house puts it together, and only api, cmd and the simulation use it", s.line(imp.Pos()), target)
			case !slices.Contains(may, to) && !slices.Contains(may, parent(to)):
				t.Errorf("%s: %s must not import %s; it may import %v", s.line(imp.Pos()), from, target, may)
			}
		}
	}
}

// TestRuntimesAreApart: the CLIs know what all share, and none of another, but that OpenCode's mirror has the form of Claude Code's
// transcript. Only the catalog knows them all.
func TestRuntimesAreApart(t *testing.T) {
	t.Parallel()
	const shared = "daemon/runtimes"
	for _, s := range sources(t) {
		if home(s.dir, []string{shared}) == "" || s.dir == shared+"/catalog" {
			continue
		}
		for _, imp := range s.ast.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			target, ours := strings.CutPrefix(name, module+"/"+shared+"/")
			if ours && target != "limittext" && !(target == "claude" && s.dir == shared+"/opencode") {
				t.Errorf("%s: %s must not import %s", s.line(imp.Pos()), s.dir, target)
			}
		}
	}
}

// top returns the folder of a layer in which a folder is, except in the domain.
func top(dir string) string {
	if layer, _, _ := strings.Cut(dir, "/"); layer != "daemon" {
		return layer
	}
	return dir
}

// forTests reports whether a folder holds what only tests use: tmuxtest, dbtest, claudetest, realcli, or one below such a
// folder.
func forTests(dir string) bool {
	return strings.Contains(dir+"/", "test/") || path.Base(dir) == "realcli"
}

// simulated reports whether a folder holds what only simulations use.
func simulated(dir string) bool { return dir == "daemon/sim" || strings.HasPrefix(dir, "daemon/sim/") }

// parent is the first folder of a path.
func parent(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// TestTechnologies holds which package alone knows which technology.
func TestTechnologies(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imp := range s.ast.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			for what, places := range onlyIn {
				if name != what && !strings.HasPrefix(name, what+"/") || home(s.dir, places) != "" || s.test {
					continue
				}
				t.Errorf("%s: %s is imported in %s, but may be only in %v", s.line(imp.Pos()), what, s.dir, places)
			}
		}
	}
}

const (
	maxFileLines     = 400
	maxFunctionLines = 80
	maxMethods       = 5
)

// TestSizes keeps files, functions and interfaces at a size that is read in one go.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if n := bytes.Count(s.text, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by what its parts are about", s.path, n, maxFileLines)
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				lines := s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
				if lines > maxFunctionLines {
					t.Errorf("%s: %s has %d lines, at most %d are allowed", s.line(n.Pos()), n.Name.Name, lines, maxFunctionLines)
				}
			case *ast.InterfaceType:
				if m := methods(n); m > maxMethods {
					t.Errorf("%s: an interface has %d methods, at most %d are allowed", s.line(n.Pos()), m, maxMethods)
				}
			}
			return true
		})
	}
}

const (
	// maxRoomLines is how long a package of the domain may be, and package daemon with the engine.
	maxRoomLines, maxRowsAndEngine = 4500, 5950
	// maxTypeMethods is how many methods may be declared on a type.
	maxTypeMethods = 60
)

// TestTypesAreSmall: no type is a hall, in tests and in what is for tests neither.
func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.dir+": "+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxTypeMethods {
			t.Errorf("%s has %d methods, at most %d are allowed: a part of it is a type of its own, or functions", name, n, maxTypeMethods)
		}
	}
}

// receiver returns the name of the type of a method.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// TestRoomsAreSmall: a floor or a room is read in an hour.
func TestRoomsAreSmall(t *testing.T) {
	t.Parallel()
	size := map[string]int{}
	for _, s := range sources(t) {
		if s.test || top(s.dir) != "daemon" || forTests(s.dir) || simulated(s.dir) {
			continue
		}
		size[s.dir] += bytes.Count(s.text, []byte("\n"))
	}
	for name, n := range size {
		if n > maxRoomLines {
			t.Errorf("%s has %d lines, at most %d are allowed: something in it is a room of its own", name, n, maxRoomLines)
		}
	}
	if n := size["daemon"] + size["daemon/engine"]; n > maxRowsAndEngine {
		t.Errorf("the rows and the engine have %d lines, at most %d are allowed", n, maxRowsAndEngine)
	}
}

// methods counts the methods that an interface declares itself.
func methods(i *ast.InterfaceType) int {
	n := 0
	for _, f := range i.Methods.List {
		n += len(f.Names)
	}
	return n
}

// banned are calls that a test must not make, with what to do instead.
var banned = map[string]string{
	"time.Sleep": "wait for the event, poll with a deadline, or use testing/synctest",
	"Skip":       "a test that can't run must fail and say what to install",
	"Skipf":      "a test that can't run must fail and say what to install",
	"SkipNow":    "a test that can't run must fail and say what to install",
}

// TestTests keeps tests from sleeping and from being skipped without anybody noticing.
func TestTests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test && !forTests(s.dir) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := sel.Sel.Name
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
				name = "time." + name
			} else if ok && x.Name == "synctest" {
				return false // in its bubble sleeping takes no time
			}
			if why, no := banned[name]; no {
				t.Errorf("%s: %s in a test: %s", s.line(call.Pos()), name, why)
			}
			return true
		})
	}
}

// aHome finds the home directories of people; the tree must not depend on the machine it was
// written on.
var aHome = regexp.MustCompile(`(/home/|/Users/)[A-Za-z0-9_.-]+/`)

// TestNoMachinePaths finds paths that exist on one machine only.
func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	root := wardentest.Value(os.Getwd())(t)
	deep := strings.Count(root, "/") > 1 // a clone in /data or /src says nothing
	for name, text := range files(t) {
		for i, line := range bytes.Split(text, []byte("\n")) {
			found := ""
			if m := aHome.Find(line); m != nil {
				found = string(m)
			}
			if deep && bytes.Contains(line, []byte(root+"/")) {
				found = root
			}
			if found != "" && !slices.Contains(examples, found) {
				t.Errorf("%s:%d: the path %s belongs to one machine", name, i+1, found)
			}
		}
	}
}

// examples are homes that nobody has, or that are the same everywhere.
var examples = []string{"/home/dev/", "/home/linuxbrew/", "/home/u/"}

// onlyTagged are the programs and packages that `demo --yes` does not install. A test that needs one stands
// behind the tag e2e, so that `go test ./...` passes on a machine where only the demo has run.
var onlyTagged = []string{
	"chromium", "github.com/chromedp/chromedp", "Xvfb", "dunst", "dbus-daemon", "import", "zsh", "fish", "npm", "python3",
}

// TestUntaggedTestsNeedOnlyTheDemo finds tests without the tag e2e that name such a program.
func TestUntaggedTestsNeedOnlyTheDemo(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test || s.dir == "." || behindTag(s) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(onlyTagged, text) {
					t.Errorf("%s: %q is needed, and `demo --yes` does not install it: put the test behind //go:build e2e", s.line(lit.Pos()), text)
				}
			}
			return true
		})
	}
}

// behindTag reports whether a file is built with the tag e2e alone.
func behindTag(s *source) bool {
	for line := range bytes.Lines(s.text) {
		if text := strings.TrimSpace(string(line)); constraint.IsGoBuild(text) {
			expr, err := constraint.Parse(text)
			return err == nil && !expr.Eval(func(tag string) bool { return tag != "e2e" })
		}
	}
	return false
}

// TestFirstUse keeps packages from preparing patterns and templates before main begins: each command
// that a person runs would wait for all of them.
func TestFirstUse(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || forTests(s.dir) {
			continue
		}
		for _, d := range s.ast.Decls {
			v, ok := d.(*ast.GenDecl)
			if !ok || v.Tok != token.VAR {
				continue
			}
			ast.Inspect(v, func(n ast.Node) bool {
				if _, later := n.(*ast.FuncLit); later {
					return false
				}
				if sel, ok := n.(*ast.SelectorExpr); ok && (sel.Sel.Name == "MustCompile" || sel.Sel.Name == "Must") {
					t.Errorf("%s: %s runs before main begins: put it into a sync.OnceValue", s.line(n.Pos()), sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// TestTestsLeaveNothing: tests that make folders, or start what does, are run with a warden.
func TestTestsLeaveNothing(t *testing.T) {
	t.Parallel()
	makes, watched := map[string]string{}, map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !s.test {
				return true
			}
			x, _ := sel.X.(*ast.Ident)
			switch {
			case sel.Sel.Name == "TempDir" || sel.Sel.Name == "MkdirTemp":
				makes[s.dir] = s.line(sel.Pos())
			case x != nil && (x.Name == "wardentest" && (sel.Sel.Name == "Run" || sel.Sel.Name == "RunIn") || x.Name == "dbtest" && sel.Sel.Name == "Main"):
				watched[s.dir] = true
			}
			return true
		})
	}
	for dir, line := range makes {
		if !watched[dir] {
			t.Errorf("%s: a killed test leaves this folder: func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }", line)
		}
	}
}
