package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// browser is the door of a browser that was not signed in.
func (h *house) browser() door {
	return h.tcpDoor().with("Authorization", "").with("Accept", "text/html")
}

// signIn opens a fresh link and returns the cookie that the browser got.
func signIn(t *testing.T, h *house) string {
	t.Helper()
	link := must(h.server.DashboardLink())(t)
	u := must(url.Parse(link.URL))(t)
	got := h.browser().do("GET", u.RequestURI(), "")
	cookie := got.header.Get("Set-Cookie")
	if got.status != 200 || !strings.Contains(string(got.body), `content="0; url=/"`) || cookie == "" {
		t.Fatalf("link: %d %s, cookie %q", got.status, got.body, cookie)
	}
	for _, flag := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, flag) {
			t.Errorf("cookie without %s: %s", flag, cookie)
		}
	}
	if strings.Contains(cookie, h.token) || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie: %s", cookie)
	}
	value, _, _ := strings.Cut(cookie, ";")
	return value
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
	if again.status != 200 {
		t.Errorf("a browser that is signed in: %d", again.status)
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

func TestCookie(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	cookie := signIn(t, h)
	in := h.browser().with("Cookie", cookie)
	for _, path := range []string{"/", "/ui/pipelines", "/ui/settings", "/ui/static/app.js", "/api/agents"} {
		if got := in.do("GET", path, ""); got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if got := h.browser().do("GET", path, ""); got.status != 401 || isPage(&http.Request{Method: "GET", URL: &url.URL{Path: path}}) != strings.Contains(string(got.body), "understudy dashboard") {
			t.Errorf("%s without a cookie: %d %s", path, got.status, got.body)
		}
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
		"that has ended":       name + "=" + past + "." + h.server.signature(past),
		"the token":            name + "=" + h.token,
		"signed for no time":   name + "=." + h.server.signature(""),
		"signed for no number": name + "=x." + h.server.signature("x"),
	} {
		if got := h.browser().with("Cookie", forged).do("GET", "/api/agents", ""); got.status != 401 {
			t.Errorf("%s: %d", what, got.status)
		}
	}
}

// TestCookieOfAForeignPage has pages of others try with the browser's cookie.
func TestCookieOfAForeignPage(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	in := h.tcpDoor().with("Authorization", "").with("Cookie", signIn(t, h))
	body := `{"errors":true}`
	if got := in.with("Origin", "http://"+h.tcp).do("PUT", "/api/notifications/preferences", body); got.status != 200 {
		t.Errorf("our page: %d %s", got.status, got.body)
	}
	for _, row := range []struct{ what, name, value, code string }{
		{"another site", "Origin", "http://evil.example", "foreign_origin"},
		{"another port", "Origin", "http://127.0.0.1:1", "foreign_origin"},
		{"another port, of an old browser", "Sec-Fetch-Site", "same-site", "foreign_origin"},
		{"nobody says who", "X-Nothing", "", "token_required"},
	} {
		got := in.with(row.name, row.value).do("PUT", "/api/notifications/preferences", body)
		want := 403
		if row.code == "token_required" {
			want = 401
		}
		got.wants(t, row.what, want, row.code)
	}
}

// TestCookieIsRenewed has a browser that is used stay signed in.
func TestCookieIsRenewed(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	name, _, _ := strings.Cut(signIn(t, h), "=")
	for left, want := range map[time.Duration]bool{cookieLife/2 - time.Minute: true, cookieLife/2 + time.Minute: false} {
		expires := strconv.FormatInt(time.Now().Add(left).Unix(), 10)
		got := h.browser().with("Cookie", name+"="+expires+"."+h.server.signature(expires)).do("GET", "/", "")
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
