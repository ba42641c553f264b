package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// Agent returns one agent.
func (d *Engine) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	a, err := d.Store.Agent(ctx, id)
	return a, NotFoundAs(err, daemon.ErrAgentNotFound)
}

// OpenHandoff returns the open handoff of an outgoing agent, if there is one.
func (d *Engine) OpenHandoff(ctx context.Context, agentID int64) (daemon.Handoff, bool, error) {
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: agentID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return daemon.Handoff{}, false, err
	}
	return list[0], true, nil
}

// RequireThisHost refuses an act that only the daemon of the given host can do, unless this is that host.
func (d *Engine) RequireThisHost(host string) error {
	if host == d.Host {
		return nil
	}
	return daemon.Errorf(daemon.KindConflict, daemon.CodeOtherHost, "That is on host %s: ask the daemon there", host)
}

// DataDirOf returns the data directory of a host.
func (d *Engine) DataDirOf(ctx context.Context, host string) (data.Dir, error) {
	if host == d.Host {
		return d.Data, nil
	}
	root, err := d.Store.HostRoot(ctx, host)
	if err != nil {
		return data.Dir{}, NotFoundAs(err, daemon.Errorf(daemon.KindConflict, daemon.CodeOtherHost, "That is on host %s, which was never seen on this database", host))
	}
	return data.At(root), nil
}

// FirstTime reports whether the operator is to be told of something, because they have not been told of it before.
func (d *Engine) FirstTime(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Refused[what] || len(d.Refused) >= MaxFirsts {
		return false
	}
	d.Refused[what] = true
	return true
}

// Retryable reports whether err only means that another writer changed the row first. Read the row again, and decide anew.
func Retryable(err error) bool { return errors.Is(err, daemon.ErrMoved) }

// Checksum returns the SHA-256 of bytes, in hexadecimal digits.
func Checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ContextIntact reports whether the context file still holds the recorded content. Agents can write to its folder, so
// ContextIntact reads the file with the same care as a document.
func (d *Engine) ContextIntact(h *daemon.Handoff) bool {
	file, err := data.ReadDocument(d.Data.Handoffs(h.Persona), *h.ContextPath, h.Metrics.ContextSizeBytes)
	return err == nil && file.SHA256 == *h.ContextChecksum
}

// MaxFirsts bounds what FirstTime remembers. An operator who was told of so many different things knows that something is
// wrong.
const MaxFirsts = 200
