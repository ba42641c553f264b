package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

// How a browser signs in to the dashboard.
//
// A browser cannot send the token when it opens a page, and should not have the token. Instead it opens a link, which works
// one time and signs the browser in. The browser gets a cookie, and a key that it keeps where no script can read it.
//
// The cookie names the login. For the cookie alone the daemon answers only with the frame of a page, without data, because
// the browser sends its cookies to every port of this machine, so also to other programs.
//
// The browser never sends the key. Each request of a page has a proof that the browser makes with the key. Before the first
// request the daemon proves to the page, with the same key, that it is the daemon. See proof.go.

const linkLife = time.Hour

var (
	errNoAddress = daemon.Errorf(daemon.KindConflict, codeNoAddress,
		"The dashboard needs a TCP address, and the daemon listens on none: set `listen: 127.0.0.1:7433` in config.yaml and restart it")
	errPrefetch = daemon.Errorf(daemon.KindUnavailable, codePrefetch, "The link is opened by a click, not ahead of one")
)

// DashboardLink is a link that opens the dashboard in a browser, one time.
type DashboardLink struct {
	URL       string    `json:"url"`
	PublicURL *string   `json:"public_url"` // the same link for browsers elsewhere; null: the setting public_url is empty
	ExpiresAt time.Time `json:"expires_at"`
}

// links are the links that no browser has opened yet.
type links struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]time.Time // when each link expires, by the hash of its key
}

// add makes the key of a new link.
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

// take reports whether a key is valid. It then makes the key invalid, so that a link works one time.
func (l *links) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(key))
	expires, known := l.keys[hash]
	delete(l.keys, hash)
	return known && now.Before(expires)
}

// gate decides who of those that call over TCP is let in: programs with the token, and browsers that are signed in.
type gate struct {
	*Config
	links  links   // unused links to the dashboard
	logins *logins // browsers that are signed in to the dashboard
	nonce  string  // part of each proof; each run of the daemon has a new one
	meter  *meter
}

// DashboardLink makes a link to the dashboard, with the address on which the server listens for TCP.
func (g *gate) DashboardLink() (DashboardLink, error) {
	if g.Address == nil {
		return DashboardLink{}, errNoAddress
	}
	key, expires := g.links.add(time.Now().UTC())
	path := "/login?key=" + key
	link := DashboardLink{URL: LocalURL(g.Address) + path, ExpiresAt: expires}
	if g.PublicURL != "" {
		public := strings.TrimSuffix(g.PublicURL, "/") + path
		link.PublicURL = &public
	}
	return link, nil
}

// LocalURL returns the URL by which a browser of this machine calls a listener.
func LocalURL(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return "http://" + address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (g *gate) createDashboardLink(context.Context) (DashboardLink, error) {
	return g.DashboardLink()
}

// login takes the key of a link and signs the browser in. It answers with a page that then opens the dashboard. It does
// not redirect: the navigation may have begun at another site, and the browser would then not send the strict cookie.
func (g *gate) login(c echo.Context) error {
	r := c.Request()
	// Refuse a prefetch: it would use up the link before a person clicks on it.
	if strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		return errPrefetch
	}
	c.Response().Header().Set("Content-Security-Policy", dashboard.Policy)
	now, key := time.Now(), paramsOf(c).text("key")
	switch {
	case g.links.take(key, now):
		if g.LinkUsed != nil {
			g.LinkUsed(key)
		}
		id, err := g.logins.add(r.UserAgent(), now)
		if err != nil {
			g.Log.Warn("a browser's login ends with this run of the daemon", "login", id, "error", err)
		}
		g.Log.Info("a browser signed in", "login", id)
		http.SetCookie(c.Response(), g.newCookie(r, id))
		return c.HTMLBlob(http.StatusOK, dashboard.SignedIn(base64.RawURLEncoding.EncodeToString(g.loginKey(id))))
	case g.signedIn(r, now) != nil:
		return c.HTMLBlob(http.StatusOK, dashboard.SignedIn("")) // without a link the browser gets no key
	}
	return c.HTMLBlob(http.StatusUnauthorized, dashboard.SignedOut())
}

// cookieName returns the name of the cookie, which contains the port that the browser calls. Browsers do not separate
// cookies by port, so without the port in its name the cookie of another daemon would replace ours.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "understudy_" + port
	}
	return "understudy"
}

// newCookie returns a cookie that names a login. The cookie may last longer than the login, because the daemon itself
// checks whether the login has ended.
func (g *gate) newCookie(r *http.Request, id string) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: id + "." + g.cookieSignature(id), Path: "/", MaxAge: int(loginLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.encrypted(r),
	}
}

// encrypted reports whether a browser has sent a request by HTTPS. Only the setting public_url says so, because the proxy
// that ends the encryption is not part of the daemon.
func (g *gate) encrypted(r *http.Request) bool {
	u, err := url.Parse(g.PublicURL)
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Host, r.Host)
}

func (g *gate) cookieSignature(id string) string {
	return base64.RawURLEncoding.EncodeToString(g.mac("cookie of " + id))
}

// mac derives a secret for one purpose from the token. The token cannot be derived from that secret.
func (g *gate) mac(purpose string) []byte {
	mac := hmac.New(sha256.New, []byte(g.Token))
	mac.Write([]byte("dashboard " + purpose))
	return mac.Sum(nil)
}

// signedIn returns the login that a request's cookie names, or nil if no cookie names a valid login.
func (g *gate) signedIn(r *http.Request, now time.Time) *login {
	if g.Token == "" {
		return nil
	}
	// Try all cookies with our name: a server on another port can set one, too.
	for _, cookie := range r.CookiesNamed(cookieName(r)) {
		id, signature, _ := strings.Cut(cookie.Value, ".")
		if !hmac.Equal([]byte(signature), []byte(g.cookieSignature(id))) {
			continue
		}
		if l := g.logins.known(id, now); l != nil {
			return l
		}
	}
	return nil
}

func (g *gate) listLogins(context.Context) ([]Login, error) { return g.logins.list(time.Now()), nil }

// revokeLogin signs one browser out.
func (g *gate) revokeLogin(_ context.Context, id string) ([]Login, error) {
	now := time.Now()
	gone := slices.DeleteFunc(g.logins.list(now), func(l Login) bool { return l.ID != id })
	if len(gone) == 0 {
		return nil, errNoLogin
	}
	return g.revoke(gone, now)
}

// revokeLogins signs all browsers out.
func (g *gate) revokeLogins(context.Context) ([]Login, error) {
	now := time.Now()
	return g.revoke(g.logins.list(now), now)
}

// revoke ends the logins in gone and returns them.
func (g *gate) revoke(gone []Login, now time.Time) ([]Login, error) {
	var ids []string
	for _, one := range gone {
		ids = append(ids, one.ID)
	}
	err := g.logins.revoke(now, ids...)
	g.Log.Info("browsers signed out", "logins", ids)
	return gone, err
}

// wantsPage reports whether a browser will show the answer as a page.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// isPage reports whether a request is for a page.
func isPage(r *http.Request) bool {
	path := r.URL.Path
	return r.Method == http.MethodGet && (path == "/" || strings.HasPrefix(path, "/ui/") && !strings.HasPrefix(path, "/ui/static/"))
}
