package understudy_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// coded are the packages that give errors and failures their codes, and events their types.
var coded = []string{
	"data", "daemon/event", "daemon", "daemon/engine", "daemon/sight", "daemon/deliveries", "daemon/agents", "daemon/handoffs", "daemon/intake", "db", "api", "api/dashboard",
}

// code is a constant of the type daemon.Code.
type code struct{ name, text, doc string } // doc is the comment of its block

// vocabulary is what the type checker says of the packages above.
type vocabulary struct {
	codes    []code
	events   map[string]string // the constants of the type event.Type, by name
	document []string          // what is wrong with documents, which data has no type for
	literals []string          // where a code or an event type stands that is no constant
}

// words are read once, for all tests.
var words = sync.OnceValues(func() (v vocabulary, err error) {
	p, err := checked()
	if err != nil {
		return v, err
	}
	v.events = map[string]string{}
	for _, dir := range coded {
		for _, s := range p.files[dir] {
			v.read(p.info, s)
		}
	}
	return v, nil
})

func (v *vocabulary) read(info *types.Info, s *source) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok == token.CONST {
				v.declared(info, n)
				return false
			}
		case *ast.BasicLit:
			if of := wordType(info.Types[n].Type); of != "" && n.Value != `""` {
				v.literals = append(v.literals, s.line(n.Pos())+": "+n.Value)
			}
		}
		return true
	})
}

func (v *vocabulary) declared(info *types.Info, block *ast.GenDecl) {
	for _, spec := range block.Specs {
		for _, name := range spec.(*ast.ValueSpec).Names {
			c, ok := info.Defs[name].(*types.Const)
			if !ok || c.Val().Kind() != constant.String {
				continue
			}
			switch text := constant.StringVal(c.Val()); {
			case wordType(c.Type()) == "daemon.Code":
				v.codes = append(v.codes, code{name.Name, text, block.Doc.Text()})
			case wordType(c.Type()) == "event.Type":
				v.events[name.Name] = text
			case c.Pkg().Name() == "data" && strings.HasPrefix(text, "document_"):
				v.document = append(v.document, text)
			}
		}
	}
}

// wordType is the name of a type if it is one of codes or events, else "".
func wordType(t types.Type) string {
	if _, ok := t.(*types.Named); !ok {
		return ""
	}
	switch name := nameOf(t); name {
	case "daemon.Code", "event.Type":
		return name
	}
	return ""
}

// vocabularyOf fails where the words can't be found any more.
func vocabularyOf(t *testing.T) vocabulary {
	t.Helper()
	v := wardentest.Value(words())(t)
	if len(v.codes) < 100 || len(v.events) < 60 || len(v.document) < 5 {
		t.Fatalf("only %d codes, %d types of events and %d codes of documents were found: adapt this test", len(v.codes), len(v.events), len(v.document))
	}
	return v
}

// TestWordsAreConstants keeps codes and types of events from being spelt where they are used.
func TestWordsAreConstants(t *testing.T) {
	t.Parallel()
	for _, literal := range vocabularyOf(t).literals {
		t.Errorf("%s is no constant: declare it in daemon/codes.go, daemon/event/types.go or api/codes.go", literal)
	}
}

// TestEventTypesAreListed: who asks for a type of events that is not listed is refused.
func TestEventTypesAreListed(t *testing.T) {
	t.Parallel()
	for name, text := range vocabularyOf(t).events {
		if !slices.Contains(views.EventTypes(), event.Type(text)) {
			t.Errorf("%s is not in EventTypes", name)
		}
	}
}

// TestFailureCodesAreExplained keeps the tables in docs/operating.md complete.
func TestFailureCodesAreExplained(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(string(files(t)["docs/operating.md"]), "## When a handoff fails")
	var explained []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(table, -1) {
		explained = append(explained, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	v := vocabularyOf(t)
	want := slices.Clone(v.document)
	for _, kind := range []daemon.DeliveryKind{daemon.KindInstruction, daemon.KindPrompt} {
		for _, verdict := range []daemon.Verdict{daemon.NotSubmitted, daemon.Unconfirmed} {
			want = append(want, string(kind)+"_"+string(verdict))
		}
	}
	want = append(want, v.documentedIn("docs/operating.md")...)
	for _, code := range want {
		if !slices.Contains(explained, code) {
			t.Errorf("failure code %s is not in docs/operating.md: say there what to do", code)
		}
	}
}

// TestAnswersAreDescribed compares the codes with which requests are refused with the description of the API. That the
// right one is answered is for the tests of api to see, each answer of which is checked.
func TestAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	enum := regexp.MustCompile(`(?s)\n    Error:\n      type: object.*?\n +enum:\n((?: +- \w+\n)+)`).FindSubmatch(files(t)["api/openapi.yaml"])
	if enum == nil {
		t.Fatal("api/openapi.yaml has no list of codes")
	}
	described := strings.Fields(strings.ReplaceAll(string(enum[1]), "- ", ""))
	if !slices.IsSorted(described) {
		t.Error("the codes are not in order in api/openapi.yaml, components/schemas/Error/code")
	}
	v := vocabularyOf(t)
	made := map[string]bool{}
	for _, code := range slices.Concat(v.document, v.documentedIn("api/openapi.yaml")) {
		made[code] = true
	}
	for _, code := range slices.Sorted(maps.Keys(made)) {
		if !slices.Contains(described, code) {
			t.Errorf("code %q is not described: add it to components/schemas/Error/code in api/openapi.yaml", code)
		}
	}
	for _, code := range described {
		ofField := strings.HasPrefix(code, "bad_") || strings.HasPrefix(code, "invalid_") // and the name of the field
		if !made[code] && !ofField {
			t.Errorf("code %q is described and nothing answers it: remove it from api/openapi.yaml", code)
		}
	}
}

// TestEachCodeHasItsPage: the comment of its block names the page that has it, unless it is the client's.
func TestEachCodeHasItsPage(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range vocabularyOf(t).codes {
		if !strings.Contains(c.doc, "docs/operating.md") && !strings.Contains(c.doc, "api/openapi.yaml") && !strings.Contains(c.doc, "the client") {
			t.Errorf("%s: the comment of its block names no page that has it", c.name)
		}
		if seen[c.text] != "" {
			t.Errorf("%s and %s are the same code", c.name, seen[c.text])
		}
		seen[c.text] = c.name
	}
}

// documentedIn are the codes that a page has, by the comments of their blocks.
func (v *vocabulary) documentedIn(page string) (out []string) {
	for _, c := range v.codes {
		if strings.Contains(c.doc, page) {
			out = append(out, c.text)
		}
	}
	return out
}
