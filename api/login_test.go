package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// browser returns the door of a browser that is not signed in.
func (h *fixture) browser() door {
	return h.tcpDoor().with("Authorization", "").with("Accept", "text/html")
}

// press presses the button of the page that a link with that key opens.
func (h *fixture) press(key string) (got answer, cookie, ofLogin string) {
	h.t.Helper()
	got = h.browser().with("Sec-Fetch-Site", "same-origin").do("POST", "/login", fmt.Sprintf(`{"key": %q}`, key))
	var in SignedIn
	if got.status == http.StatusCreated {
		must(h.t, json.Unmarshal(got.body, &in))
	}
	return got, got.header.Get("Set-Cookie"), in.Key
}

// signIn opens a fresh link and returns the cookie and the key that the browser got.
func signIn(t *testing.T, h *fixture) (cookie, key string) {
	t.Helper()
	link := value(h.server.DashboardLink(LinkFor{}))(t)
	u := value(url.Parse(link.URL))(t)
	got, cookie, key := h.press(u.Query().Get("key"))
	if got.status != 201 || key == "" || cookie == "" {
		t.Fatalf("link: %d %s, cookie %q", got.status, got.body, cookie)
	}
	holds(t, "the cookie", cookie, "HttpOnly", "SameSite=Strict", "Path=/")
	if strings.Contains(cookie, key) || strings.Contains(key, h.token) || strings.Contains(cookie, h.token) || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie: %s", cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if _, port, _ := strings.Cut(h.tcp, ":"); !strings.HasPrefix(cookie, "understudy_"+port+"=") { // the name has the port, because cookies are not separated by port
		t.Errorf("cookie %s does not name port %s", cookie, port)
	}
	return cookie, key
}

// TestALinkSignsInOneBrowser: to open a link changes nothing, however often a chat's preview, a browser that looks ahead or a person does it.
// The button of its page signs in, once.
func TestALinkSignsInOneBrowser(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.Hosts = append(LoopbackNames(), "desk.example") })
	link := value(h.server.DashboardLink(LinkFor{}))(t)
	if !strings.HasPrefix(link.URL, "http://"+h.tcp+"/login?key=") || time.Until(link.ExpiresAt) > time.Hour {
		t.Errorf("link %s until %s", link.URL, link.ExpiresAt)
	}
	path := strings.TrimPrefix(link.URL, "http://"+h.tcp)
	_, key, _ := strings.Cut(path, "key=")
	// The link may be in a file or on another site: only the key counts. A person may paste all of it.
	for _, path := range []string{path, path, "/login?key=" + url.QueryEscape(link.URL)} {
		got := h.browser().with("Sec-Fetch-Site", "cross-site").do("GET", path, "")
		if got.status != 200 || got.header.Get("Set-Cookie") != "" || !strings.Contains(string(got.body), `data-key="`+key+`"`) {
			t.Errorf("a look: %d, cookie %q, %s", got.status, got.header.Get("Set-Cookie"), got.body)
		}
	}
	post := `{"key": "` + key + `"}`
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example", "Host": "evil.example"} {
		equal(t, "a page of another site gets", h.browser().with(name, value).do("POST", "/login", post).status, 403)
	}
	if got, cookie, _ := h.press(key); got.status != 201 || cookie == "" {
		t.Errorf("first: %d %s", got.status, got.body)
	}
	got, cookie, _ := h.press(key)
	got.wants(t, "second", 401, "link_used")
	equal(t, "second cookie", cookie, "")
	if got := h.browser().do("GET", path, ""); got.status != 401 || !strings.Contains(string(got.body), "That link has signed a browser in") {
		t.Errorf("a used link: %d %s", got.status, got.body)
	}
	here := value(h.server.DashboardLink(LinkFor{Here: true}))(t)
	_, key, _ = strings.Cut(here.URL, "key=")
	for name, status := range map[string]int{"desk.example": 401, "127.0.0.1": 200} { // by way of a proxy, and on the machine itself
		equal(t, "status by the name "+name, h.browser().with("Host", name).do("GET", "/login?key="+key, "").status, status)
	}
	got, _, _ = h.press(key)
	equal(t, "status here", got.status, 201)
	signedIn, _ := signIn(t, h)
	if got := h.browser().with("Cookie", signedIn).do("GET", path, ""); got.status != 200 || !strings.Contains(string(got.body), `data-key=""`) {
		t.Errorf("a browser that is signed in: %d %s", got.status, got.body)
	}
	for _, key := range []string{"", "ABC", strings.Repeat("A", 26)} {
		got, _, _ := h.press(key)
		got.wants(t, "key "+key, 401, "link_used")
	}
	equal(t, "from", value(h.client.Logins(t.Context()))(t)[0].From, "127.0.0.1")
}

func TestLinkExpires(t *testing.T) {
	t.Parallel()
	var l links
	now := time.Now()
	key, expires := l.add(now, false)
	if l.valid(key, expires, true) || l.take(key, expires, true) {
		t.Error("a key was valid when it expired")
	}
	if key, _ = l.add(now, false); !l.take(key, now.Add(linkLife-time.Second), true) || l.take(key, now, true) {
		t.Error("a key must be valid once until it expires")
	}
	for range 5 {
		l.add(now, false)
	}
	if l.add(expires.Add(time.Second), false); len(l.keys) != 1 {
		t.Errorf("%d keys are kept, want only the valid one", len(l.keys))
	}
}

// browserTab is a page in a browser that is signed in. It makes proofs as session.js does.
type browserTab struct {
	h           *fixture
	cookie, key string
	nonce       string
}

// visitor signs a browser in and lets the daemon prove itself.
func visitor(t *testing.T, h *fixture) *browserTab {
	t.Helper()
	b := &browserTab{h: h}
	b.cookie, b.key = signIn(t, h)
	b.nonce = b.hello(t, "a challenge of a page")
	return b
}

// mac signs lines as a page does.
func (b *browserTab) mac(t *testing.T, lines ...string) string {
	t.Helper()
	key := value(base64.RawURLEncoding.DecodeString(b.key))(t)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(strings.Join(lines, "\n")))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// hello returns the daemon's nonce, after a check of its proof.
func (b *browserTab) hello(t *testing.T, challenge string) string {
	t.Helper()
	got := b.h.browser().with("Cookie", b.cookie).do("GET", helloPath+"?challenge="+url.QueryEscape(challenge), "")
	var hello Hello
	if err := json.Unmarshal(got.body, &hello); err != nil || got.status != 200 || hello.Proof != b.mac(t, "server", challenge, hello.Nonce) {
		t.Fatalf("hello: %d %s", got.status, got.body)
	}
	return hello.Nonce
}

func (b *browserTab) proof(t *testing.T, method, path, body string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	return b.mac(t, "request", b.nonce, method, path, hex.EncodeToString(sum[:]))
}

// door returns the door for one request.
func (b *browserTab) door(t *testing.T, method, path, body string) door {
	t.Helper()
	return b.h.browser().with("Cookie", b.cookie).with(proofHeader, b.proof(t, method, path, body))
}

func (b *browserTab) do(t *testing.T, method, path, body string) answer {
	t.Helper()
	return b.door(t, method, path, body).do(method, path, body)
}

func (b *browserTab) ok(t *testing.T, method, path, body string) {
	t.Helper()
	b.door(t, method, path, body).ok(method, path, body)
}

// TestCookieAndProof: a cookie and a proof for the request together open what the token opens. One of them alone opens
// nothing.
func TestCookieAndProof(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	a := h.agent(func(a *daemon.Agent) { a.Name = "needle-in-the-page" })
	b := visitor(t, h)
	for _, path := range []string{"/", "/ui/pipelines?status=done", "/ui/settings", fmt.Sprintf("/ui/agents/%d", a.ID), "/api/agents", "/api/audit", "/metrics"} {
		u := value(url.Parse(path))(t)
		page := isPage(&http.Request{Method: "GET", URL: u})
		got := b.do(t, "GET", path, "")
		if got.status != 200 || path == "/" && !strings.Contains(string(got.body), a.Name) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		sum := sha256.Sum256(got.body)
		if want := b.mac(t, "answer", b.proof(t, "GET", path, ""), hex.EncodeToString(sum[:])); page && got.header.Get(answerHeader) != want {
			t.Errorf("%s: the page's proof is %q, want %q", path, got.header.Get(answerHeader), want)
		}
		got = h.browser().with("Cookie", b.cookie).do("GET", path, "")
		if want := map[bool]int{true: 200, false: 401}[page]; got.status != want || strings.Contains(string(got.body), a.Name) {
			t.Errorf("%s with the cookie alone: %d %s", path, got.status, got.body)
		}
		for what, d := range map[string]door{"the proof alone": b.door(t, "GET", path, "").with("Cookie", ""), "neither": h.browser()} {
			if got := d.do("GET", path, ""); got.status != 401 || page != strings.Contains(string(got.body), "understudy dashboard") {
				t.Errorf("%s with %s: %d %s", path, what, got.status, got.body)
			}
		}
	}
	others := "understudy=x; " + strings.SplitN(b.cookie, "=", 2)[0] + "=shadow; "
	b.door(t, "GET", "/api/agents", "").with("Cookie", others+b.cookie).ok("GET", "/api/agents", "")
	name, value, _ := strings.Cut(b.cookie, "=")
	id, signature, _ := strings.Cut(value, ".")
	for what, forged := range map[string]string{
		"empty":                name + "=",
		"no signature":         name + "=" + id,
		"another login":        name + "=" + id[1:] + "a." + signature,
		"another signature":    name + "=" + id + "." + signature[1:] + "A",
		"of another port":      "understudy_1=" + value,
		"signed, and no login": name + "=nobody." + h.server.cookieSignature("nobody"),
		"the token":            name + "=" + h.token,
	} {
		for _, path := range []string{"/api/agents", "/"} {
			equal(t, what, b.door(t, "GET", path, "").with("Cookie", forged).do("GET", path, "").status, 401)
		}
	}
}

// TestProofIsForOneRequest: a proof is valid for no other request.
func TestProofIsForOneRequest(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	b := visitor(t, h)
	const path, body = "/api/notifications/preferences", `{"waiting":true,"completed":true}`
	b.ok(t, "PUT", path, body)
	good := b.door(t, "PUT", path, body)
	good.do("PUT", path, `{"waiting":false,"completed":true}`).wants(t, "another body", 401, "proof_required")
	good.do("GET", path, "").wants(t, "another method", 401, "proof_required")
	good.do("PUT", path+"?", body).wants(t, "another address", 401, "proof_required")
	good.with(proofHeader, "").do("PUT", path, body).wants(t, "whoever got the cookie", 401, "proof_required")
	good.with(proofHeader, b.key).do("PUT", path, body).wants(t, "the key in place of the proof", 401, "proof_required")
	good.with("Origin", "http://evil.example").do("PUT", path, body).wants(t, "another site", 403, "foreign_origin")
	good.with("Origin", "http://127.0.0.1:1").do("PUT", path, body).wants(t, "another port", 403, "foreign_origin")
	good.with("Sec-Fetch-Site", "same-site").do("PUT", path, body).wants(t, "another port, of an old browser", 403, "foreign_origin")
	good.with("Origin", "http://"+h.tcp).ok("PUT", path, body)
	large := strings.Repeat("x", maxBody+1)
	b.do(t, "PUT", path, large).wants(t, "too large", 413, "body_too_large")
	other := visitor(t, h)
	good.with("Cookie", other.cookie).do("PUT", path, body).wants(t, "the proof of another browser", 401, "proof_required")
}

// TestHelloWantsAChallenge: the daemon signs only a challenge of a certain length, and only for a browser that is signed in.
func TestHelloWantsAChallenge(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	b := visitor(t, h)
	for _, challenge := range []string{"", "short", strings.Repeat("x", maxChallenge+1)} {
		h.browser().with("Cookie", b.cookie).do("GET", helloPath+"?challenge="+challenge, "").wants(t, challenge, 400, "invalid_challenge")
	}
	const path = helloPath + "?challenge=0123456789abcdef"
	h.browser().do("GET", path, "").wants(t, "nobody", 401, "token_required")
	h.mainDoor().do("GET", path, "").wants(t, "no browser", 401, "token_required")
}

// TestLoginsOutliveTheDaemon: a browser stays signed in over a restart, but its earlier proofs are not valid any more.
func TestLoginsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	file, token := filepath.Join(t.TempDir(), "logins.json"), strings.Repeat("t", 64)
	run := func() *fixture {
		return build(t, func(s *Server) {
			s.Token = token
			s.logins = value(openLogins(file, time.Now()))(t)
		})
	}
	first := run()
	b := visitor(t, first)
	sent := b.door(t, "GET", "/api/agents", "")
	sent.ok("GET", "/api/agents", "")
	equal(t, "the file's mode is", value(os.Stat(file))(t).Mode().Perm(), 0o600)
	if kept := string(value(os.ReadFile(file))(t)); strings.Contains(kept, b.key) || strings.Contains(b.cookie, kept) {
		t.Errorf("the file contains a key: %s", kept)
	}
	must(t, first.quit())

	second := run()
	// The name of the cookie has the port. A restarted daemon has the same port; here it has another one.
	_, value, _ := strings.Cut(b.cookie, "=")
	_, port, _ := strings.Cut(second.tcp, ":")
	b.h, b.cookie = second, "understudy_"+port+"="+value
	replayed := second.browser().with("Cookie", b.cookie).with(proofHeader, sent.header.Get(proofHeader))
	replayed.do("GET", "/api/agents", "").wants(t, "what was sent before", 401, "proof_required")
	b.nonce = b.hello(t, "another challenge")
	b.ok(t, "GET", "/api/agents", "")
}

// TestLoginsEnd: a login ends if nobody uses it for a day, and in any case after thirty days.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "logins.json")
	now := time.Now()
	l := value(openLogins(file, now))(t)
	idle := value(l.add("", "127.0.0.1", now))(t)
	if l.known(idle, now.Add(loginIdle-time.Second)) == nil || l.known(idle, now.Add(loginIdle)) != nil {
		t.Error("a login that nobody uses must end after a day")
	}
	used := value(l.add("", "127.0.0.1", now))(t)
	at := now
	for ; value(l.use(used, at))(t) != nil; at = at.Add(loginIdle / 2) {
		if at.Sub(now) > 2*loginLife {
			t.Fatal("a used login never ends")
		}
	}
	equal(t, "a used login ends after", at.Sub(now), loginLife)
	kept := value(openLogins(file, now))(t).list(now)
	if len(kept) != 1 || kept[0].ID != used {
		t.Errorf("the file keeps %v, want only the login in use", kept)
	}
	must(t, os.WriteFile(file, []byte("{"), 0o600))
	if broken, err := openLogins(file, now); err == nil || len(broken.list(now)) != 0 || !strings.Contains(err.Error(), file) {
		t.Errorf("of a broken file: %v, %v", broken.list(now), err)
	}
}

// TestRevoke: the daemon signs a browser out at once and for good, and ends the answers that it is sending to that browser.
func TestRevoke(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "logins.json")
	h := build(t, func(s *Server) { s.logins = value(openLogins(file, time.Now()))(t) })
	one, two, three := visitor(t, h), visitor(t, h), visitor(t, h)
	id := func(b *browserTab) string {
		_, value, _ := strings.Cut(b.cookie, "=")
		id, _, _ := strings.Cut(value, ".")
		return id
	}
	stream := value(http.NewRequestWithContext(t.Context(), "GET", "http://"+h.tcp+"/api/events", nil))(t)
	stream.Header.Set("Cookie", one.cookie)
	stream.Header.Set(proofHeader, one.proof(t, "GET", "/api/events", ""))
	reading := value(http.DefaultClient.Do(stream))(t)
	defer reading.Body.Close()
	if reading.StatusCode != 200 {
		t.Fatalf("feed: %s", reading.Status)
	}

	gone := value(h.client.RevokeLogins(t.Context(), id(one)))(t)
	if len(gone) != 1 || gone[0].ID != id(one) {
		t.Errorf("revoked %v", gone)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, reading.Body) // the error does not matter: the daemon cuts the connection
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the feed goes on for a browser that was signed out")
	}
	one.do(t, "GET", "/api/agents", "").wants(t, "the one", 401, "token_required")
	two.ok(t, "GET", "/api/agents", "")
	refused(h.client.RevokeLogins(t.Context(), id(one)))(t, daemon.KindNotFound, "login_not_found", "")
	if page := two.do(t, "GET", "/ui/settings", ""); !strings.Contains(string(page.body), `id="login-`+id(three)) || strings.Contains(string(page.body), id(one)) {
		t.Errorf("the page of settings:\n%s", page.body)
	}

	equal(t, "revoked", len(value(h.client.RevokeLogins(t.Context()))(t)), 2)
	equal(t, "left", len(value(h.client.Logins(t.Context()))(t)), 0)
	equal(t, "the file still has", len(value(openLogins(file, time.Now()))(t).list(time.Now())), 0)
	two.do(t, "GET", "/api/agents", "").wants(t, "all", 401, "token_required")
	equal(t, "the frame", h.browser().with("Cookie", three.cookie).do("GET", "/", "").status, 401)
}

func TestBrowserNames(t *testing.T) {
	t.Parallel()
	const webkit = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
	for header, want := range map[string]string{
		webkit + "Chrome/156.0.0.0 Safari/537.36":                                 "Chrome 156",
		webkit + "Chrome/156.0.0.0 Safari/537.36 Edg/156.0":                       "Edge 156",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":  "Firefox 140",
		"Mozilla/5.0 (Macintosh) AppleWebKit/605 (KHTML) Version/18.1 Safari/605": "Safari 18",
		"curl/8 \x1b[31m": "another browser",
		"":                "another browser",
	} {
		equal(t, header, browserName(header), want)
	}
}

func TestNoDashboardWithoutAddress(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.Address = nil })
	h.mainDoor().do("POST", "/api/dashboard/links", "").wants(t, "link", 409, "no_address")
}

func TestPagesKeepTheirPolicy(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	holds(t, "the link", value(h.client.DashboardLink(t.Context(), LinkFor{}))(t).URL, "/login?key=")
	run := h.pipeline(nil)
	for _, path := range []string{"/ui/log?q=x&kind=agent&agent=&since=24", fmt.Sprintf("/ui/pipelines/%d", run.ID)} {
		h.mainDoor().ok("GET", path, "")
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
	equal(t, "app.js again", h.mainDoor().with("If-None-Match", f.header.Get("Etag")).do("GET", "/ui/static/app.js", "").status, http.StatusNotModified)
	h.mainDoor().do("GET", "/ui/static/..%2fdoc.go", "").wants(t, "a file beside", 404, "not_found")
}
