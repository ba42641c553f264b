package api

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

func TestGuardOfTCP(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	_, port, err := net.SplitHostPort(h.tcp)
	must(t, err)
	for _, row := range []struct {
		what, name, value string
		status            int
		code              string
	}{
		{"plain", "X-Nothing", "", 200, ""},
		{"localhost", "Host", "localhost:" + port, 200, ""},
		{"LOCALHOST without a port", "Host", "LocalHost", 200, ""},
		{"IPv6", "Host", "[::1]:" + port, 200, ""},
		{"forwarded port", "Host", "127.0.0.1:8080", 200, ""},
		{"rebound name", "Host", "evil.example:" + port, 403, "foreign_host"},
		{"name that begins like ours", "Host", "localhost.evil.example", 403, "foreign_host"},
		{"name that ends like ours", "Host", "evil.localhost", 403, "foreign_host"},
		{"other address of loopback", "Host", "127.0.0.2", 403, "foreign_host"},
		{"own origin", "Origin", "http://" + h.tcp, 200, ""},
		{"foreign origin", "Origin", "http://evil.example", 403, "foreign_origin"},
		{"origin of another port", "Origin", "http://127.0.0.1:1", 403, "foreign_origin"},
		{"origin of a file", "Origin", "null", 403, "foreign_origin"},
		{"origin of an extension", "Origin", "x-extension://" + h.tcp, 403, "foreign_origin"},
		{"empty origin", "Origin", "", 403, "foreign_origin"},
		{"no page", "Sec-Fetch-Site", "none", 200, ""},
		{"own page", "Sec-Fetch-Site", "same-origin", 200, ""},
		{"page of another port", "Sec-Fetch-Site", "same-site", 403, "foreign_origin"},
		{"foreign page", "Sec-Fetch-Site", "cross-site", 403, "foreign_origin"},
		{"no token", "Authorization", "", 401, "token_required"},
		{"wrong token", "Authorization", "Bearer x" + h.token[1:], 401, "token_required"},
		{"part of the token", "Authorization", "Bearer " + h.token[:63], 401, "token_required"},
		{"longer token", "Authorization", "Bearer " + h.token + "x", 401, "token_required"},
		{"bare token", "Authorization", h.token, 401, "token_required"},
		{"other scheme", "Authorization", "Basic " + h.token, 401, "token_required"},
	} {
		// The path does not matter, because the guard refuses the request before it is routed.
		for _, path := range []string{"/api/agents", "/healthz", "/no/such/thing", "/hooks/Stop"} {
			got := h.tcpDoor().with(row.name, row.value).do("GET", path, "")
			switch {
			case row.code != "":
				got.wants(t, row.what+" at "+path, row.status, row.code)
			case got.status == 401 || got.status == 403:
				t.Errorf("%s at %s: refused with %s", row.what, path, got.body)
			}
		}
	}
	equal(t, "401 without WWW-Authenticate", h.tcpDoor().with("Authorization", "").do("GET", "/healthz", "").header.Get("WWW-Authenticate"), "Bearer")
}

// TestNamesOfTheOperator: a name of the settings is ours as well, and every other name is still refused.
func TestNamesOfTheOperator(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) {
		s.Hosts, s.PublicURL = append(LoopbackNames(), "desk.tailnet.ts.net"), "https://desk.tailnet.ts.net"
	})
	for name, status := range map[string]int{
		"desk.tailnet.ts.net": 200, "Desk.Tailnet.TS.net:443": 200, "localhost": 200,
		"evil.example": 403, "tailnet.ts.net": 403, "x.desk.tailnet.ts.net": 403, "desk.tailnet.ts.net.evil.example": 403, "127.0.0.2": 403,
	} {
		d := h.tcpDoor().with("Host", name)
		equal(t, name, d.do("GET", "/api/agents", "").status, status)
	}
	d := h.tcpDoor().with("Host", "desk.tailnet.ts.net")
	d.with("Origin", "https://desk.tailnet.ts.net").ok("GET", "/api/agents", "")
	d.with("Origin", "https://evil.example").do("GET", "/api/agents", "").wants(t, "foreign origin", 403, "foreign_origin")
	d.with("Authorization", "").do("GET", "/api/agents", "").wants(t, "no token", 401, "token_required")
	link := value(h.client.DashboardLink(t.Context(), LinkFor{}))(t)
	local, key, _ := strings.Cut(link.URL, "/login?")
	if link.PublicURL == nil || *link.PublicURL != "https://desk.tailnet.ts.net/login?"+key || local != "http://"+h.tcp {
		t.Errorf("link %+v", link)
	}
	for host, secure := range map[string]bool{"desk.tailnet.ts.net": true, "127.0.0.1": false} {
		link := value(h.client.DashboardLink(t.Context(), LinkFor{}))(t)
		_, key, _ := strings.Cut(link.URL, "key=")
		got := h.tcpDoor().with("Authorization", "").with("Host", host).do("POST", "/login", `{"key": "`+key+`"}`)
		if cookie := got.header.Get("Set-Cookie"); got.status != 201 || cookie == "" || strings.Contains(cookie, "Secure") != secure {
			t.Errorf("%s: %d, cookie %q", host, got.status, cookie)
		}
	}
}

func TestServerWithoutTokenLetsNobodyIn(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.Token = "" })
	for _, value := range []string{"", "Bearer", "Bearer "} {
		h.tcpDoor().with("Authorization", value).do("GET", "/healthz", "").wants(t, value, 401, "token_required")
	}
}

func TestUnixSocketNeedsNoToken(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	for _, d := range []door{h.mainDoor(), h.mainDoor().with("Host", "anything"), h.mainDoor().with("Authorization", "Bearer x")} {
		d.ok("GET", "/api/agents", "")
	}
}

func TestHookSocket(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug := h.persona()
	plays := func(a *daemon.Agent) { a.Persona = &slug }
	mine, other, over := h.launched("mine", "s-1", plays), h.launched("other", "s-2", plays), h.launched("over", "s-3", ended)
	plain := h.hookDoor()
	own := plain.with(launchHeader, "mine")

	// What agents may use is named here, so that nobody gives them a route by mistake. The hook socket answers 404 to every
	// route that only the main socket has, whatever the request.
	var has []string
	paths := map[string]bool{}
	for _, r := range h.server.hookRoutes() {
		has = append(has, r.method+" "+strings.TrimPrefix(r.path, "/api/agents/:id"))
		paths[r.path] = true
	}
	equal(t, "what agents may use", has, []string{"POST /hooks/:event", "POST /handoff", "GET /handoff", "DELETE /handoff", "POST /messages", "GET /messages",
		"POST /context", "GET /peers", "POST /peers/messages"})
	for _, r := range h.server.routes() {
		if slices.Contains(has, r.method+" "+strings.TrimPrefix(r.path, "/api/agents/:id")) {
			continue
		}
		got := own.do(r.method, filled(r.path, mine.ID, slug), "")
		if want := 404; got.status != want && (got.status != 405 || !paths[r.path]) {
			t.Errorf("%s %s on the hook socket: %d %s", r.method, r.path, got.status, got.body)
		}
	}
	for path, methods := range map[string]string{"/handoff": "GET POST DELETE", "/messages": "GET POST", "/context": "POST", "/peers": "GET", "/peers/messages": "POST"} {
		for method := range strings.FieldsSeq(methods) {
			what := method + " " + path
			body := ""
			if method == "POST" {
				body = `{"nonsense": 1}` // must not matter, because the guard comes first
			}
			plain.do(method, at("agents", mine.ID, path), body).wants(t, what+" without a secret", 401, "launch_required")
			plain.with(launchHeader, "nobody's").do(method, at("agents", mine.ID, path), body).wants(t, what+" with a wrong secret", 401, "unknown_launch")
			own.do(method, at("agents", other.ID, path), body).wants(t, what+" of another", 403, "not_your_agent")
			own.do(method, at("agents", 9999, path), body).wants(t, what+" of nobody", 403, "not_your_agent")
			own.do(method, "/api/agents/x"+path, body).wants(t, what+" of x", 400, "invalid_id")
			plain.with(launchHeader, "over").do(method, at("agents", over.ID, path), body).wants(t, what+" after the end", 403, "launch_over")
		}
	}
	own.ok("POST", at("agents", mine.ID, "/messages"), `{"text": "note to self"}`)
	for _, text := range []string{"!touch x", "/permissions", "note to self"} {
		body := `{"command": true, "text": "` + text + `"}`
		own.do("POST", at("agents", mine.ID, "/messages"), body).wants(t, "command "+text, 403, "operator_only")
	}
	for _, text := range []string{"!touch x", "/permissions", "exit"} {
		own.do("POST", at("agents", mine.ID, "/messages"), `{"text": "`+text+`"}`).wants(t, "text "+text, 422, "text_is_command")
	}
	own.ok("GET", at("agents", mine.ID, "/messages"), "")
	for _, method := range []string{"POST", "GET", "DELETE"} {
		own.ok(method, at("agents", mine.ID, "/handoff"), "")
	}
	// The server does not refuse a hook with an unknown secret: the domain stores it and decides.
	stale := plain.with(launchHeader, "nobody's").with(hookKeyHeader, hooks.NewKey(time.Now()))
	stale.ok("POST", "/hooks/Stop", `{"session_id": "x"}`)
}

// filled replaces the parameters of a path by values.
func filled(path string, id int64, slug string) string {
	return pathParam.ReplaceAllStringFunc(path, func(name string) string {
		return map[string]string{":id": fmt.Sprint(id), ":slug": slug, ":event": "Stop", ":name": "app.js", ":login": "nobody"}[name]
	})
}
