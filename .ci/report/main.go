// Command report reads what `go test -json` says and prints what `go test` would: the line of each package, and the
// output of each test that failed. At the end it names the slowest tests. It fails if a test did.
//
//	go test -json ./... | go run ./.ci/report/main.go
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// slowest is how many tests are named at the end.
const slowest = 20

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

type took struct {
	name    string
	seconds float64
}

func main() {
	var tests []took
	output := map[string]*strings.Builder{} // of a test, or of a package outside its tests
	failed := false
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil { // what the go command itself has to say
			fmt.Print(string(line))
			continue
		}
		top, _, _ := strings.Cut(e.Test, "/")
		key := e.Package + " " + top
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "build-fail":
			failed = true
		case "output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "pass", "fail", "skip":
			if e.Test != top { // a subtest stands in the output of its test
				continue
			}
			if b := output[key]; b != nil && (e.Action == "fail" || e.Test == "") {
				fmt.Print(strings.TrimPrefix(b.String(), "PASS\n"))
			}
			delete(output, key)
			failed = failed || e.Action == "fail"
			if e.Test != "" {
				tests = append(tests, took{e.Package[strings.LastIndexByte(e.Package, '/')+1:] + " " + e.Test, e.Elapsed})
			}
		}
	}
	for key, b := range output { // of tests that never ended
		fmt.Printf("%s:\n%s", key, b)
		failed = true
	}
	slices.SortFunc(tests, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Printf("%d tests; the slowest, with those beside them on the same cores:\n", len(tests))
	for _, t := range tests[:min(slowest, len(tests))] {
		fmt.Printf("  %6.1f s  %s\n", t.seconds, t.name)
	}
	if failed {
		os.Exit(1)
	}
}
