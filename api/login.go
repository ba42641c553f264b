package api

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

// A browser cannot send the token when a page is opened, and should not have it. It opens a link instead
// that works once, and gets two things, both made with the token, so that they need no memory of ours,
// outlive the daemon's restarts, and end with the token:
//
// The cookie opens the frame of a page, in which nothing is said yet. Browsers send it to whatever listens
// on any port of this machine: who has it has nothing.
//
// The key stays with the pages of this very address, port included, and goes with each of their own
// requests in a header, which no page of another address can send. Cookie and key together are as good as
// the token.

const (
	linkLife   = time.Hour
	cookieLife = 24 * time.Hour // since the last page, at the least half of it
	keyHeader  = "X-Understudy-Page"
)

var (
	errNoAddress = daemon.Errorf(daemon.KindConflict, "no_address",
		"The dashboard needs a TCP address, and the daemon listens on none: set `listen: 127.0.0.1:7433` in config.yaml and restart it")
	errPrefetch = daemon.Errorf(daemon.KindUnavailable, "prefetch", "The link is opened by a click, not ahead of one")
)

// DashboardLink opens the dashboard in a browser, once.
type DashboardLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// links are those that were not opened yet.
type links struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]time.Time // hashes of them, with their end
}

// add makes a key.
func (l *links) add(now time.Time) (key string, expires time.Time) {
	key, expires = rand.Text(), now.Add(linkLife)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[[sha256.Size]byte]time.Time{}
	}
	for k, end := range l.keys {
		if now.After(end) {
			delete(l.keys, k)
		}
	}
	l.keys[sha256.Sum256([]byte(key))] = expires
	return key, expires
}

// take reports whether a key is good, which it is once.
func (l *links) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(key))
	expires, known := l.keys[hash]
	delete(l.keys, hash)
	return known && now.Before(expires)
}

// DashboardLink makes a link to the dashboard; it is served where the server listens for TCP.
func (s *Server) DashboardLink() (DashboardLink, error) {
	if s.Address == nil {
		return DashboardLink{}, errNoAddress
	}
	host, port, err := net.SplitHostPort(s.Address.String())
	if err != nil {
		return DashboardLink{}, fmt.Errorf("address of the dashboard: %w", err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	key, expires := s.links.add(time.Now().UTC())
	return DashboardLink{URL: "http://" + net.JoinHostPort(host, port) + "/login?key=" + key, ExpiresAt: expires}, nil
}

func (s *Server) createDashboardLink(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	link, err := s.DashboardLink()
	return reply(c, http.StatusCreated, link, err)
}

// login takes the key of a link and gives the cookie. The page that it answers with goes on by itself: a
// redirect would be part of whatever led to the link, and a strict cookie is not sent on such a way.
func (s *Server) login(c echo.Context) error {
	r := c.Request()
	if strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") { // the link would be used up before anybody clicks
		return errPrefetch
	}
	c.Response().Header().Set("Content-Security-Policy", dashboard.Policy)
	now := time.Now()
	switch {
	case s.links.take(paramsOf(c).text("key"), now):
		if s.LinkUsed != nil {
			s.LinkUsed(paramsOf(c).text("key"))
		}
		http.SetCookie(c.Response(), s.newCookie(r, now))
		return c.HTMLBlob(http.StatusOK, dashboard.SignedIn(s.pageKey()))
	case s.signedIn(r, now):
		return c.HTMLBlob(http.StatusOK, dashboard.SignedIn("")) // the key is given for a link alone
	}
	return c.HTMLBlob(http.StatusUnauthorized, dashboard.SignedOut())
}

// cookieName is that of the address a browser calls: cookies know no ports, and another daemon's would
// take the place of ours.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "understudy_" + port
	}
	return "understudy"
}

func (s *Server) newCookie(r *http.Request, now time.Time) *http.Cookie {
	expires := strconv.FormatInt(now.Add(cookieLife).Unix(), 10)
	return &http.Cookie{
		Name: cookieName(r), Value: expires + "." + s.signature("cookie until "+expires), Path: "/", MaxAge: int(cookieLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// pageKey is what pages prove with that they are ours.
func (s *Server) pageKey() string { return s.signature("page") }

// signature proves that something comes from us, and cannot be used as the token.
func (s *Server) signature(what string) string {
	mac := hmac.New(sha256.New, []byte(s.Token))
	mac.Write([]byte("dashboard " + what))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signedIn reports whether a request has a cookie that is good.
func (s *Server) signedIn(r *http.Request, now time.Time) bool {
	_, good := s.cookieEnd(r, now)
	return good
}

// cookieEnd returns until when the request's cookie is good, if it is.
func (s *Server) cookieEnd(r *http.Request, now time.Time) (end time.Time, good bool) {
	if s.Token == "" {
		return end, false
	}
	for _, cookie := range r.CookiesNamed(cookieName(r)) { // another port may have set one of our name
		expires, signature, _ := strings.Cut(cookie.Value, ".")
		unix, err := strconv.ParseInt(expires, 10, 64)
		if end = time.Unix(unix, 0); err == nil && now.Before(end) && hmac.Equal([]byte(signature), []byte(s.signature("cookie until "+expires))) {
			return end, true
		}
	}
	return end, false
}

// renew gives a browser that is used a cookie that lasts longer.
func (s *Server) renew(c echo.Context) {
	now := time.Now()
	if end, good := s.cookieEnd(c.Request(), now); good && end.Sub(now) < cookieLife/2 {
		http.SetCookie(c.Response(), s.newCookie(c.Request(), now))
	}
}

// hasKey reports whether a request was made by a page of ours.
func (s *Server) hasKey(r *http.Request) bool {
	return hmac.Equal([]byte(r.Header.Get(keyHeader)), []byte(s.pageKey()))
}

// wantsPage says whether somebody looks at the answer.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// isPage says whether an address is that of a page.
func isPage(r *http.Request) bool {
	path := r.URL.Path
	return r.Method == http.MethodGet && (path == "/" || strings.HasPrefix(path, "/ui/") && !strings.HasPrefix(path, "/ui/static/"))
}
