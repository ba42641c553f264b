package api

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

func TestPagesOfHandoffs(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug })
	begun := must(h.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true}))(t)
	for path, want := range map[string]string{
		at("agents", a.ID, ""): "/ui/personas/" + slug, "/personas": slug, "/personas/" + slug: "Generation 1", "/handoffs": at("handoffs", begun.HandoffID, ""),
		"/handoffs?status=&persona=": at("handoffs", begun.HandoffID, ""), "/handoffs?status=failed&persona=" + slug + "&before=9": "No handoff matches the filter",
		at("handoffs", begun.HandoffID, ""): "the daemon prepares it",
	} {
		path, want = "/ui"+strings.TrimPrefix(path, "/api"), strings.Replace(want, "/api/", "/ui/", 1)
		got := h.mainDoor().do("GET", path, "")
		if got.status != 200 || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %d, no %q in %s", path, got.status, want, got.body)
		}
	}
	h.mainDoor().do("GET", "/ui/handoffs?limit=1", "").wants(t, "limit", 400, "unknown_parameter")
}
