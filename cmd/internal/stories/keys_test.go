package stories

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/tmux"
)

func texts(list ...string) (items []dialogs.KeyItem) {
	for _, s := range list {
		if key, ok := strings.CutPrefix(s, "key:"); ok {
			items = append(items, dialogs.KeyItem{Key: key})
		} else {
			items = append(items, dialogs.KeyItem{Text: s})
		}
	}
	return items
}

func typeKeys(r *rig, agentID int64, session string, seq int, items ...string) (dialogs.KeysTyped, error) {
	return r.client.TypeKeys(r.t.Context(), agentID, dialogs.KeyBatch{Session: session, Seq: seq, Items: texts(items...)})
}

func beginKeys(r *rig, agentID int64) string {
	r.t.Helper()
	k, err := r.client.BeginKeys(r.t.Context(), agentID)
	if err != nil {
		r.t.Fatal(err)
	}
	return k.Session
}

func awaitKeysOff(r *rig, agentID int64, n int, why string) {
	r.t.Helper()
	r.await("the end of the keys: "+why, func() (bool, string) {
		off := r.agentEvents(agentID, "agent_keys_off")
		return len(off) == n && strings.Contains(off[n-1].Words(), why) && r.getAgent(agentID).Keys == nil, fmt.Sprintf("%+v", off)
	})
}

// TestKeysAreTypedOnceAndInOrder: what a page types gets into the composer, each batch once. The log says who, for how long and how
// many, and never what.
func TestKeysAreTypedOnceAndInOrder(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		_, err := typeKeys(r, a.ID, "none", 1, "x")
		wantCode(t, err, daemon.CodeKeysOff)
		s := beginKeys(r, a.ID)
		if k := r.getAgent(a.ID).Keys; k == nil || k.From == "" {
			t.Errorf("%+v", k)
		}
		for i, batch := range [][]string{{"say he"}, {"lp; ", "$HOME"}, {"key:Backspace", "key:Backspace", "key:Backspace", "key:Backspace", "key:Backspace"}} {
			if got, err := typeKeys(r, a.ID, s, i+1, batch...); err != nil || got.Repeated || got.Seq != i+1 {
				t.Errorf("%+v %v", got, err)
			}
			if got, err := typeKeys(r, a.ID, s, i+1, batch...); err != nil || !got.Repeated {
				t.Errorf("the same batch again: %+v %v", got, err)
			}
		}
		_, err = typeKeys(r, a.ID, s, 5, "late")
		wantCode(t, err, daemon.CodeKeysOutOfOrder)
		for _, bad := range [][]string{{"key:C-d"}, {"key:Ctrl-D"}, {"key:Ctrl-Z"}, {"a\nb"}, {"\x1b[A"}, {strings.Repeat("x", 1001)}, {"key:"}} {
			_, err = typeKeys(r, a.ID, s, 4, bad...)
			wantCode(t, err, daemon.CodeBadKeys)
		}
		_, err = typeKeys(r, a.ID, s, 4, "key:Ctrl-C") // it is idle, and could end
		wantCode(t, err, daemon.CodeBadKeys)
		r.awaitShown(a.ID, "❯\u00a0say help;\n")
		if _, err = typeKeys(r, a.ID, s, 5, "key:Enter"); err != nil {
			t.Error(err)
		}
		r.await("its prompt", func() (bool, string) { return r.getAgent(a.ID).Asked == "say help;", r.getAgent(a.ID).Asked })
		if _, err := r.client.EndKeys(t.Context(), a.ID, s); err != nil {
			t.Error(err)
		}
		awaitKeysOff(r, a.ID, 1, "the page turned it off; 21 keys")
		_, err = typeKeys(r, a.ID, s, 6, "x")
		wantCode(t, err, daemon.CodeKeysOff)
		on, off := r.agentEvents(a.ID, "agent_keys_on"), r.agentEvents(a.ID, "agent_keys_off")
		if len(on) != 1 || !strings.Contains(on[0].Words(), "browser") || strings.Contains(string(off[0].Payload), "help") {
			t.Errorf("%+v %+v", on, off)
		}
	})
}

// TestKeysEndByThemselves: when no key comes, when the page goes, when another page takes over, when the daemon is restarted, and
// when the agent ends.
func TestKeysEndByThemselves(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		s := beginKeys(r, a.ID)
		for range 4 * 60 / 5 { // an open page says something every few seconds
			pass(5 * time.Second)
			if _, err := typeKeys(r, a.ID, s, 0); err != nil {
				t.Fatal(err)
			}
		}
		pass(10 * time.Second)
		if r.getAgent(a.ID).Keys == nil {
			t.Error("they ended early")
		}
		awaitKeysOff(r, a.ID, 1, "the page is gone; 0 keys")
		s = beginKeys(r, a.ID)
		for range 60 {
			pass(5 * time.Second)
			if _, err := typeKeys(r, a.ID, s, 0); err != nil {
				break
			}
		}
		awaitKeysOff(r, a.ID, 2, "no key for 5 min")
		s = beginKeys(r, a.ID)
		other := beginKeys(r, a.ID)
		_, err := typeKeys(r, a.ID, s, 1, "x")
		wantCode(t, err, daemon.CodeKeysOff)
		if off := r.agentEvents(a.ID, "agent_keys_off"); len(off) != 3 || !strings.Contains(off[2].Words(), "another page takes over") {
			t.Errorf("%+v", off)
		}
		if _, err := typeKeys(r, a.ID, other, 1, "y"); err != nil {
			t.Error(err)
		}
		r.halt()
		r.start()
		_, err = typeKeys(r, a.ID, other, 1, "y") // it may have been typed
		wantCode(t, err, daemon.CodeKeysOff)
		awaitKeysOff(r, a.ID, 4, "the daemon was restarted")
		r.awaitShown(a.ID, "❯\u00a0y\n")
		beginKeys(r, a.ID)
		r.stopAgent(a.ID, true)
		awaitKeysOff(r, a.ID, 5, "the agent has ended")
	})
}

// TestKeysWaitForAnEnter: while the daemon may still press Enter for a text of its own, which the CLI has not taken yet, keys are not
// mixed with that text.
func TestKeysWaitForAnEnter(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var loses atomic.Bool
		lost := make(chan struct{})
		r.bendWith(&bend{keys: func(_ []tmux.Key, do func() error) error {
			if loses.CompareAndSwap(true, false) {
				close(lost)
				return nil
			}
			return do()
		}}).start()
		a := r.startAgent(con)
		s := beginKeys(r, a.ID)
		loses.Store(true)
		r.sendMessage(a.ID, "the daemon's own text")
		<-lost
		if _, err := typeKeys(r, a.ID, s, 1, "mine"); err != nil {
			t.Error(err)
		}
		r.wantTold(a.ID, "the daemon's own text")
		r.awaitShown(a.ID, "❯\u00a0mine\n")
	})
}

// TestKeysCanBeForbidden: by a setting, for all agents.
func TestKeysCanBeForbidden(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Dashboard.Keys = false
		r.start()
		a := r.startAgent(con)
		_, err := r.client.BeginKeys(t.Context(), a.ID)
		wantCode(t, err, daemon.CodeKeysForbidden)
	})
}
