// Command lint is the project's linter: staticcheck's analyzers and a few more, in one program
// that loads the packages once and keeps staticcheck's cache. It is a module of its own, so that
// nothing of it stands in the go.mod of the project. From the root of the tree:
//
//	go build -C .ci/lint -o ../../bin/lint . && bin/lint ./...
//
// A finding that is wrong is silenced where it is, with its reason: //lint:ignore CHECK reason.
package main

import (
	_ "embed"
	"fmt"
	"os"

	"github.com/kisielk/errcheck/errcheck"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// unchecked names the functions whose errors nobody can do anything about.
//
//go:embed unchecked.txt
var unchecked []byte

func main() {
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])

	cmd.AddAnalyzers(staticcheck.Analyzers...) // SA: mistakes, from wrong format verbs to contexts that leak
	cmd.AddAnalyzers(simple.Analyzers...)      // S: code that says in five lines what takes one
	cmd.AddAnalyzers(stylecheck.Analyzers...)  // ST: doc comments, error texts, names; staticcheck.conf chooses
	cmd.AddAnalyzers(unused.Analyzer)          // U1000: code that nobody calls
	cmd.AddBareAnalyzers(
		errcheck.Analyzer,       // an error that is dropped without a word; `_ =` says that it is meant
		errorlint.NewAnalyzer(), // == and type assertions on errors, which miss wrapped ones (style rule: errors.Is, AsType)
		nilness.Analyzer,        // a nil that is dereferenced on some path
		unusedwrite.Analyzer,    // a field written in a copy that nobody reads: a lost change of a row
		waitgroup.Analyzer,      // Add inside the goroutine that it counts
	)
	list, err := silenceErrcheck()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	code := cmd.Execute()
	os.Remove(list)
	os.Exit(code)
}

// silenceErrcheck hands errcheck its list, which it wants in a file.
func silenceErrcheck() (path string, err error) {
	f, err := os.CreateTemp("", "unchecked-")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Write(unchecked); err != nil {
		return "", err
	}
	return f.Name(), errcheck.Analyzer.Flags.Set("exclude", f.Name())
}
