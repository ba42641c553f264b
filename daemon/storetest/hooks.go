package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// RecordHook records a hook, and returns the rows that its transaction locked.
func RecordHook(t testing.TB, st daemon.Store, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, daemon.HookTx) {
	t.Helper()
	var seen daemon.HookTx
	res, err := st.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
		seen = tx
		if decide == nil {
			return daemon.HookDecision{Applied: true}
		}
		return decide(tx)
	})
	return must(t, res, err), seen
}

// Input returns a Stop hook of host h1 that belongs to no agent.
func Input(key string) daemon.HookInput {
	return daemon.HookInput{Key: key, Event: "Stop", Host: "h1", Body: json.RawMessage(`{"a": 1}`), At: now()}
}

func hookFindsItsAgent(t *testing.T, st daemon.Store) {
	foreign := func(pid int, session string, ended bool) func(*daemon.Agent) {
		return func(a *daemon.Agent) {
			a.Managed, a.PID, a.PIDStart, a.SessionID = false, pid, 1000, &session
			if ended {
				a.State, a.EndedAt = daemon.Ended, new(now())
			}
		}
	}
	ours := NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash, a.PID, a.PIDStart = []byte("ours"), 10, 1000 })
	ended := NewAgent(t, st, func(a *daemon.Agent) {
		a.LaunchHash, a.State, a.EndedAt = []byte("ended"), daemon.Ended, new(now())
	})
	NewAgent(t, st, foreign(20, "s1", true)) // an ended agent had the same pid
	person := NewAgent(t, st, foreign(20, "s1", false))
	NewAgent(t, st, func(a *daemon.Agent) { foreign(30, "s2", false)(a); a.Host = "h2" })
	gone := NewAgent(t, st, foreign(40, "s3", true))
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
		"process that has ended":      {daemon.HookInput{PID: 40, PIDStart: 1000, SessionID: "s3"}, 0},
		"process of another host":     {daemon.HookInput{PID: 30, PIDStart: 1000}, 0},
		"session":                     {daemon.HookInput{PID: 20, SessionID: "s1"}, person.ID},
		"session of an ended agent":   {daemon.HookInput{SessionID: "s3"}, gone.ID},
		"session of another host":     {daemon.HookInput{SessionID: "s2"}, 0},
		"neither process nor session": {daemon.HookInput{}, 0},
	} {
		tt.in.Key, tt.in.Event, tt.in.Host = name, "Stop", "h1"
		res, tx := RecordHook(t, st, tt.in, nil)
		if res.AgentID != tt.want || (tx.Agent == nil) != (tt.want == 0) || (tx.NewAgentID == 0) != (tt.want != 0) {
			t.Errorf("%s: agent %d, want %d (%+v)", name, res.AgentID, tt.want, tx)
		}
	}
}

func hookIsStoredOnce(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	for name, hash := range map[string][]byte{"of an agent": []byte("l"), "of nobody": []byte("x")} {
		t.Run(name, func(t *testing.T) {
			in := Input(name)
			in.LaunchHash = hash
			var wg sync.WaitGroup
			var first atomic.Int64
			for range 16 {
				wg.Go(func() {
					res, err := st.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
						if tx.Again {
							return daemon.HookDecision{}
						}
						d := daemon.HookDecision{Applied: true, Change: daemon.Change{Events: []*event.Event{{Type: event.Type(name), Host: "h1"}}}}
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
			events := result(st.Events(t.Context(), event.Filter{Types: []string{name}}))(t)
			if n := len(events); first.Load() != 1 || n != 1 {
				t.Errorf("stored %d times, with %d events", first.Load(), n)
			}
		})
	}
	got := result(st.Agent(t.Context(), a.ID))(t)
	if got.Rev != a.Rev+1 {
		t.Errorf("the agent was written %d times", got.Rev-a.Rev)
	}
}

func agentRegistersItselfOnce(t *testing.T, st daemon.Store) {
	var wg sync.WaitGroup
	var owned atomic.Int64
	for i := range 8 {
		in := Input(fmt.Sprint("k", i))
		in.PID, in.PIDStart = 77, 5
		wg.Go(func() {
			res, err := st.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
				if tx.Agent != nil {
					tx.Agent.LastHook = tx.HookID
					return daemon.HookDecision{Applied: true, Change: daemon.Change{Agents: []*daemon.Agent{tx.Agent}}}
				}
				return daemon.HookDecision{Applied: true, Change: daemon.Change{NewAgent: &daemon.Agent{
					ID: tx.NewAgentID, Host: "h1", State: daemon.Idle,
					AgentPane: daemon.AgentPane{PID: 77, PIDStart: 5,
						TmuxSession: fmt.Sprint("foreign-", tx.NewAgentID)}, CreatedAt: now(),
				}}}
			})
			if err != nil {
				t.Errorf("%+v, %v", res, err)
			}
			if again, err := st.RecordHook(t.Context(), in, func(daemon.HookTx) daemon.HookDecision { return daemon.HookDecision{} }); err == nil &&
				again.Again && again.AgentID == res.AgentID && res.AgentID != 0 {
				owned.Add(1)
			}
		})
	}
	wg.Wait()
	if agents, hooks := len(everything(t, st).Agents), owned.Load(); agents != 1 || hooks != 8 {
		t.Errorf("%d agents, %d hooks of theirs", agents, hooks)
	}
}

func hooksOfAnAgentAreAppliedInTheOrderOfTheirIDs(t *testing.T, st daemon.Store) {
	NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	var wg sync.WaitGroup
	var last atomic.Int64 // changed in decide, which runs under the agent's row lock
	for w := range 16 {
		wg.Go(func() {
			for i := range 10 {
				in := Input(fmt.Sprint(w, ".", i))
				in.LaunchHash = []byte("l")
				_, err := st.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
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

func hookThatFailsLeavesNothing(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	before := everything(t, st)
	var id int64
	_, err := st.RecordHook(t.Context(), Input("k"), func(tx daemon.HookTx) daemon.HookDecision {
		id = tx.HookID
		stale := *a
		stale.Rev--
		return daemon.HookDecision{Change: daemon.Change{Agents: []*daemon.Agent{&stale}, Events: []*event.Event{{Type: "t", Host: "h1"}}}}
	})
	if !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("%v, want ErrMoved", err)
	}
	equal(t, "what is left", everything(t, st), before)
	if hook, err := st.StoredHook(t.Context(), id); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("the hook was stored: %+v, %v", hook, err)
	}
	if _, tx := RecordHook(t, st, Input("k"), nil); tx.Again {
		t.Error("its key was kept")
	}
}

// NastyJSON has values that jsonb refuses, or with which it would do harm.
var NastyJSON = []string{
	``, `null`, `{"a": "b"}`, `{"a": "\u0000"}`, `{"\u0000": "\\u0000 \\\u0000"}`, `"\ud800"`, `"\ud800\ud800"`, `"\udc00\ud800"`,
	`"\ud83d\ude00"`, `"\ud83d\u0041"`, "{\"a\": \"\xff\"}", "\"\x00\"", "not JSON", "{\"a\": \x00}", `{"a": 1`, `{"a": 1e999999999}`,
	`{"a": -1.5E-999999}`, `1e400000`, "[" + strings.Repeat("1", 2000) + "]", strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	`{"a": "1e999999 [[[["}`, `"\\"`, `"\""`, `[1e10, -2.5, {"x": 0}]`,
}
