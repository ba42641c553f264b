package api

import (
	"flag"
	"fmt"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// met counts, for each operation of the description, the successful answers and the errors in all tests.
var met struct {
	sync.Mutex
	answers, errors map[string]bool
}

func meet(operation string, status int) {
	met.Lock()
	defer met.Unlock()
	if met.answers == nil {
		met.answers, met.errors = map[string]bool{}, map[string]bool{}
	}
	if status < 400 {
		met.answers[operation] = true
	} else {
		met.errors[operation] = true
	}
}

// unmet returns, after all tests, the operations of which no test has had both a successful answer and an error.
func unmet() (missing []string) {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return nil // not all tests have run
		}
	}
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return []string{err.Error()}
	}
	met.Lock()
	defer met.Unlock()
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for what, done := range map[string]map[string]bool{"answer": met.answers, "error": met.errors} {
				if !done[operation.OperationID] {
					missing = append(missing, fmt.Sprintf("%s %s: no test has had an %s of it that was checked against the description: "+
						"call it through a door or the client of a fixture (fixture_test.go)", method, path, what))
				}
			}
		}
	}
	slices.Sort(missing)
	return missing
}
