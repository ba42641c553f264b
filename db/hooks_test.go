package db

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// record records a hook and returns what its transaction had locked.
func record(t testing.TB, db *DB, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, daemon.HookTx) {
	t.Helper()
	var seen daemon.HookTx
	res, err := db.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
		seen = tx
		if decide == nil {
			return daemon.HookDecision{Applied: true}
		}
		return decide(tx)
	})
	return must(t, res, err), seen
}

func input(key string) daemon.HookInput {
	return daemon.HookInput{Key: key, Event: "Stop", Host: "h1", Body: json.RawMessage(`{"a": 1}`), At: now()}
}

func TestHookFindsItsAgent(t *testing.T) {
	t.Parallel()
	db := open(t)
	foreign := func(pid int, session string, ended bool) func(*daemon.Agent) {
		return func(a *daemon.Agent) {
			a.Managed, a.PID, a.PIDStart, a.SessionID = false, pid, 1000, &session
			if ended {
				a.State, a.EndedAt = daemon.Ended, ptr(now())
			}
		}
	}
	ours := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash, a.PID, a.PIDStart = []byte("ours"), 10, 1000 })
	ended := newAgent(t, db, func(a *daemon.Agent) {
		a.LaunchHash, a.State, a.EndedAt = []byte("ended"), daemon.Ended, ptr(now())
	})
	newAgent(t, db, foreign(20, "s1", true)) // the pid was used before
	person := newAgent(t, db, foreign(20, "s1", false))
	newAgent(t, db, func(a *daemon.Agent) { foreign(30, "s2", false)(a); a.Host = "h2" })
	gone := newAgent(t, db, foreign(40, "s3", true))
	for name, tt := range map[string]struct {
		in   daemon.HookInput
		want int64
	}{
		"launch":                      {daemon.HookInput{LaunchHash: []byte("ours")}, ours.ID},
		"launch of an ended agent":    {daemon.HookInput{LaunchHash: []byte("ended"), PID: 20, PIDStart: 1000}, ended.ID},
		"unknown launch":              {daemon.HookInput{LaunchHash: []byte("x"), PID: 20, PIDStart: 1000, SessionID: "s1"}, 0},
		"empty launch":                {daemon.HookInput{LaunchHash: []byte{}, PID: 20, PIDStart: 1000}, 0},
		"process":                     {daemon.HookInput{PID: 20, PIDStart: 1000}, person.ID},
		"process that was reused":     {daemon.HookInput{PID: 20, PIDStart: 1001, SessionID: "s1"}, 0},
		"process of ours":             {daemon.HookInput{PID: 10, PIDStart: 1000}, 0},
		"process of another host":     {daemon.HookInput{PID: 30, PIDStart: 1000}, 0},
		"session":                     {daemon.HookInput{PID: 20, SessionID: "s1"}, person.ID},
		"session of an ended agent":   {daemon.HookInput{SessionID: "s3"}, gone.ID},
		"session of another host":     {daemon.HookInput{SessionID: "s2"}, 0},
		"neither process nor session": {daemon.HookInput{}, 0},
	} {
		tt.in.Key, tt.in.Event, tt.in.Host = name, "Stop", "h1"
		res, tx := record(t, db, tt.in, nil)
		if res.AgentID != tt.want || (tx.Agent == nil) != (tt.want == 0) || (tx.NewAgentID == 0) != (tt.want != 0) {
			t.Errorf("%s: agent %d, want %d (%+v)", name, res.AgentID, tt.want, tx)
		}
	}
}

func TestHookLocksWhatIsOpen(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	commit(t, db, moved(newHandoff(t, db, a.ID), daemon.Cancelled))
	h := newHandoff(t, db, a.ID)
	newHandoff(t, db, newAgent(t, db, nil).ID)
	done, one, two := newDelivery(t, db, a.ID), newDelivery(t, db, a.ID), newDelivery(t, db, a.ID)
	done.State, done.Verdict = daemon.DeliveryDone, ptr(daemon.Submitted)
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{done}})

	in := input("k")
	in.LaunchHash = []byte("l")
	output := json.RawMessage(`{"decision":"block"}`)
	event := &daemon.Event{Type: "t", Host: "h1"}
	var locked daemon.HookTx
	res, _ := record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision {
		locked = tx
		equal(t, "agent", *tx.Agent, func() daemon.Agent { b := *a; b.Options = []string{}; return b }())
		equal(t, "handoff", tx.Handoff.ID, h.ID)
		if len(tx.Deliveries) != 2 || tx.Deliveries[0].ID != one.ID || tx.Deliveries[1].ID != two.ID {
			t.Errorf("deliveries %+v", tx.Deliveries)
		}
		tx.Agent.State, tx.Agent.LastHook = daemon.Working, tx.HookID
		tx.Handoff.StopHook = tx.HookID
		tx.Deliveries[0].State = daemon.DeliveryTyping
		return daemon.HookDecision{Applied: true, Output: output, Change: daemon.Change{
			Agents: []*daemon.Agent{tx.Agent}, Move: &daemon.Move{Handoff: tx.Handoff, From: tx.Handoff.Phase},
			Deliveries: tx.Deliveries, Events: []*daemon.Event{event},
		}}
	})
	equal(t, "result", res, daemon.HookResult{HookID: locked.HookID, AgentID: a.ID, Applied: true, Output: output})
	got, err := db.Agent(t.Context(), a.ID)
	equal(t, "agent", must(t, got, err), *locked.Agent)
	gotH, err := db.Handoff(t.Context(), h.ID)
	equal(t, "handoff", must(t, gotH, err), *locked.Handoff)
	gotD, err := db.Delivery(t.Context(), one.ID)
	equal(t, "delivery", must(t, gotD, err), *locked.Deliveries[0])
	if event.ID == 0 || locked.Agent.Rev != a.Rev+1 || locked.Handoff.Seq != h.Seq+1 {
		t.Errorf("not advanced: %+v %+v %+v", event, locked.Agent, locked.Handoff)
	}
}

func TestHookComesAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	d := newDelivery(t, db, a.ID)
	in := input("k")
	in.LaunchHash = []byte("l")
	first, _ := record(t, db, in, func(daemon.HookTx) daemon.HookDecision {
		return daemon.HookDecision{Applied: true, Reason: "because", Output: json.RawMessage(`{"a": 1}`)}
	})
	replayed := func() (is bool) {
		if err := db.pool.QueryRow(t.Context(), "SELECT replayed FROM hook_events WHERE key = 'k'").Scan(&is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	in.LaunchHash = nil // its agent is the one that was found at first
	again, tx := record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision { return daemon.HookDecision{Reason: "stored"} })
	first.Again = true
	equal(t, "again", again, first)
	if !tx.Again || tx.HookID != first.HookID || tx.Agent == nil || tx.Agent.ID != a.ID || len(tx.Deliveries) != 1 || replayed() {
		t.Errorf("again: %+v, replayed %v", tx, replayed())
	}

	in.Replayed = true
	output := json.RawMessage(`{"b": 2}`)
	again, _ = record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision {
		tx.Deliveries[0].Evidence = "the answer did not arrive"
		return daemon.HookDecision{Output: output, Change: daemon.Change{Deliveries: tx.Deliveries}}
	})
	first.Output = output
	equal(t, "replayed", again, first)
	got, err := db.Delivery(t.Context(), d.ID)
	if must(t, got, err).Evidence == "" || !replayed() || rowCount(t, db, "hook_events") != 1 {
		t.Errorf("after the replay: %+v, replayed %v, %d hooks", got, replayed(), rowCount(t, db, "hook_events"))
	}

	record(t, db, input("nobody's"), nil)
	if _, tx := record(t, db, input("nobody's"), nil); !tx.Again || tx.Agent != nil || tx.NewAgentID != 0 {
		t.Errorf("again, of nobody: %+v", tx)
	}
}

func TestHookIsStoredOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	for name, hash := range map[string][]byte{"of an agent": []byte("l"), "of nobody": []byte("x")} {
		t.Run(name, func(t *testing.T) {
			in := input(name)
			in.LaunchHash = hash
			var wg sync.WaitGroup
			var first atomic.Int64
			for range 16 {
				wg.Go(func() {
					res, err := db.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
						if tx.Again {
							return daemon.HookDecision{}
						}
						d := daemon.HookDecision{Applied: true, Change: daemon.Change{Events: []*daemon.Event{{Type: name, Host: "h1"}}}}
						if tx.Agent != nil {
							tx.Agent.LastHook = tx.HookID
							d.Change.Agents = []*daemon.Agent{tx.Agent}
						}
						return d
					})
					if err != nil || !res.Applied {
						t.Errorf("%+v, %v", res, err)
					}
					if !res.Again {
						first.Add(1)
					}
				})
			}
			wg.Wait()
			events, err := db.Events(t.Context(), daemon.EventFilter{Types: []string{name}})
			if n := len(must(t, events, err)); first.Load() != 1 || n != 1 {
				t.Errorf("stored %d times, with %d events", first.Load(), n)
			}
		})
	}
	got, err := db.Agent(t.Context(), a.ID)
	if must(t, got, err).Rev != a.Rev+1 {
		t.Errorf("the agent was written %d times", got.Rev-a.Rev)
	}
}

func TestAgentRegistersItselfOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	var wg sync.WaitGroup
	for i := range 8 {
		in := input(fmt.Sprint("k", i))
		in.PID, in.PIDStart = 77, 5
		wg.Go(func() {
			res, err := db.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
				if tx.Agent != nil {
					tx.Agent.LastHook = tx.HookID
					return daemon.HookDecision{Applied: true, Change: daemon.Change{Agents: []*daemon.Agent{tx.Agent}}}
				}
				return daemon.HookDecision{Applied: true, Change: daemon.Change{NewAgent: &daemon.Agent{
					ID: tx.NewAgentID, Host: "h1", State: daemon.Idle, PID: 77, PIDStart: 5, CreatedAt: now(),
					TmuxSession: fmt.Sprint("foreign-", tx.NewAgentID),
				}}}
			})
			if err != nil || res.AgentID == 0 {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	wg.Wait()
	if agents, hooks := rowCount(t, db, "agents"), rowCount(t, db, "hook_events WHERE agent_id IS NOT NULL"); agents != 1 || hooks != 8 {
		t.Errorf("%d agents, %d hooks of theirs", agents, hooks)
	}
}

func TestHooksOfAnAgentAreAppliedInTheOrderOfTheirIDs(t *testing.T) {
	t.Parallel()
	db := open(t)
	newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	var wg sync.WaitGroup
	var last atomic.Int64 // changed under the agent's row lock, which decide is called under
	for w := range 16 {
		wg.Go(func() {
			for i := range 10 {
				in := input(fmt.Sprint(w, ".", i))
				in.LaunchHash = []byte("l")
				_, err := db.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
					if seen := last.Swap(tx.HookID); seen >= tx.HookID {
						t.Errorf("hook %d is applied after hook %d", tx.HookID, seen)
					}
					tx.Agent.LastHook = tx.HookID
					return daemon.HookDecision{Applied: true, Change: daemon.Change{Agents: []*daemon.Agent{tx.Agent}}}
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestHookThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	_, err := db.RecordHook(t.Context(), input("k"), func(daemon.HookTx) daemon.HookDecision {
		stale := *a
		stale.Rev--
		return daemon.HookDecision{Change: daemon.Change{Agents: []*daemon.Agent{&stale}}}
	})
	if !errors.Is(err, daemon.ErrMoved) || rowCount(t, db, "hook_events") != 0 {
		t.Errorf("%v, %d hooks", err, rowCount(t, db, "hook_events"))
	}
}

// TestHookWithAnyBytes stores what PostgreSQL refuses when it is given as it is.
func TestHookWithAnyBytes(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i, body := range nastyJSON {
		in := input(fmt.Sprintf("k\x00\xff%d", i))
		in.SessionID, in.Body = "s\x00\xff", json.RawMessage(body)
		var session, payload string
		res, _ := record(t, db, in, func(daemon.HookTx) daemon.HookDecision {
			return daemon.HookDecision{
				Reason: "r\x00", Output: json.RawMessage(body),
				Change: daemon.Change{Events: []*daemon.Event{{Type: "t\x00", Host: "h1", Payload: json.RawMessage(body)}}},
			}
		})
		err := db.pool.QueryRow(t.Context(), "SELECT session_id, payload::text FROM hook_events WHERE id = $1", res.HookID).Scan(&session, &payload)
		if err != nil || session != "s\uFFFD\uFFFD" || !json.Valid([]byte(payload)) {
			t.Errorf("%.40q: %q %.60q %v", body, session, payload, err)
		}
		if _, tx := record(t, db, in, nil); !tx.Again {
			t.Errorf("%.40q: not found again by its key", body)
		}
	}
	a := newAgent(t, db, func(a *daemon.Agent) { a.Cwd, a.Options, a.EndReason = "/\x00", []string{"\xff"}, ptr("\x00") })
	got, err := db.Agent(t.Context(), a.ID)
	if must(t, got, err).Cwd != "/\uFFFD" || got.Options[0] != "\uFFFD" || *got.EndReason != "\uFFFD" {
		t.Errorf("agent %+v", got)
	}
	h := aHandoff(t, db, a.ID)
	h.Structured, h.Error = &daemon.Structured{WhatWasDone: ptr("\x00")}, &daemon.Failure{Message: "\xff"}
	commit(t, db, &daemon.Change{NewHandoff: h})
	gotH, err := db.Handoff(t.Context(), h.ID)
	if must(t, gotH, err); *gotH.Structured.WhatWasDone != "\uFFFD" || gotH.Error.Message != "\uFFFD" {
		t.Errorf("handoff %+v", gotH)
	}
}

func TestStoredHook(t *testing.T) {
	t.Parallel()
	db := open(t)
	before := now()
	res, _ := record(t, db, daemon.HookInput{Key: "k", Event: "Stop", Host: "h1", Body: json.RawMessage(`{"text": "\u0000"}`), At: before.Add(-time.Hour)}, nil)
	got, err := db.StoredHook(t.Context(), res.HookID)
	if must(t, got, err).ReceivedAt.Before(before) {
		t.Errorf("received at %s, before %s", got.ReceivedAt, before)
	}
	got.ReceivedAt = time.Time{}
	equal(t, "hook", got, daemon.StoredHook{Event: "Stop", Body: json.RawMessage("{\"text\": \"\uFFFD\"}")})
	if _, err := db.StoredHook(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown hook: %v", err)
	}
}
