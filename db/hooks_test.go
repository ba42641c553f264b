package db

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetest"
)

// TestHooksAreStoredForPeople reads columns that the daemon never reads, because people query them themselves.
func TestHooksAreStoredForPeople(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i, body := range storetest.NastyJSON {
		in := input(fmt.Sprintf("k\x00\xff%d", i))
		in.SessionID, in.Body = "s\x00\xff", json.RawMessage(body)
		stored := func() (session, payload string, replayed bool) {
			err := db.pool.QueryRow(t.Context(), "SELECT session_id, payload::text, replayed FROM hook_events WHERE key = $1",
				fmt.Sprintf("k\uFFFD\uFFFD%d", i)).Scan(&session, &payload, &replayed)
			must(t, err)
			return session, payload, replayed
		}
		record(t, db, in, nil)
		if session, payload, replayed := stored(); session != "s\uFFFD\uFFFD" || !json.Valid([]byte(payload)) || replayed {
			t.Errorf("%.40q: %q %.60q %t", body, session, payload, replayed)
		}
		in.Replayed = true
		record(t, db, in, nil)
		if _, _, replayed := stored(); replayed {
			t.Errorf("%.40q: replayed, though nothing followed from it", body)
		}
		record(t, db, in, func(daemon.HookTx) daemon.HookDecision {
			return daemon.HookDecision{Change: daemon.Change{Events: []*event.Event{{Type: "t", Host: "h1"}}}}
		})
		if _, _, replayed := stored(); !replayed {
			t.Errorf("%.40q: not replayed", body)
		}
	}
	equal(t, "hooks", rowCount(t, db, "hook_events"), len(storetest.NastyJSON))
}
