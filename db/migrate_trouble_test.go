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
	_, err := p.DownTo(t.Context(), 4)
	noErr(t, err)
	_, err = p.Up(t.Context())
	noErr(t, err)
	db = at(t, url)
	got, err := db.Agent(t.Context(), fails.ID)
	if now := must(t, got, err).Trouble; now == nil || now.Words() != "runtime_error: rate_limit: later" || !now.Since.Equal(fails.StateAt) {
		t.Errorf("the agent's trouble is %+v", now)
	}
	equal(t, "last answer", got.LastMessage, "")
	got, err = db.Agent(t.Context(), fine.ID)
	if must(t, got, err).Trouble != nil {
		t.Errorf("an agent without trouble has %+v", got.Trouble)
	}
}
