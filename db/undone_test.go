package db

import (
	"errors"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestUndoneHookLeavesNothing: the daemon looks at a file between two transactions, and the second must find
// everything as the first did.
func TestUndoneHookLeavesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("ours") })
	in := input("k")
	in.LaunchHash = a.LaunchHash
	undone := errors.New("not now")
	_, err := db.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
		tx.Agent.Name = "changed"
		return daemon.HookDecision{Applied: true, Undone: undone, Change: daemon.Change{Agents: []*daemon.Agent{tx.Agent}}}
	})
	if !errors.Is(err, undone) {
		t.Errorf("RecordHook returned %v", err)
	}
	_, tx := record(t, db, in, nil)
	if tx.Again || tx.Agent == nil || tx.Agent.Name != a.Name || tx.Agent.Rev != a.Rev {
		t.Errorf("the hook was stored (%t), or its agent changed: %+v", tx.Again, tx.Agent)
	}
}
