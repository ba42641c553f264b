package sim

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
)

// beginKeys lets an agent's pane take keys from a page.
func beginKeys(p *person, a *agent) (session string) {
	p.w.ok(p.ask(a.h, "begin keys", func(ctx context.Context, d *house.House) error {
		taken, err := d.Dialogs.BeginKeys(ctx, a.id, dialogs.KeysRequest{From: "browser"})
		session = taken.Session
		return err
	}))
	return session
}

// typeKeys types a batch of keys. A key is given as key:NAME, a text as itself.
func typeKeys(p *person, a *agent, session string, seq int, items ...string) (dialogs.KeysTyped, error) {
	in := dialogs.KeyBatch{Session: session, Seq: seq}
	for _, item := range items {
		if key, ok := strings.CutPrefix(item, "key:"); ok {
			in.Items = append(in.Items, dialogs.KeyItem{Key: key})
		} else {
			in.Items = append(in.Items, dialogs.KeyItem{Text: item})
		}
	}
	return request(p, a.h, "type keys", func(ctx context.Context, d *house.House) (dialogs.KeysTyped, error) {
		return d.Dialogs.TypeKeys(ctx, a.id, in, dialogs.KeysRequest{From: "browser"})
	})
}

// awaitKeysOff waits until the log says why the keys of an agent have ended for the n-th time.
func awaitKeysOff(p *person, a *agent, n int, why string) {
	p.await("the end of the keys: "+why, 10*time.Minute, func() bool {
		off := eventsOf(p, event.AgentKeysOff)
		return len(off) == n && strings.Contains(off[n-1].Words(), why) && p.row(a).Keys == nil
	})
}

// TestKeysAreTypedOnceAndInOrder: what a page types gets into the composer, each batch once. The log says who, for how long and how
// many, and never what.
func TestKeysAreTypedOnceAndInOrder(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := beginKeys(p, a)
		for i, batch := range [][]string{{"say he"}, {"lp; ", "$HOME"}} {
			for _, again := range []bool{false, true} {
				if got, err := typeKeys(p, a, s, i+1, batch...); err != nil || got.Repeated != again || got.Seq != i+1 {
					t.Errorf("again %t: %+v %v", again, got, err)
				}
			}
		}
		wantCode(t, errorOf(typeKeys(p, a, s, 4, "late")), daemon.CodeKeysOutOfOrder)
		wantCode(t, errorOf(typeKeys(p, a, s, 3, "key:Ctrl-C")), daemon.CodeBadKeys)
		p.w.ok(errorOf(typeKeys(p, a, s, 4, "key:Enter")))
		p.await("the prompt", time.Minute, func() bool { return p.row(a).Asked == "say help; $HOME" })
		p.w.ok(p.ask(h, "end keys", func(ctx context.Context, d *house.House) error {
			return errorOf(d.Dialogs.EndKeys(ctx, a.id, s, dialogs.KeysRequest{}))
		}))
		awaitKeysOff(p, a, 1, "the page turned it off; 16 keys")
		wantCode(t, errorOf(typeKeys(p, a, s, 5, "x")), daemon.CodeKeysOff)
		on, off := eventsOf(p, event.AgentKeysOn), eventsOf(p, event.AgentKeysOff)
		if len(on) != 1 || !strings.Contains(on[0].Words(), "browser") || strings.Contains(string(off[0].Payload), "help") {
			t.Errorf("%+v %+v", on, off)
		}
	}))
}

// TestKeysEndByThemselves: when no key comes, when the page goes, when another page takes over, when the daemon is restarted, and
// when the agent ends.
func TestKeysEndByThemselves(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := beginKeys(p, a)
		for range 4 * 60 / 5 { // an open page says something every few seconds
			p.wait("looks on", 5*time.Second, 5*time.Second)
			p.w.ok(errorOf(typeKeys(p, a, s, 0)))
		}
		p.wait("leaves", 10*time.Second, 10*time.Second)
		if p.row(a).Keys == nil {
			t.Error("they ended early")
		}
		awaitKeysOff(p, a, 1, "the page is gone; 0 keys")
		s = beginKeys(p, a)
		for range 70 {
			p.wait("looks on", 5*time.Second, 5*time.Second)
			if _, err := typeKeys(p, a, s, 0); err != nil {
				break
			}
		}
		awaitKeysOff(p, a, 2, "no key for 5 min")
		s = beginKeys(p, a)
		other := beginKeys(p, a)
		wantCode(t, errorOf(typeKeys(p, a, s, 1, "x")), daemon.CodeKeysOff)
		awaitOff := eventsOf(p, event.AgentKeysOff)
		if len(awaitOff) != 3 || !strings.Contains(awaitOff[2].Words(), "another page takes over") {
			t.Errorf("%+v", awaitOff)
		}
		p.w.ok(errorOf(typeKeys(p, a, other, 1, "y")))
		p.end(h)
		wantCode(t, errorOf(typeKeys(p, a, other, 1, "y")), daemon.CodeKeysOff)
		awaitKeysOff(p, a, 4, "the daemon was restarted")
		equal(t, "the composer has", a.composer.Text, "y")
		beginKeys(p, a)
		p.stop(h, a.id, true)
		awaitKeysOff(p, a, 5, "the agent has ended")
	}))
}

// TestKeysWaitForAnEnter: while the daemon may still press Enter for a text of its own, keys are not mixed with that text.
func TestKeysWaitForAnEnter(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := beginKeys(p, a)
		lost := p.w.failFirst(failed, 1, calls("Press "))
		message(p, h, a, "the daemon's own text")
		p.poll("the loss of an Enter", func() bool { return *lost > 0 })
		p.w.ok(errorOf(typeKeys(p, a, s, 1, "mine")))
		p.await("both", time.Minute, func() bool { return slices.Contains(a.given, "the daemon's own text") && a.composer.Text == "mine" })
	}))
}
