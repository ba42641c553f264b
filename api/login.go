package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
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
// A browser cannot send the token when it opens a page, and should not have the token. Instead it opens a link. To open it changes
// nothing: a chat opens links that are sent in it, to show what is behind them. The page has a button, which takes the link, works one
// time and signs the browser in. The browser gets a cookie, and a key that it keeps where no script can read it.
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
	errLinkUsed = daemon.Errorf(daemon.KindUnauthorized, codeLinkUsed, "This link has signed a browser in, is older than an hour, or was made for a browser of the daemon's machine: get a new one with `understudy dashboard`")
)

// DashboardLink is a link that signs a browser in to the dashboard, one time.
type DashboardLink struct {
	URL       string    `json:"url"`
	PublicURL *string   `json:"public_url"` // the same link for browsers elsewhere; null: the setting public_url is empty
	ExpiresAt time.Time `json:"expires_at"`
}

// links are the links that have signed no browser in yet.
type links struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]linkFor // by the hash of its key
}

// linkFor is until when a link works, and for whom.
type linkFor struct {
	until time.Time
	here  bool // for a browser of this machine alone
}

// signs reports whether the link signs in a browser that calls now. here: the browser is one of this machine.
func (l linkFor) signs(now time.Time, here bool) bool {
	return now.Before(l.until) && (here || !l.here)
}

// add makes the key of a new link.
func (l *links) add(now time.Time, here bool) (key string, expires time.Time) {
	key, expires = rand.Text(), now.Add(linkLife)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[[sha256.Size]byte]linkFor{}
	}
	for k, link := range l.keys {
		if now.After(link.until) {
			delete(l.keys, k)
		}
	}
	l.keys[sha256.Sum256([]byte(key))] = linkFor{expires, here}
	return key, expires
}

// valid reports whether a key would sign a browser in.
func (l *links) valid(key string, now time.Time, here bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[sha256.Sum256([]byte(key))].signs(now, here)
}

// take reports whether a key is valid. It then makes the key invalid, so that a link works one time.
func (l *links) take(key string, now time.Time, here bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(key))
	signs := l.keys[hash].signs(now, here)
	if signs {
		delete(l.keys, hash)
	}
	return signs
}

// gate decides who of those that call over TCP is let in: programs with the token, and browsers that are signed in.
type gate struct {
	*Config
	links  links   // unused links to the dashboard
	logins *logins // browsers that are signed in to the dashboard
	nonce  string  // part of each proof; each run of the daemon has a new one
	meter  *meter
}

// LinkFor says for which browser a link is made.
type LinkFor struct {
	Here bool `json:"here,omitempty"` // one of this machine: the link signs in no other
}

// DashboardLink makes a link to the dashboard, with the address on which the server listens for TCP.
func (g *gate) DashboardLink(who LinkFor) (DashboardLink, error) {
	if g.Address == nil {
		return DashboardLink{}, errNoAddress
	}
	key, expires := g.links.add(time.Now().UTC(), who.Here)
	path := "/login?key=" + key
	link := DashboardLink{URL: LocalURL(g.Address) + path, ExpiresAt: expires}
	if g.PublicURL != "" && !who.Here {
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

func (g *gate) createDashboardLink(_ context.Context, who LinkFor) (DashboardLink, error) {
	return g.DashboardLink(who)
}

// callsHere reports whether a browser of this machine has sent a request, and not a proxy for one elsewhere, which calls by the public name or by
// another one of ours. One behind a tunnel to this machine cannot be told from it.
func callsHere(r *http.Request) bool {
	ours, known := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	host, _, cut := net.SplitHostPort(r.Host)
	if cut != nil {
		host = r.Host
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} { // a proxy says so
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return known && err == nil && ofThisMachine(from.Addr().Unmap(), ours.AddrPort().Addr().Unmap()) &&
		(slices.Contains(LoopbackNames(), strings.Trim(host, "[]")) || host == ours.IP.String())
}

// login answers with the page that a link opens. The page of a valid link has a button that signs the browser in. A browser that is signed in
// gets a page that opens the dashboard; it is no redirect, because the navigation may have begun at another site, and the browser would
// then not send the strict cookie.
func (g *gate) login(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", dashboard.Policy)
	now, key := time.Now(), paramsOf(c).text("key")
	if i := strings.LastIndex(key, "key="); i >= 0 { // a person has pasted the whole link
		key = key[i+len("key="):]
	}
	switch {
	case g.links.valid(key, now, callsHere(c.Request())):
		return c.HTMLBlob(http.StatusOK, dashboard.SignIn(key))
	case g.signedIn(c.Request(), now) != nil:
		return c.HTMLBlob(http.StatusOK, dashboard.SignIn(""))
	}
	return c.HTMLBlob(http.StatusUnauthorized, dashboard.SignedOut(key != ""))
}

type signInRequest struct {
	Key string `json:"key"` // of a link
}

// SignedIn is the answer to a browser that has signed in.
type SignedIn struct {
	Key string `json:"key"` // of its login; the browser keeps it where no script can read it
}

// signIn takes the key of a link, and signs the browser in that has sent it.
func (g *gate) signIn(c echo.Context) (SignedIn, error) {
	var in signInRequest
	if err := decode(c, &in); err != nil {
		return SignedIn{}, err
	}
	now := time.Now()
	if !g.links.take(in.Key, now, callsHere(c.Request())) {
		return SignedIn{}, errLinkUsed
	}
	if g.LinkUsed != nil {
		g.LinkUsed(in.Key)
	}
	id, err := g.logins.add(c.Request().UserAgent(), c.RealIP(), now)
	if err != nil {
		g.Log.Warn("a browser's login ends with this run of the daemon", "login", id, "error", err)
	}
	g.Log.Info("a browser signed in", "login", id, "from", c.RealIP())
	http.SetCookie(c.Response(), g.newCookie(c.Request(), id))
	return SignedIn{Key: base64.RawURLEncoding.EncodeToString(g.loginKey(id))}, nil
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
