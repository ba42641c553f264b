package understudy_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestWriters: each column of the rows has one writer, which the table in docs/architecture.md names, or stands in sharedColumns with all of
// its writers and the reason. After a change:
//
//	go test . -run TestWriters -update
func TestWriters(t *testing.T) {
	t.Parallel()
	w := writesOf(t, programOf(t))
	listed := map[string]bool{}
	for _, s := range sharedColumns {
		for _, name := range strings.Fields(s.columns) {
			c := w.columns[s.row+"."+name]
			switch {
			case c == nil:
				t.Errorf("sharedColumns has %s.%s, which is no column", s.row, name)
			case listed[s.row+"."+name]:
				t.Errorf("sharedColumns has %s.%s twice", s.row, name)
			case !c.shared():
				t.Errorf("%s.%s has one writer now, %s: take it from sharedColumns", s.row, name, c.writer())
			case strings.Join(c.rooms(), ", ") != s.writers:
				t.Errorf("sharedColumns says that %s write %s.%s, but %s do: have only those write it. If they are fewer, change the list", s.writers, s.row, name, strings.Join(c.rooms(), ", "))
			}
			listed[s.row+"."+name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.columns)) {
		if c := w.columns[name]; c.shared() && !listed[name] {
			t.Errorf("%s has several writers:%s\nhave one of them write it, for the others too, or put the rule into one file of package daemon", name, c.places())
		}
	}
	for _, list := range []map[string]string{beginnings, neverStored} {
		for at := range list {
			if !w.used[at] {
				t.Errorf("%s fills no such row any more: take it from the list", at)
			}
		}
	}
	if len(w.columns) < 200 {
		t.Fatalf("only %d columns were found: adapt this test", len(w.columns))
	}
	generated(t, "docs/architecture.md", "writers", "go test . -run TestWriters -update", w.table())
}

// column is a field of a row that the store keeps, with who writes it.
type column struct {
	direct map[string][]string // by room: where it assigns the field
	called map[string][]string // by room: which functions of the rows it calls that assign the field
	files  map[string][]string // by file of package daemon: the functions there that assign the field
}

// rooms are all that write the column, by themselves or by a function of the rows.
func (c *column) rooms() []string {
	all := maps.Clone(c.direct)
	maps.Copy(all, c.called)
	return slices.Sorted(maps.Keys(all))
}

// oneRule reports whether the rows alone assign the column, in one file: whoever calls the functions there, the rule stands in one place.
func (c *column) oneRule() bool { return len(c.direct) == 0 && len(c.files) == 1 }

func (c *column) shared() bool { return len(c.rooms()) > 1 && !c.oneRule() }

// writer names the one that writes the column.
func (c *column) writer() string {
	rooms := c.rooms()
	switch {
	case len(rooms) == 0:
		return ""
	case len(rooms) == 1:
		return rooms[0]
	}
	for file := range c.files {
		return fmt.Sprintf("[`%s`](../%[1]s), for %s", file, strings.Join(rooms, ", "))
	}
	return ""
}

// places says where the column is written.
func (c *column) places() (text string) {
	for _, by := range []map[string][]string{c.direct, c.called, c.files} {
		for _, who := range slices.Sorted(maps.Keys(by)) {
			slices.Sort(by[who])
			text += fmt.Sprintf("\n\t%s: %s", who, strings.Join(slices.Compact(by[who]), ", "))
		}
	}
	return text
}

// writes are the columns, by the type of their row and their field.
type writes struct {
	t       *testing.T
	p       *program
	columns map[string]*column
	names   map[string]bool       // of the columns
	structs map[string]string     // the columns whose values are structs of a type that no other column has, by that type
	rules   map[*types.Func]*pure // the functions of package daemon
	used    map[string]bool       // the entries of beginnings and neverStored that are needed
}

// pure is a function: the columns that it assigns, and the functions that it calls.
type pure struct {
	name    string
	columns []string
	calls   []*types.Func
}

func writesOf(t *testing.T, p *program) *writes {
	t.Helper()
	w := &writes{
		t: t, p: p, columns: map[string]*column{}, names: map[string]bool{}, structs: map[string]string{}, rules: map[*types.Func]*pure{}, used: map[string]bool{},
	}
	w.stored()
	w.owned()
	dirs := slices.Sorted(maps.Keys(p.files))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return parent(dir) != "daemon" })
	for _, dir := range dirs { // daemon comes first
		for _, s := range p.files[dir] {
			room := roomOf(s)
			for _, d := range s.ast.Decls {
				w.declared(s, room, d)
			}
		}
	}
	return w
}

// stored finds the columns: the fields of the rows that package db reads to write them.
func (w *writes) stored() {
	for _, s := range w.p.files["db"] {
		assigned := map[ast.Expr]bool{}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					assigned[left] = true
				}
			case *ast.SelectorExpr:
				if row, field := w.fieldOf(n); row != "" && row != "Change" && field != "Rev" && field != "Seq" && !assigned[n] && !slices.Contains(noColumns, row+"."+field) {
					w.columns[row+"."+field] = &column{direct: map[string][]string{}, called: map[string][]string{}, files: map[string][]string{}}
					w.names[field] = true
				}
			}
			return true
		})
	}
}

// owned finds the types of structs that are the value of one column: who assigns a field of such a struct writes the column.
func (w *writes) owned() {
	uses := map[string][]string{}
	for _, o := range w.p.info.Defs {
		row, ok := o.(*types.TypeName)
		if !ok || rows[nameOf(row.Type())] == "" {
			continue
		}
		fields := row.Type().Underlying().(*types.Struct)
		for f := range fields.Fields() {
			if name := nameOf(f.Type()); strings.HasPrefix(name, "daemon.") && rows[name] == "" {
				uses[name] = append(uses[name], rows[nameOf(row.Type())]+"."+f.Name())
			}
		}
	}
	for name, columns := range uses {
		if len(columns) == 1 && w.columns[columns[0]] != nil {
			w.structs[name] = columns[0]
		}
	}
}

// fieldOf returns the row that a selector names a field of, and the field; "": it names something else.
func (w *writes) fieldOf(n *ast.SelectorExpr) (row, field string) {
	sel := w.p.info.Selections[n]
	if sel == nil || sel.Kind() != types.FieldVal {
		return "", ""
	}
	owner := sel.Recv()
	for _, i := range sel.Index()[:len(sel.Index())-1] { // a field of an embedded struct is that struct's
		if p, ok := owner.(*types.Pointer); ok {
			owner = p.Elem()
		}
		owner = owner.Underlying().(*types.Struct).Field(i).Type()
	}
	name := nameOf(owner)
	if of := w.structs[name]; of != "" {
		row, field, _ = strings.Cut(of, ".")
		return row, field
	}
	return rows[name], n.Sel.Name
}

// declared reads a declaration of a room.
func (w *writes) declared(s *source, room string, d ast.Decl) {
	f := w.function(s, d)
	ast.Inspect(d, func(n ast.Node) bool {
		w.read(s, f, n)
		if id, ok := n.(*ast.Ident); ok {
			if called, ok := w.p.info.Uses[id].(*types.Func); ok {
				f.calls = append(f.calls, called.Origin())
			}
		}
		return true
	})
	f.columns = slices.DeleteFunc(f.columns, func(name string) bool {
		row, _, _ := strings.Cut(name, ".")
		at := s.path + ": " + f.name
		if begins := slices.Contains(strings.Fields(beginnings[at]), row); begins || slices.Contains(strings.Fields(neverStored[at]), row) {
			w.used[at] = true
			return true
		}
		return false
	})
	for _, name := range f.columns {
		if c := w.columns[name]; s.dir == "daemon" {
			c.files[s.path] = append(c.files[s.path], f.name)
		} else {
			c.direct[room] = append(c.direct[room], s.path+": "+f.name)
		}
	}
	if s.dir == "daemon" {
		return
	}
	for _, called := range f.calls {
		if rule := w.rules[called]; rule != nil {
			for name := range w.reached(called, map[*types.Func]bool{}) {
				w.columns[name].called[room] = append(w.columns[name].called[room], rule.name)
			}
		}
	}
}

// function names a declaration.
func (w *writes) function(s *source, d ast.Decl) *pure {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return &pure{name: "the variables"}
	}
	f, known := &pure{name: fn.Name.Name}, w.p.info.Defs[fn.Name].(*types.Func)
	if recv := known.Signature().Recv(); recv != nil {
		f.name = strings.TrimPrefix(nameOf(recv.Type()), path.Base(s.dir)+".") + "." + f.name
	}
	if s.dir == "daemon" {
		w.rules[known] = f
	}
	return f
}

// reached are the columns that a function of package daemon assigns, by itself or by others there.
func (w *writes) reached(f *types.Func, seen map[*types.Func]bool) map[string]bool {
	out := map[string]bool{}
	if rule := w.rules[f]; rule != nil && !seen[f] {
		seen[f] = true
		for _, name := range rule.columns {
			out[name] = true
		}
		for _, called := range rule.calls {
			maps.Copy(out, w.reached(called, seen))
		}
	}
	return out
}

// read notes the columns that a node writes.
func (w *writes) read(s *source, f *pure, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, left := range n.Lhs {
				w.assigned(s, f, left)
			}
		}
	case *ast.IncDecStmt:
		w.assigned(s, f, n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			w.assigned(s, f, n.Key)
			w.assigned(s, f, n.Value)
		}
	case *ast.UnaryExpr: // whoever takes the address of an id, a text or a time reads by it
		if field, ok := n.X.(*ast.SelectorExpr); ok && n.Op == token.AND {
			if plain, ok := w.p.info.TypeOf(field).(*types.Basic); !ok || plain.Info()&types.IsBoolean != 0 {
				w.assigned(s, f, field)
			}
		}
	case *ast.CompositeLit:
		w.made(f, n)
	}
}

// assigned notes the columns on the way to what is assigned: a.Limit.TriedAt is a part of the column Limit.
func (w *writes) assigned(s *source, f *pure, e ast.Expr) {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if row, field := w.fieldOf(x); row != "" {
				w.note(f, row+"."+field)
			} else if _, pkg := w.p.info.Uses[x.Sel].(*types.Var); !pkg && w.p.info.Selections[x] == nil && w.names[x.Sel.Name] {
				w.t.Errorf("%s: the type checker does not know whose field is written here, because a package that is not ours decides it: name the type", s.line(x.Pos()))
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return
		}
	}
}

// made notes the columns that a new row begins with.
func (w *writes) made(f *pure, lit *ast.CompositeLit) {
	known, ok := w.p.info.Types[lit]
	if !ok || rows[nameOf(known.Type)] == "" {
		return
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			w.note(f, rows[nameOf(known.Type)]+"."+kv.Key.(*ast.Ident).Name)
		}
	}
}

// note notes that a function assigns a field, if it is a column or has the store write some.
func (w *writes) note(f *pure, name string) {
	for _, name := range slices.Concat([]string{name}, alsoWrites[name]) {
		if w.columns[name] != nil {
			f.columns = append(f.columns, name)
		}
	}
}

// roomOf returns the floor or the room that a file is in.
func roomOf(s *source) string { return strings.TrimPrefix(s.dir, "daemon/") }

// table says who writes which columns.
func (w *writes) table() string {
	by := map[string]map[string][]string{} // rows, writers, fields
	for _, name := range slices.Sorted(maps.Keys(w.columns)) {
		c := w.columns[name]
		row, field, _ := strings.Cut(name, ".")
		if c.shared() {
			continue
		}
		if by[row] == nil {
			by[row] = map[string][]string{}
		}
		writer := cmp.Or(c.writer(), "nobody, once it has begun")
		by[row][writer] = append(by[row][writer], "`"+field+"`")
	}
	var text strings.Builder
	text.WriteString("| row | written by | columns |\n|---|---|---|\n")
	for _, row := range slices.Sorted(maps.Keys(by)) {
		for _, writer := range slices.Sorted(maps.Keys(by[row])) {
			fmt.Fprintf(&text, "| %s | %s | %s |\n", row, writer, strings.Join(by[row][writer], ", "))
		}
	}
	shared := 0
	for _, s := range sharedColumns {
		shared += len(strings.Fields(s.columns))
	}
	fmt.Fprintf(&text, "\nOf %d columns, %d have several writers:\n\n| row | written by | columns | why |\n|---|---|---|---|\n", len(w.columns), shared)
	for _, s := range sharedColumns {
		fmt.Fprintf(&text, "| %s | %s | `%s` | %s |\n", s.row, s.writers, strings.Join(strings.Fields(s.columns), "`, `"), s.why)
	}
	return text.String() + "\nThese rows begin outside the room that writes them, or in several places:\n\n" + begun()
}

// begun says which functions make rows.
func begun() string {
	by := map[string][]string{}
	for at, row := range beginnings {
		file, name, _ := strings.Cut(at, ": ")
		by[row] = append(by[row], fmt.Sprintf("[`%s`](../%s)", name, file))
	}
	var text strings.Builder
	for _, row := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[row])
		fmt.Fprintf(&text, "- %s: %s\n", row, strings.Join(by[row], ", "))
	}
	return text.String()
}
