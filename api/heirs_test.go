package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/personas"
)

// TestHeirs: a request names its heirs in one of two ways, and each is checked.
func TestHeirs(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug := h.persona()
	other := must(h.client.CreatePersona(t.Context(), personas.New{Role: "reviewer", Name: "max"}))(t).Slug
	a := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug })
	here := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	path, local := at("agents", a.ID, "/handoff"), at("agents", here.ID, "/handoff")
	many := `{"persona": "` + other + `"}` + strings.Repeat(`, {}`, 8)
	for body, code := range map[string]string{
		`{"to_persona": 1}`:                           "invalid_field",
		`{"keep": "yes"}`:                             "invalid_field",
		`{"to": {}}`:                                  "invalid_field",
		`{"to": [1]}`:                                 "invalid_json",
		`{"to": [{"Persona": "a-b-1"}]}`:              "unknown_field",
		`{"to": [{"persona": true}]}`:                 "invalid_field",
		`{"to": [{}], "to_persona": "` + other + `"}`: "bad_heirs",
		`{"to": [` + many + `]}`:                      "bad_heirs",
		`{"to_persona": "--x"}`:                       "bad_persona",
		`{"model": "a b"}`:                            "bad_model",
		`{"runtime": "-x"}`:                           "bad_runtime",
		`{"permission_mode": "a\u0007"}`:              "bad_permission_mode",
	} {
		h.mainDoor().do("POST", path, body).wants(t, body, 400, code)
	}
	for body, code := range map[string]string{
		`{"force": true, "to_persona": "tester-nobody-9"}`:                           "unknown_persona",
		`{"force": true, "to": [{"persona": "` + other + `"}, {"runtime": "none"}]}`: "unknown_runtime",
		`{"force": true, "permission_mode": "sometimes"}`:                            "bad_permission_mode",
	} {
		h.mainDoor().do("POST", local, body).wants(t, body, 422, code)
	}
	begun := must(h.client.RequestHandoff(t.Context(), here.ID, handoffs.HandoffRequest{Force: true, Keep: true, Heirs: []daemon.Heir{
		{Persona: other, Model: "m"}, {PermissionMode: "plan"},
	}}))(t)
	got := must(h.client.Handoff(t.Context(), begun.HandoffID))(t)
	want := []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: other, Runtime: "claude", Model: "m"}}, {Heir: daemon.Heir{Persona: slug, Runtime: "claude", PermissionMode: "plan"}}}
	if !got.Keep || fmt.Sprintf("%+v", got.Heirs) != fmt.Sprintf("%+v", want) {
		t.Errorf("keep %v, heirs %+v, want %+v", got.Keep, got.Heirs, want)
	}
	// What stands beside the list holds for its members that do not say otherwise.
	body := `{"force": true, "to": [{"model": "n"}, {"persona": "` + other + `"}], "model": "m"}`
	if answer := h.mainDoor().do("POST", path, body); answer.status != 200 {
		t.Fatalf("%d %s", answer.status, answer.body)
	}
	if heirs := must(h.client.LatestHandoff(t.Context(), a.ID))(t).Heirs; len(heirs) != 2 || heirs[0].Model != "n" || heirs[1].Model != "m" || heirs[1].Persona != other {
		t.Errorf("heirs %+v", heirs)
	}
}

// TestAgentsChooseTheirHeirsWithinTheSetting: an agent that asks for its own handoff may choose what handoff.targets allows,
// and never the permission mode. The operator may choose all.
func TestAgentsChooseTheirHeirsWithinTheSetting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		targets []string
		allowed []bool // of the requests below
	}{
		{nil, []bool{true, true, false, false, false, false}},
		{[]string{"tester-kit-1"}, []bool{true, true, false, true, true, false}},
		{[]string{"*"}, []bool{true, true, true, true, true, false}},
	} {
		h := build(t, func(s *Server) { s.Daemon.Settings().Handoff.Targets = tt.targets })
		slug := h.persona()
		other := must(h.client.CreatePersona(t.Context(), personas.New{Role: "reviewer", Name: "max"}))(t).Slug
		for i, in := range []handoffs.HandoffRequest{
			{},
			{Heirs: []daemon.Heir{{Persona: slug, Model: "m"}}},
			{Heirs: []daemon.Heir{{Persona: other}}},
			{Heirs: []daemon.Heir{{}, {}}},
			{Keep: true},
			{Heirs: []daemon.Heir{{PermissionMode: "bypassPermissions"}}},
		} {
			in.Force = true
			secret := fmt.Sprint("s", i)
			a := h.launched(secret, "session-"+secret, func(a *daemon.Agent) { a.Persona = &slug })
			own := NewAgentClient(h.hook, secret)
			_, err := own.RequestHandoff(t.Context(), a.ID, in)
			own.Close()
			if tt.allowed[i] != (err == nil) {
				t.Errorf("targets %q, request %d: %v, want it allowed: %v", tt.targets, i, err, tt.allowed[i])
			}
			if err == nil {
				continue
			}
			wantError(t, err, daemon.KindForbidden, "heir_not_allowed", "")
			if said := err.Error(); i < 5 && !strings.Contains(said, "handoff.targets") {
				t.Errorf("request %d: %s", i, said)
			}
			must(h.client.RequestHandoff(t.Context(), a.ID, in))(t)
		}
	}
}
