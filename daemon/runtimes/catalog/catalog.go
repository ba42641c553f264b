// Package catalog lists the runtimes: those of the CLIs that we know, by name, and those that config.yaml describes. It also knows what the
// environments of all CLIs have in common: which variables name an account, and which must not reach an agent.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/daemon/runtimes/omp"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

// all are the runtimes that we know, in the order in which people see them.
var all = []*runtimes.Runtime{claude.Runtime, codex.Runtime, opencode.Runtime, omp.Runtime, gemini.Runtime}

// All returns the runtimes that we know. The caller must not change them.
func All() []*runtimes.Runtime { return slices.Clone(all) }

// For returns the runtime of that name. A name may have a hyphen and a word behind the name of a runtime, such as
// claude-work: that is the same CLI with a command of its own, for example one with another account. With an error For
// returns a runtime that can do nothing.
func For(name string) (*runtimes.Runtime, error) {
	kind, account, _ := strings.Cut(name, "-")
	for _, is := range []string{name, kind} {
		for _, rt := range all {
			if rt.Name == is && (is == name || account != "") {
				return rt, nil
			}
		}
	}
	return unknown(name), fmt.Errorf("unknown runtime %q: known are %s", name, strings.Join(Names(), ", "))
}

// unknown is the runtime of an agent whose runtime is no longer configured. Its agent is shown and can be ended; nothing is
// typed into its pane, and nothing of it is read.
func unknown(name string) *runtimes.Runtime {
	err := fmt.Errorf("the runtime %q is not known", name)
	return &runtimes.Runtime{
		Name: name, Title: name,
		ReadScreen: func(runtimes.View) runtimes.Screen { return runtimes.Screen{} },
		ReadLine:   func([]byte) (runtimes.Line, error) { return runtimes.Line{}, err },
		Clean:      func(text string) string { return text },
	}
}

// Names returns the names of all runtimes.
func Names() []string {
	names := make([]string, len(all))
	for i, rt := range all {
		names[i] = rt.Name
	}
	return names
}
