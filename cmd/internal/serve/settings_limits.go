package serve

import (
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// limitProblem returns the key of a value that cannot work, and why; "": there is none. known are the runtimes that have a
// command.
func limitProblem(l *daemon.LimitSettings, known map[string]RuntimeSettings) (key, why string) {
	if !slices.Contains(daemon.LimitActions(), l.OnLimit) {
		return "on_limit", "must be wait, hand_over or ask"
	}
	for i, name := range l.Fallback {
		_, err := catalog.For(name)
		switch _, configured := known[name]; {
		case slices.Contains(l.Fallback[:i], name):
			return "fallback", "names " + name + " twice"
		case err != nil:
			return "fallback", err.Error()
		case !configured:
			return "fallback", fmt.Sprintf("names %s, which has no command: set runtimes.%s.command", name, name)
		}
	}
	if l.OnLimit == daemon.LimitHandOver && len(l.Fallback) == 0 {
		return "on_limit", "is hand_over, so limits.fallback must name the runtimes of successors, such as [codex, opencode]"
	}
	return "", ""
}
