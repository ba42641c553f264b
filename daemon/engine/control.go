package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// serverFile is where the address of an agent's server is kept among its launch files.
const serverFile = "server.json"

// bySession calls do with the server of an agent.
func (d *Sight) bySession(a *daemon.Agent, do func(Control) error) error {
	c, err := d.control(a)
	if err != nil {
		return fmt.Errorf("agent %d: its server: %w", a.ID, err)
	}
	return do(c)
}

// control returns the server of an agent.
func (d *Sight) control(a *daemon.Agent) (Control, error) {
	if d.Control == nil {
		return nil, errors.New("no way to reach it")
	}
	b, err := os.ReadFile(filepath.Join(d.Data.Launch(a.ID), serverFile))
	if err != nil {
		return nil, err
	}
	link := Link{
		Runtime: a.Runtime, AgentID: a.ID, Name: a.Name, Cwd: a.Cwd, Mode: a.PermissionMode,
		Transcript: runtimes.Mirror(d.Data.Launch(a.ID)),
	}
	if err := json.Unmarshal(b, &link.Server); err != nil {
		return nil, err
	}
	if a.Resume != "" {
		link.Began = a.CreatedAt
	}
	if a.SessionID != nil {
		link.Session = *a.SessionID
	}
	link.Retrying = a.Trouble != nil && a.Trouble.Retrying
	return d.Control(link)
}

// followAgain is how long the daemon waits before it follows a server again that could not be reached.
const followAgain = 250 * time.Millisecond

// follow takes the reports of an agent's server, if its runtime has one. There is one goroutine for each process; it ends
// with ctx or with the process.
func (d *Sight) follow(ctx context.Context, a *daemon.Agent) {
	if a.PID == 0 || d.runtimeOf(a).Can.Registers != runtimes.RegistersByServer {
		return
	}
	p, id, followed := a.Process(), a.ID, false
	d.memories.Change(id, func(m *sightMemory) { followed, m.followed = m.followed == p, p })
	if followed {
		return
	}
	d.lanes.Spawn(func() {
		for d.lives(p) {
			err := d.followOnce(ctx, id)
			if ctx.Err() != nil {
				return
			}
			d.Log.Debug("server of an agent not followed; trying again", "agent_id", id, "error", err)
			if !lane.Ticked(ctx, time.After(followAgain)) {
				return
			}
		}
	})
}

// followOnce follows the server of an agent until it can no longer be reached.
func (d *Sight) followOnce(ctx context.Context, agentID int64) error {
	ctx = daemon.WithCaller(ctx, fmt.Sprintf("server of agent %d", agentID))
	a, err := d.Store.Agent(ctx, agentID)
	if err != nil {
		return err
	}
	return d.bySession(&a, func(c Control) error {
		return c.Follow(ctx, func(r runtimes.Report) error { return d.report(ctx, &a, r) })
	})
}
