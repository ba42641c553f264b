package engine

import (
	"sync/atomic"

	"github.com/understudyd/understudy/tmux"
)

// The floors of the hall, from below: Engine, Sight, Courier, Supervisor, Flow, Daemon. Each has all that is below it and knows nothing
// above it, which the compiler holds. What a lower floor needs of a higher one is among its callouts.

// Sight is what pane, registry and transcript show of an agent, and who its process is. Its methods are safe for concurrent use.
type Sight struct {
	*Engine
	accounts  accounts
	fileLooks chan struct{} // holds a value for each look at a file for a hook, even if the look hangs
	heading   atomic.Bool   // a lookAtHeads runs
}

func newSight(e *Engine) *Sight {
	environ := func(p tmux.Process) ([]string, error) {
		environ, err := e.Environment(p.PID)
		if err == nil && !e.lives(p) { // another process may have its number
			err = tmux.ErrNoProcess
		}
		return environ, err
	}
	return &Sight{Engine: e, accounts: accounts{data: e.Data, environ: environ}, fileLooks: make(chan struct{}, fileLooks)}
}

// Courier brings one text into one pane, and finds out whether the agent has taken it. Its methods are safe for concurrent use.
type Courier struct{ *Sight }

func newCourier(s *Sight) *Courier { return &Courier{s} }

// Supervisor starts agents, stops them and opens their sessions again. Its methods are safe for concurrent use.
type Supervisor struct {
	*Courier
	opening openings
	diffs   chan struct{} // holds a value for each diff that is made
	peeking atomic.Bool   // a peekAtStarting runs
	resumed atomic.Bool   // resumeDead has done its work
}

func newSupervisor(d *Courier) *Supervisor {
	return &Supervisor{Courier: d, diffs: make(chan struct{}, maxDiffs)}
}

// Flow passes work on: from the instruction to the successor's first prompt. Its methods are safe for concurrent use.
type Flow struct {
	*Supervisor
	assemblies chan struct{} // holds a value for each assembly that runs
}

func newFlow(a *Supervisor) *Flow {
	return &Flow{Supervisor: a, assemblies: make(chan struct{}, maxAssemblies)}
}
