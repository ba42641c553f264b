package intake

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// takeReport takes what the daemon has read of an agent that it launched, from its screen, its transcript or its server, as if
// the agent's process had sent it as a hook. The report's key makes that it counts once, however often it is read.
func (d *Daemon) takeReport(ctx context.Context, a *daemon.Agent, r runtimes.Report) error {
	p, err := hooks.Parse(r.Event, r.Body)
	if err != nil {
		return d.refuse(r.Event, err)
	}
	in := daemon.HookInput{
		Key: engine.Checksum(fmt.Appendf(nil, "agent %d: %s", a.ID, r.Key)), Event: p.Event, Host: d.Host, LaunchHash: a.LaunchHash,
		PID: a.PID, PIDStart: a.PIDStart, SessionID: p.SessionID, Body: r.Body, At: d.Now().UTC(),
	}
	if !r.At.IsZero() {
		if !d.ShownAfter(a.CreatedAt)(r.At) {
			return nil // an earlier agent had this session
		}
		in.At = r.At.UTC()
	}
	_, _, err = d.take(ctx, hookStep{in: in, p: p, own: true, claim: claim{proc: a.Process()}})
	return err
}
