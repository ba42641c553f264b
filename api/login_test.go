package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// browser is the door of a browser that was not signed in.
func (h *house) browser() door {
	return h.tcpDoor().with("Authorization", "").with("Accept", "text/html")
}

// keyIn is the key that a page gives to the browser.
func keyIn(body []byte) string {
	_, after, _ := strings.Cut(string(body), `data-key="`)
	key, _, _ := strings.Cut(after, `"`)
	return key
}

// signIn opens a fresh link and returns the cookie and the key that the browser got.
func signIn(t *testing.T, h *house) (cookie, key string) {
	t.Helper()
	link := must(h.server.DashboardLink())(t)
	u := must(url.Parse(link.URL))(t)
	got := h.browser().do("GET", u.RequestURI(), "")
	cookie, key = got.header.Get("Set-Cookie"), keyIn(got.body)
	if got.status != 200 || key == "" || cookie == "" {
		t.Fatalf("link: %d %s, cookie %q", got.status, got.body, cookie)
	}
	for _, flag := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, flag) {
			t.Errorf("cookie without %s: %s", flag, cookie)
		}
	}
	if strings.Contains(cookie, key) || strings.Contains(key, h.token) || strings.Contains(cookie, h.token) || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie: %s", cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if _, port, _ := strings.Cut(h.tcp, ":"); !strings.HasPrefix(cookie, "understudy_"+port+"=") { // cookies know no ports
		t.Errorf("cookie %s does not name port %s", cookie, port)
	}
	return cookie, key
}

func TestLinkOpensTheDashboardOnce(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	link := must(h.server.DashboardLink())(t)
	if !strings.HasPrefix(link.URL, "http://"+h.tcp+"/login?key=") || time.Until(link.ExpiresAt) > time.Hour {
		t.Errorf("link %s until %s", link.URL, link.ExpiresAt)
	}
	path := strings.TrimPrefix(link.URL, "http://"+h.tcp)
	// A browser that fetches ahead must not use it up.
	if got := h.browser().with("Sec-Purpose", "prefetch;prerender").do("GET", path, ""); got.status != 503 || got.header.Get("Set-Cookie") != "" {
		t.Errorf("prefetch: %d, cookie %q", got.status, got.header.Get("Set-Cookie"))
	}
	// From a file or another site: the key is what counts.
	first := h.browser().with("Sec-Fetch-Site", "cross-site").do("GET", path, "")
	if first.status != 200 || first.header.Get("Set-Cookie") == "" {
		t.Errorf("first: %d %s", first.status, first.body)
	}
	second := h.browser().do("GET", path, "")
	if second.status != 401 || second.header.Get("Set-Cookie") != "" || !strings.Contains(string(second.body), "understudy dashboard") {
		t.Errorf("second: %d %s", second.status, second.body)
	}
	cookie, _, _ := strings.Cut(first.header.Get("Set-Cookie"), ";")
	again := h.browser().with("Cookie", cookie).do("GET", path, "")
	if again.status != 200 || keyIn(again.body) != "" {
		t.Errorf("a browser that is signed in: %d, key %q", again.status, keyIn(again.body))
	}
	for _, key := range []string{"", "?key=", "?key=ABC", "?key=" + strings.Repeat("A", 26)} {
		if got := h.browser().do("GET", "/login"+key, ""); got.status != 401 || got.header.Get("Set-Cookie") != "" {
			t.Errorf("key %q: %d", key, got.status)
		}
	}
}

func TestLinkExpires(t *testing.T) {
	t.Parallel()
	var l links
	now := time.Now()
	key, expires := l.add(now)
	if l.take(key, expires) {
		t.Error("taken at its end")
	}
	if key, _ = l.add(now); !l.take(key, now.Add(linkLife-time.Second)) || l.take(key, now) {
		t.Error("a key is good until its end, once")
	}
	for range 5 {
		l.add(now)
	}
	if l.add(expires.Add(time.Second)); len(l.keys) != 1 {
		t.Errorf("%d keys are kept of which one is good", len(l.keys))
	}
}

// TestCookie: cookie and key together are as good as the token, either alone is nothing.
func TestCookie(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	a := h.agent(func(a *daemon.Agent) { a.Name = "needle-in-the-page" })
	cookie, key := signIn(t, h)
	both := h.browser().with("Cookie", cookie).with(keyHeader, key)
	for _, path := range []string{"/", "/ui/pipelines", "/ui/settings", fmt.Sprintf("/ui/agents/%d", a.ID), "/api/agents", "/api/audit", "/metrics"} {
		page := isPage(&http.Request{Method: "GET", URL: &url.URL{Path: path}})
		if got := both.do("GET", path, ""); got.status != 200 || path == "/" && !strings.Contains(string(got.body), a.Name) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		got := h.browser().with("Cookie", cookie).do("GET", path, "")
		if want := map[bool]int{true: 200, false: 401}[page]; got.status != want || strings.Contains(string(got.body), a.Name) {
			t.Errorf("%s with the cookie alone: %d %s", path, got.status, got.body)
		}
		for what, d := range map[string]door{"the key alone": h.browser().with(keyHeader, key), "neither": h.browser()} {
			if got := d.do("GET", path, ""); got.status != 401 || page != strings.Contains(string(got.body), "understudy dashboard") {
				t.Errorf("%s with %s: %d %s", path, what, got.status, got.body)
			}
		}
	}
	others := "understudy=x; " + strings.SplitN(cookie, "=", 2)[0] + "=shadow; "
	if got := both.with("Cookie", others+cookie).do("GET", "/api/agents", ""); got.status != 200 {
		t.Errorf("beside a cookie of another port: %d", got.status)
	}
	name, value, _ := strings.Cut(cookie, "=")
	expires, signature, _ := strings.Cut(value, ".")
	later, err := strconv.ParseInt(expires, 10, 64)
	check(t, err)
	past := strconv.FormatInt(time.Now().Unix()-1, 10)
	for what, forged := range map[string]string{
		"empty":                name + "=",
		"no signature":         name + "=" + expires,
		"another end":          fmt.Sprintf("%s=%d.%s", name, later+1, signature),
		"another signature":    name + "=" + expires + "." + signature[1:] + "A",
		"of another port":      "understudy_1=" + value,
		"that has ended":       name + "=" + past + "." + h.server.signature("cookie until "+past),
		"the token":            name + "=" + h.token,
		"signed for no time":   name + "=." + h.server.signature("cookie until "),
		"signed for no number": name + "=x." + h.server.signature("cookie until x"),
	} {
		for _, path := range []string{"/api/agents", "/"} {
			if got := h.browser().with("Cookie", forged).with(keyHeader, key).do("GET", path, ""); got.status != 401 {
				t.Errorf("%s at %s: %d", what, path, got.status)
			}
		}
	}
}

// TestCookieOfAForeignPage has pages of others try with the browser's cookie.
func TestCookieOfAForeignPage(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	cookie, key := signIn(t, h)
	alone := h.tcpDoor().with("Authorization", "").with("Cookie", cookie)
	both := alone.with(keyHeader, key)
	do := func(d door) answer { return d.do("PUT", "/api/notifications/preferences", `{"errors":true}`) }
	if got := do(both.with("Origin", "http://"+h.tcp)); got.status != 200 {
		t.Errorf("our page: %d %s", got.status, got.body)
	}
	do(alone.with("Origin", "http://"+h.tcp)).wants(t, "whoever got the cookie", 401, "token_required")
	do(alone.with(keyHeader, key[1:]+"A")).wants(t, "with a wrong key", 401, "token_required")
	do(both.with("Origin", "http://evil.example")).wants(t, "another site", 403, "foreign_origin")
	do(both.with("Origin", "http://127.0.0.1:1")).wants(t, "another port", 403, "foreign_origin")
	do(both.with("Sec-Fetch-Site", "same-site")).wants(t, "another port, of an old browser", 403, "foreign_origin")
}

// TestCookieIsRenewed has a browser that is used stay signed in.
func TestCookieIsRenewed(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	cookie, key := signIn(t, h)
	name, _, _ := strings.Cut(cookie, "=")
	for left, want := range map[time.Duration]bool{cookieLife/2 - time.Minute: true, cookieLife/2 + time.Minute: false} {
		expires := strconv.FormatInt(time.Now().Add(left).Unix(), 10)
		got := h.browser().with(keyHeader, key).with("Cookie", name+"="+expires+"."+h.server.signature("cookie until "+expires)).do("GET", "/", "")
		if got.status != 200 || (got.header.Get("Set-Cookie") != "") != want {
			t.Errorf("with %s left: %d, cookie %q", left, got.status, got.header.Get("Set-Cookie"))
		}
	}
}

func TestNoDashboardWithoutAddress(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.Address = nil })
	h.mainDoor().do("POST", "/api/dashboard/links", "").wants(t, "link", 409, "no_address")
	// The hook socket has no way to it.
	for _, path := range []string{"/", "/login", "/ui/settings"} {
		h.hookDoor().do("GET", path, "").wants(t, path, 404, "not_found")
	}
	h.hookDoor().do("POST", "/api/dashboard/links", "").wants(t, "link", 404, "not_found")
}

func TestPagesKeepTheirPolicy(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	if link := must(h.client.DashboardLink(t.Context()))(t); !strings.Contains(link.URL, "/login?key=") {
		t.Errorf("link %q", link.URL)
	}
	run := h.pipeline(nil)
	for _, path := range []string{"/ui/log?q=x&kind=agent&agent=&since=24", fmt.Sprintf("/ui/pipelines/%d", run.ID)} {
		if got := h.mainDoor().do("GET", path, ""); got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/", "/ui/nothing", "/ui/pipelines/99", "/login", "/ui/static/worker.js"} {
		got := h.mainDoor().with("Accept", "text/html").do("GET", path, "")
		policy := got.header.Get("Content-Security-Policy")
		if path != "/ui/nothing" && !strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: %d, policy %q", path, got.status, policy)
		}
	}
	f := h.mainDoor().do("GET", "/ui/static/app.js", "")
	if f.header.Get("Content-Type") != "text/javascript; charset=utf-8" || f.header.Get("Etag") == "" {
		t.Errorf("app.js: %v", f.header)
	}
	if got := h.mainDoor().with("If-None-Match", f.header.Get("Etag")).do("GET", "/ui/static/app.js", ""); got.status != http.StatusNotModified {
		t.Errorf("app.js again: %d", got.status)
	}
	h.mainDoor().do("GET", "/ui/static/..%2fdoc.go", "").wants(t, "a file beside", 404, "not_found")
}
