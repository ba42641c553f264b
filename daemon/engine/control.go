package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// Control is the server that a runtime runs for its agent. Its methods are safe for concurrent use.
type Control interface {
	// Follow reports what happens to the agent until ctx ends or the server cannot be reached. It first reports what has
	// happened before, as far as the server knows: a report has the same key each time. It makes the session, or finds it
	// by the link. If tell returns an error, Follow ends with it, because the report was not taken.
	Follow(ctx context.Context, tell func(runtimes.Report) error) error
	// Send submits a text, unless the session shows that the same text was submitted at the time since or later and was taken
	// or may still be taken; the zero time stands for any time. So it may be called again for one text, also by another
	// daemon. If it returns an error, the text may or may not have been submitted.
	Send(ctx context.Context, text string, since time.Time) error
	// Ask asks a copy of the session a question, which may use no tools, and returns the model's messages. The session does not
	// change, and the copy is removed.
	Ask(ctx context.Context, question string) ([]string, error)
	// Interrupt ends the running turn. It may be called again.
	Interrupt(ctx context.Context) error
	// Exit asks the program to exit. It may be called again. If rest is not nil and the session was given a prompt since then, Exit
	// does nothing, and its error is [ErrGivenWork]: Follow may not have reported that prompt yet.
	Exit(ctx context.Context, rest *runtimes.Rest) error
}

// Link says to which server a [Control] belongs.
type Link struct {
	Runtime    string
	Server     runtimes.Server
	AgentID    int64
	Name       string    // of the agent, for people
	Began      time.Time // when the agent's row was made, if it opens an earlier agent's session again; the zero time: the session is its own
	Session    string    // the session's id; "": it is not made yet, or nobody knows its id yet
	Cwd        string
	Mode       string // the permission mode of the launch
	Retrying   bool   // the newest report of a retry that was taken said that it has begun: see [Trouble]
	Transcript string // path of the file in which Follow keeps the conversation, one entry per line
}

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

// Earlier returns the prompts of the session that an earlier agent was given. found are those from before Began that a look finds; those of
// the first look count. They are kept among the launch files: once the clock was set back, the agent's own prompts are from before Began, too.
func (l *Link) Earlier(found []string) (prompts map[string]bool, err error) {
	prompts = map[string]bool{}
	if l.Began.IsZero() {
		return prompts, nil
	}
	path := filepath.Join(filepath.Dir(l.Transcript), "earlier.json")
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		err = json.Unmarshal(b, &found)
	case errors.Is(err, fs.ErrNotExist):
		if b, err = json.Marshal(found); err == nil {
			err = data.WriteFile(path, b, 0o600)
		}
	}
	for _, id := range found {
		prompts[id] = true
	}
	return prompts, err
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
	d.memories.change(id, func(m *agentMemory) { followed, m.followed = m.followed == p, p })
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
