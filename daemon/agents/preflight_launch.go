package agents

import (
	"context"
	"errors"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
)

// takesCommandLine refuses an agent whose runtime cannot be launched as the agent is to be: the CLI is too old, or has no such mode,
// or does not take these arguments beside it. It makes the command line as the launch does, and asks the CLI for its version, so that
// the launch need not wait for that. It leaves out what a step adds, which writes files.
func takesCommandLine(ctx context.Context, d *Launcher, next *daemon.Agent) error {
	planned := *next
	planned.ID = 0
	if next.StepID != nil {
		planned.PipelineID, planned.StepID, planned.Persona = nil, nil, nil // a pipeline keeps the skill of a persona that is gone
	}
	_, _, err := d.launchPlan(ctx, &planned)
	if _, told := errors.AsType[*daemon.Error](err); err == nil || told || ctx.Err() != nil || engine.Retryable(err) {
		return err
	}
	return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeCannotLaunch, "No agent can be started on %s: %s; put that right, or choose another runtime or permission mode",
		launchWords(next), words.TrimDot(err.Error()))
}

// launchWords names the runtime of an agent, and the permission mode with which it is launched.
func launchWords(a *daemon.Agent) string {
	mode := a.PermissionMode
	if mode == "" {
		mode = claude.OptionMode(a.Options)
	}
	if mode == "" {
		return a.Runtime
	}
	return a.Runtime + " in the mode " + mode
}
