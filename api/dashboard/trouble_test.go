package dashboard

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
)

// TestTroubleNeedsYou: an agent whose turn failed needs a person, until it begins another turn.
func TestTroubleNeedsYou(t *testing.T) {
	t.Parallel()
	h := build(t)
	fails := func(a *daemon.Agent) {
		a.Trouble = &daemon.Trouble{Code: "usage_limit", Message: "You've hit your limit", Since: h.now.Add(-time.Hour)}
	}
	a := h.agent(fails)
	h.agent(func(a *daemon.Agent) { fails(a); a.State = daemon.Working })
	page, err := h.Home(t.Context())
	doc, _ := drawn(t, page, err)
	if page.Needs != 1 {
		t.Errorf("%d need somebody, want one", page.Needs)
	}
	id := idWatch("", a.ID)[1:]
	wantText(t, doc, "needs", "its turns fail: usage_limit: You've hit your limit", "60 min", "understudy agent attach "+id)
	page, err = h.Agent(t.Context(), a.ID, pictures.Day)
	doc, _ = drawn(t, page, err)
	wantText(t, doc, "main", "usage_limit: You've hit your limit", "understudy agent send "+id)
}
