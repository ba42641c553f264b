package api

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

// A browser cannot send the token when a page is opened, and should not have it. It opens a link instead that
// works once, and signs it in: the browser gets a cookie, and a key that it keeps where no script can read it.
//
// The cookie names the login and opens the frame of a page, in which nothing is said yet. Browsers send it to
// whatever listens on any port of this machine: who has it has nothing.
//
// The key never leaves the browser again. Each request of a page carries a proof that is made with it, and the
// daemon proves itself to the page with the same key first. See proof.go.

const linkLife = time.Hour

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

// login takes the key of a link and signs the browser in. The page that it answers with goes on by itself: a
// redirect would be part of whatever led to the link, and a strict cookie is not sent on such a way.
func (s *Server) login(c echo.Context) error {
	r := c.Request()
	if strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") { // the link would be used up before anybody clicks
		return errPrefetch
	}
	c.Response().Header().Set("Content-Security-Policy", dashboard.Policy)
	now, key := time.Now(), paramsOf(c).text("key")
	switch {
	case s.links.take(key, now):
		if s.LinkUsed != nil {
			s.LinkUsed(key)
		}
		id, err := s.logins.add(r.UserAgent(), now)
		if err != nil {
			s.Log.Warn("a browser's login ends with this run of the daemon", "login", id, "error", err)
		}
		s.Log.Info("a browser signed in", "login", id)
		http.SetCookie(c.Response(), s.newCookie(r, id))
		return c.HTMLBlob(http.StatusOK, dashboard.SignedIn(base64.RawURLEncoding.EncodeToString(s.loginKey(id))))
	case s.signedIn(r, now) != nil:
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

// newCookie names a login. It may outlive the login, whose end the daemon knows.
func (s *Server) newCookie(r *http.Request, id string) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: id + "." + s.cookieSignature(id), Path: "/", MaxAge: int(loginLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

func (s *Server) cookieSignature(id string) string {
	return base64.RawURLEncoding.EncodeToString(s.mac("cookie of " + id))
}

// mac is good for one purpose, comes from us, and cannot be used as the token.
func (s *Server) mac(purpose string) []byte {
	mac := hmac.New(sha256.New, []byte(s.Token))
	mac.Write([]byte("dashboard " + purpose))
	return mac.Sum(nil)
}

// signedIn returns the login that a request's cookie names; nil: there is none that is good.
func (s *Server) signedIn(r *http.Request, now time.Time) *login {
	if s.Token == "" {
		return nil
	}
	for _, cookie := range r.CookiesNamed(cookieName(r)) { // another port may have set one of our name
		id, signature, _ := strings.Cut(cookie.Value, ".")
		if !hmac.Equal([]byte(signature), []byte(s.cookieSignature(id))) {
			continue
		}
		if l := s.logins.known(id, now); l != nil {
			return l
		}
	}
	return nil
}

func (s *Server) listLogins(c echo.Context) error {
	return replyList(c, s.logins.list(time.Now()), nil)
}

// revokeLogin signs one browser out.
func (s *Server) revokeLogin(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	id, now := c.Param("login"), time.Now()
	gone := slices.DeleteFunc(s.logins.list(now), func(l Login) bool { return l.ID != id })
	if len(gone) == 0 {
		return errNoLogin
	}
	return s.revoke(c, gone, now)
}

// revokeLogins signs all browsers out.
func (s *Server) revokeLogins(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	now := time.Now()
	return s.revoke(c, s.logins.list(now), now)
}

// revoke ends logins and answers with them.
func (s *Server) revoke(c echo.Context, gone []Login, now time.Time) error {
	var ids []string
	for _, one := range gone {
		ids = append(ids, one.ID)
	}
	err := s.logins.revoke(now, ids...)
	s.Log.Info("browsers signed out", "logins", ids)
	return replyList(c, gone, err)
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
