package sight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// ServerFile is where the address of an agent's server is kept among its launch files.
const ServerFile = "server.json"

// BySession calls do with the server of an agent.
func (d *Sight) BySession(a *daemon.Agent, do func(engine.Control) error) error {
	c, err := d.Server(a)
	if err != nil {
		return fmt.Errorf("agent %d: its server: %w", a.ID, err)
	}
	return do(c)
}

// Server returns the server of an agent.
func (d *Sight) Server(a *daemon.Agent) (engine.Control, error) {
	if d.Control == nil {
		return nil, errors.New("no way to reach it")
	}
	b, err := os.ReadFile(filepath.Join(d.Data.Launch(a.ID), ServerFile))
	if err != nil {
		return nil, err
	}
	link := engine.Link{
		Runtime: a.Runtime, AgentID: a.ID, Process: a.Process(), Name: a.Name, Cwd: a.Cwd, Mode: a.PermissionMode,
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

const (
	// followAgain is how long the daemon waits before it follows a server again that could not be reached.
	followAgain = 250 * time.Millisecond
	// strangerAgain is that after somebody else was met there: each look reads the open files of all processes.
	strangerAgain = 5 * time.Second
)

// Follow takes the reports of an agent's server, if its runtime has one. There is one goroutine for each process; it ends
// with ctx or with the process.
func (d *Sight) Follow(ctx context.Context, a *daemon.Agent) {
	if a.PID == 0 || d.RuntimeOf(a).Can.Registers != runtimes.RegistersByServer {
		return
	}
	p, id, followed := a.Process(), a.ID, false
	d.memories.Change(id, func(m *sightMemory) { followed, m.followed = m.followed == p, p })
	if followed {
		return
	}
	d.Lanes.Spawn(func() {
		for d.Lives(p) {
			err := d.followOnce(ctx, id)
			if ctx.Err() != nil {
				return
			}
			d.Log.Debug("server of an agent not followed; trying again", "agent_id", id, "error", err)
			again := followAgain
			if errors.Is(err, engine.ErrStranger) {
				again = strangerAgain
				d.tellOfStranger(id)
			}
			if !lane.Ticked(ctx, time.After(again)) {
				return
			}
		}
	})
}

// tellOfStranger tells the operator, once, that somebody else listens where an agent should.
func (d *Sight) tellOfStranger(agentID int64) {
	if d.FirstTime(fmt.Sprintf("stranger at agent %d", agentID)) {
		d.Alert(event.AgentServerTaken, fmt.Sprintf("Another process listens at the port of agent %d: it was sent nothing, and the agent gets nothing until that process is gone; see who it is with `ss -ltnp`, "+
			"and end the agent with `understudy agent stop %[1]d` or wait.", agentID))
	}
}

// followOnce follows the server of an agent until it can no longer be reached.
func (d *Sight) followOnce(ctx context.Context, agentID int64) error {
	ctx = daemon.WithCaller(ctx, fmt.Sprintf("server of agent %d", agentID))
	a, err := d.Store.Agent(ctx, agentID)
	if err != nil {
		return err
	}
	return d.BySession(&a, func(c engine.Control) error {
		return c.Follow(ctx, func(r runtimes.Report) error { return d.Report(ctx, &a, r) })
	})
}
