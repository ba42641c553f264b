package understudy_test

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longest is how many files each walk of docs/architecture.md may have, by its heading.
var longest = map[string]int{
	"A handoff, from the request to its end":   9,
	"A hook, from the program to the row":      6,
	"An event, from the commit to the browser": 5,
}

// stop is one file of a walk, with the functions that one reads in it.
type stop struct {
	file      string
	functions []string
	remote    bool // one comes there over HTTP or by a wake, not by a call
}

var (
	walkHead = regexp.MustCompile(`(?m)^### (.+)$`)
	walkStop = regexp.MustCompile("(?ms)^\\d+\\. \\[`([^`]+)`\\]\\(\\.\\./([^)]+)\\): (.*?)(?:^\\d|\\z)")
	inTicks  = regexp.MustCompile("`([A-Za-z]+)`")
	jsNames  = regexp.MustCompile(`function (\w+)`)
)

// walks reads the section "Walks".
func walks(t *testing.T) map[string][]stop {
	t.Helper()
	_, text, _ := strings.Cut(string(files(t)["docs/architecture.md"]), "\n## Walks\n")
	text, _, _ = strings.Cut(text, "\n## ")
	found := map[string][]stop{}
	heads := walkHead.FindAllStringSubmatchIndex(text, -1)
	for i, head := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		name, body := text[head[2]:head[3]], text[head[1]:end]
		for _, item := range regexp.MustCompile(`(?m)^\d+\. `).Split(body, -1)[1:] {
			m := walkStop.FindStringSubmatch("1. " + item)
			if m == nil || m[1] != m[2] {
				t.Fatalf("%s: %q does not begin with a link to a file", name, item)
			}
			s := stop{file: m[1], remote: strings.Contains(item, "over HTTP") || strings.Contains(item, "the wake")}
			for _, word := range inTicks.FindAllStringSubmatch(m[3], -1) {
				s.functions = append(s.functions, word[1])
			}
			found[name] = append(found[name], s)
		}
	}
	return found
}

// declared are the functions, variables and types of a file, and mentioned all names in it.
func declared(t *testing.T, file string) (names, mentioned []string) {
	t.Helper()
	if strings.HasSuffix(file, ".js") {
		for _, m := range jsNames.FindAllStringSubmatch(string(files(t)[file]), -1) {
			names = append(names, m[1])
		}
		return names, nil
	}
	i := slices.IndexFunc(sources(t), func(s *source) bool { return s.path == file })
	if i < 0 {
		return nil, nil
	}
	ast.Inspect(sources(t)[i].ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name.Name)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names = append(names, name.Name)
			}
		case *ast.Ident:
			mentioned = append(mentioned, n.Name)
		}
		return true
	})
	return names, mentioned
}

// stepsOf are the steps of the handoff's table, but for the one of mode generate and the one of several heirs.
func stepsOf(t *testing.T) (steps []string) {
	t.Helper()
	for _, s := range sources(t) {
		if s.path != "daemon/handoffs/flow.go" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok { // of doPhase
				step, run := strings.CutPrefix(types.ExprString(kv.Value), "(*handoffRun).")
				if run && step != "generate" && step != "briefHeirs" {
					steps = append(steps, step)
				}
			}
			return true
		})
	}
	if len(steps) < 8 {
		t.Fatalf("only the steps %v were found in daemon/handoffs/flow.go: adapt this test", steps)
	}
	return steps
}

// TestWalkHasAllSteps: the walk of a handoff names each step of the table, in the table's order.
func TestWalkHasAllSteps(t *testing.T) {
	t.Parallel()
	for _, s := range walks(t)["A handoff, from the request to its end"] {
		if s.file == "daemon/handoffs/handoff_run.go" {
			named := slices.DeleteFunc(slices.Clone(s.functions), func(f string) bool { return !slices.Contains(stepsOf(t), f) })
			if !slices.Equal(named, stepsOf(t)) {
				t.Errorf("the walk names the steps %v, the table has %v", named, stepsOf(t))
			}
		}
	}
}

// TestWalks: the walks of docs/architecture.md are short, name what exists, and go from file to file without a gap: each
// file calls what the next one declares, or is called by it, unless one comes there over HTTP or by a wake.
func TestWalks(t *testing.T) {
	t.Parallel()
	found := walks(t)
	for name, most := range longest {
		stops := found[name]
		if len(stops) < 2 || len(stops) > most {
			t.Errorf("%s: %d files, want two to %d", name, len(stops), most)
		}
		var seen []string // what the files before mention
		var shown []string
		for i, s := range stops {
			names, mentioned := declared(t, s.file)
			if len(names) == 0 {
				t.Errorf("%s: %s is not there, or declares nothing", name, s.file)
			}
			var own []string
			for _, f := range s.functions {
				if slices.Contains(names, f) {
					own = append(own, f)
				}
			}
			if len(own) == 0 {
				t.Errorf("%s: %s declares none of %v", name, s.file, s.functions)
			}
			called := slices.ContainsFunc(own, func(f string) bool { return slices.Contains(seen, f) })
			calls := slices.ContainsFunc(shown, func(f string) bool {
				return slices.Contains(mentioned, f) || slices.Contains(mentioned, strings.ToUpper(f[:1])+f[1:])
			})
			if i > 0 && !s.remote && !called && !calls {
				t.Errorf("%s: nothing leads to %s", name, s.file)
			}
			seen, shown = append(seen, mentioned...), append(shown, own...)
		}
		for _, s := range stops {
			for _, f := range s.functions {
				if !slices.Contains(shown, f) && !slices.ContainsFunc([]string{"completed", "reapGone"}, func(w string) bool { return w == f }) {
					t.Errorf("%s: no file of the walk declares %s, which %s is said to", name, f, s.file)
				}
			}
		}
	}
	if len(found) != len(longest) {
		t.Errorf("%d walks, of %d the length is held", len(found), len(longest))
	}
}
