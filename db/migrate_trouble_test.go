package db

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestMigrateKeepsTrouble: an agent whose last turn failed before the upgrade is in trouble after it.
func TestMigrateKeepsTrouble(t *testing.T) {
	t.Parallel()
	db := open(t)
	url := db.connect.ConnString()
	fails := newAgent(t, db, func(a *daemon.Agent) { a.TurnError, a.LastMessage = "rate_limit: later", "All is done." })
	fine := newAgent(t, db, nil)
	db.Close() // its prepared statements would not fit the older schema
	p := migratorOf(t, url)
	value(p.DownTo(t.Context(), 4))(t)
	value(p.Up(t.Context()))(t)
	db = at(t, url)
	got := value(db.Agent(t.Context(), fails.ID))(t)
	if now := got.Trouble; now == nil || now.Words() != "runtime_error: rate_limit: later" || !now.Since.Equal(fails.StateAt) {
		t.Errorf("the agent's trouble is %+v", now)
	}
	equal(t, "last answer", got.LastMessage, "")
	got = value(db.Agent(t.Context(), fine.ID))(t)
	if got.Trouble != nil {
		t.Errorf("an agent without trouble has %+v", got.Trouble)
	}
}
