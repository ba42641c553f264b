package commands

import (
	"errors"
	"fmt"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// outcome is what became of one of several things that a command line names.
type outcome struct {
	Named  string      `json:"named"` // the word on the command line
	Result any         `json:"result,omitempty"`
	Error  string      `json:"error,omitempty"`
	Code   daemon.Code `json:"code,omitempty"`
}

// forEach does something for each of the named things, in order. do prints what it has done, or with --json returns it. If one of
// several fails, each says so and goes on with the others; it fails at the end.
func forEach(a *cli.App, named []string, do func(word string) (any, error)) error {
	if len(named) == 1 {
		result, err := do(named[0])
		if err == nil && a.JSON {
			err = a.PrintJSON(result)
		}
		return err
	}
	var all []outcome
	failed := false
	for _, word := range named {
		result, err := do(word)
		one := outcome{Named: word, Result: result}
		if err != nil {
			told, known := errors.AsType[*daemon.Error](err)
			if known && told.Kind == daemon.KindUnavailable && len(all) == 0 {
				return err // the others would fail by the same
			}
			failed = true
			one.Result = nil
			if !errors.Is(err, cli.ErrSilent) {
				one.Error = cli.Sentence(err)
				fmt.Fprintf(a.Stderr, "understudy: %s: %s\n", words.Terminal(word), a.WithData(one.Error+hint(err)))
			}
			if known {
				one.Code = told.Code
			}
		}
		all = append(all, one)
	}
	if a.JSON {
		if err := a.PrintJSON(all); err != nil {
			return err
		}
	}
	if failed {
		return cli.ErrSilent
	}
	return nil
}
