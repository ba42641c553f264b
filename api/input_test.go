package api

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
)

// everyRoute calls do with each route and its path, in which parameters are replaced by ids that exist.
func everyRoute(h *fixture, do func(r route, path string)) {
	slug := h.persona()
	agent := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug })
	handoff := h.asked(agent)
	run := h.pipeline(nil)
	for _, r := range h.server.routes() {
		id := agent.ID
		switch {
		case strings.HasPrefix(r.path, "/api/handoffs"):
			id = handoff
		case strings.Contains(r.path, "/pipelines"):
			id = run.ID
		}
		do(r, filled(r.path, id, slug))
	}
}

// unchanged checks that bad input to a route did not make the daemon type or store anything.
func unchanged(h *fixture, what string, before int64) {
	h.t.Helper()
	equal(h.t, what+" added an event to the log", value(h.store.LastEventID(h.t.Context()))(h.t), before)
}

func TestBadIDs(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	for _, r := range h.server.routes() {
		if !strings.Contains(r.path, ":id") {
			continue
		}
		for _, id := range []string{"0", "-1", "+1", "01", "1.0", "1e3", "x", "%31", "%00", "%ff", "9223372036854775808", "99999999999999999999999"} {
			path := strings.ReplaceAll(r.path, ":id", id)
			got := h.mainDoor().do(r.method, path, "")
			got.wants(t, r.method+" "+path, 400, "invalid_id")
			equal(t, path, got.shape(t, path).Error, "Id must be a positive integer")
		}
		door := h.mainDoor()
		if strings.HasSuffix(r.path, "/keys") { // which come over TCP only
			door = h.tcpDoor()
		}
		got := door.do(r.method, strings.ReplaceAll(r.path, ":id", "9223372036854775807"), requiredBody(r))
		equal(t, fmt.Sprintf("%s %s of the largest id", r.method, r.path), got.status, 404)
	}
}

// requiredBody returns a body that a route accepts.
func requiredBody(r route) string {
	switch r.method + " " + r.path {
	case "PATCH /api/agents/:id":
		return `{"persona": "developer-con-1"}`
	case "POST /api/agents/:id/messages":
		return `{"text": "hello"}`
	case "POST /api/agents/:id/seen":
		return `{"finished_at": "2026-01-02T03:04:05Z"}`
	case "POST /api/agents/:id/limit":
		return `{"do": "wait"}`
	case "POST /api/permissions/:id":
		return `{"verdict": "allow", "digest": "d"}`
	}
	return ""
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	before := int64(-1)
	everyRoute(h, func(r route, path string) {
		if before < 0 {
			before = value(h.store.LastEventID(t.Context()))(t)
		}
		bad := map[string]string{
			"?nonsense=1": "unknown_parameter", "?Limit=1": "unknown_parameter", "?=": "unknown_parameter",
			"?%zz": "invalid_parameter", "?a;b": "invalid_parameter",
		}
		values := map[string][]string{
			"limit":       {"", "0", "501", "-1", "x", "1.5", "99999999999999999999"},
			"before":      {"", "0", "-1", "x", "9223372036854775808"},
			"agent_id":    {"", "0", "x"},
			"pipeline_id": {"", "0", "-1", "x", "1.5"},
			"after":       {"", "-1", "x", "9223372036854775808"},
			"state":       {"", "dead", "Idle"},
			"status":      {"", "over", "Failed", "pending,failed"},
			"format":      {"", "png"},
			"archived":    {"", "1", "yes"},
			"types":       {",", "a,,b", "a%20b", "A", "%0a"},
			"persona":     {"%ff", "%00"},
			"template":    {"%ff", "%00"},
		}
		if strings.Contains(r.path, "/pipelines") {
			values["status"] = append(values["status"], "in_progress", "completed", "cancelled")
		} else {
			values["status"] = append(values["status"], "running", "waiting_for_approval", "done")
		}
		for _, name := range strings.Fields(r.params) {
			code := "invalid_parameter"
			if slices.Contains([]string{"before", "after", "agent_id", "pipeline_id"}, name) {
				code = "invalid_id"
			}
			for _, value := range values[name] {
				if value == "" && strings.HasPrefix(path, "/ui/") {
					continue // a form sends an empty text if nothing is chosen
				}
				bad["?"+name+"="+value] = code
			}
			if name != repeated {
				bad["?"+name+"=1&"+name+"=1"] = "invalid_parameter"
			}
		}
		for query, code := range bad {
			h.mainDoor().do(r.method, path+query, "").wants(t, r.method+" "+path+query, 400, code)
		}
	})
	unchanged(h, "bad parameters", before)
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	before := int64(-1)
	everyRoute(h, func(r route, path string) {
		if before < 0 {
			before = value(h.store.LastEventID(t.Context()))(t)
		}
		if r.method == "GET" || strings.HasPrefix(r.path, "/hooks/") {
			return
		}
		for body, code := range map[string]string{
			`{`: "invalid_json", `[]`: "invalid_json", `null`: "invalid_json", `"x"`: "invalid_json", `7`: "invalid_json",
			`{} {}`: "invalid_json", `{}x`: "invalid_json", `{'a': 1}`: "invalid_json", `{"a": 1,}`: "invalid_json", "\ufeff{}": "invalid_json",
			`{"nonsense": 1}`: "unknown_field", `{"": 1}`: "unknown_field",
			`{"Reason": "x", "Text": "x", "Force": true, "Persona": "x", "Role": "x", "Mode": "agent"}`: "unknown_field",
			"{\"reason\": \"\xff\"}": "invalid_utf8", "\xff": "invalid_utf8",
			strings.Repeat("[", 100_000): "invalid_json", `{"a":` + strings.Repeat("[", 100_000): "invalid_json",
		} {
			h.mainDoor().do(r.method, path, body).wants(t, r.method+" "+path+" with "+body[:min(len(body), 60)], 400, code)
		}
		large := `{"reason": "` + strings.Repeat("x", maxBody) + `"}`
		h.mainDoor().do(r.method, path, large).wants(t, r.method+" "+path, 413, "body_too_large")
	})
	unchanged(h, "bad bodies", before)
}

// TestWrongTypes: all bodies are read by one function, whose sentences scripts know.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	path := at("agents", h.agent(away).ID, "/messages")
	for _, row := range []struct {
		field, says string
		wrong       []string
	}{
		{"text", "a string", []string{"7", "true", "[]", "{}"}},
		{"command", "true or false", []string{"7", `"true"`, "[]", "{}"}},
	} {
		for _, value := range row.wrong {
			got := h.mainDoor().do("POST", path, `{"`+row.field+`": `+value+`}`)
			got.wants(t, value, 400, "invalid_field")
			equal(t, value, got.shape(t, path).Error, `Field "`+row.field+`" must be `+row.says)
		}
	}
}

func TestBadText(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	a := h.agent(nil)
	for _, text := range []string{`x\u001b[201~rm -rf`, `a\u0000b`, `\u0003`, `a\rb`, `\u009b201~`, ``, `  `} {
		got := h.mainDoor().do("POST", at("agents", a.ID, "/messages"), `{"text": "`+text+`"}`)
		got.wants(t, text, 400, "bad_text")
	}
	h.mainDoor().do("POST", at("agents", a.ID, "/messages"), "").wants(t, "no text", 400, "bad_text")
	h.mainDoor().do("PATCH", at("agents", a.ID, ""), "{}").wants(t, "no persona", 400, "invalid_field")
	h.mainDoor().do("POST", at("agents", a.ID, "/handoff"), `{"mode": "magic"}`).wants(t, "mode", 400, "bad_mode")
	equal(t, "typed", len(h.tmux.Inputs(a.Ref())), 0)
}

func TestRouting(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	for _, path := range []string{"/ui", "/ui/", "/api", "/api/", "/api/agents/", "/api/agents/1/nothing", "/pipelines//", "/api/pipelines/1/nothing", "/api/pipelines/1/abort/", "/templates", "/hooks", "/hooks/", "/healthz/x", "/%2e%2e/etc", "//api/agents"} {
		for _, method := range []string{"GET", "POST", "PURGE"} {
			h.mainDoor().do(method, path, "").wants(t, method+" "+path, 404, "not_found")
		}
	}
	for _, r := range h.server.routes() {
		path := filled(r.path, 1, "developer-con-1")
		got := h.mainDoor().do("MKCOL", path, "")
		got.wants(t, "MKCOL "+path, 405, "method_not_allowed")
		if allow := strings.Split(got.header.Get("Allow"), ", "); !slices.Contains(allow, r.method) || slices.Contains(allow, "MKCOL") {
			t.Errorf("MKCOL %s: Allow %q", path, allow)
		}
	}
}

// TestFaults passes faults of ours to the router itself, because no route has one.
func TestFaults(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := New(Config{House: house.New(engine.Config{}), Log: slog.New(slog.NewTextHandler(&log, nil))})
	e := s.router([]route{
		{"GET", "/panic", "", func(echo.Context) error { panic("secret of the house") }},
		{"GET", "/error", "", func(echo.Context) error { return errors.New("secret of the house") }},
		{"GET", "/told", "", func(echo.Context) error {
			return &daemon.Error{Kind: daemon.KindConflict, Code: "busy", Message: "It is busy", Cause: errors.New("secret of the house")}
		}},
		{"GET", "/late", "", func(c echo.Context) error {
			_ = c.String(http.StatusOK, "half an ans")
			return errors.New("secret of the house")
		}},
	})
	for path, want := range map[string]struct {
		status int
		body   string
		logged int
	}{
		"/panic": {500, `{"error":"` + errInternal.Message + `","code":"internal"}` + "\n", 1},
		"/error": {500, `{"error":"` + errInternal.Message + `","code":"internal"}` + "\n", 1},
		"/told":  {409, `{"error":"It is busy","code":"busy"}` + "\n", 0},
		"/late":  {200, "half an ans", 1},
	} {
		log.Reset()
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want.status || w.Body.String() != want.body {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
		equal(t, path, strings.Count(log.String(), "secret of the house"), want.logged)
	}
	log.Reset()
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/panic", nil))
	holds(t, "the stack of a panic in the log", log.String(), "TestFaults")
}

// TestOwnFieldsAreNotDecoded: a field of a request that has no name on the wire is the daemon's own, whatever a body calls it.
func TestOwnFieldsAreNotDecoded(t *testing.T) {
	t.Parallel()
	var in struct {
		Named  string `json:"named"`
		Sender string
		Origin string `json:"-"`
	}
	for _, body := range []string{`{"": "x"}`, `{"-": "x"}`, `{"Sender": "x"}`, `{"Origin": "x"}`} {
		if err := decodeObject([]byte(body), &in); !strings.Contains(fmt.Sprint(err), "is not known here") || in.Sender+in.Origin != "" {
			t.Errorf("%s: %v, %+v", body, err, in)
		}
	}
}
