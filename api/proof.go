package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

// Pages and the daemon prove their identity to each other with the key of the browser's login. The daemon sends that key
// only one time, when the browser signs in. Another program may take the daemon's port while the daemon does not run. It
// then gets a cookie, which opens only an empty frame, but it gets no proof that a later daemon accepts. The proofs:
//
//	of the daemon    server ⏎ challenge ⏎ nonce            before a page sends anything else
//	of a request     request ⏎ nonce ⏎ method ⏎ path and query ⏎ SHA-256 of the body
//	of a page        answer ⏎ the request's proof ⏎ SHA-256 of the page
//
// Each proof is the HMAC-SHA256 of these lines. Each run of the daemon has a new nonce.

const (
	proofHeader  = "X-Understudy-Page"   // the proof of a request
	answerHeader = "X-Understudy-Answer" // the proof of a page
	helloPath    = "/api/dashboard/hello"
	maxChallenge = 100 // bytes
)

var errProof = daemon.Errorf(daemon.KindUnauthorized, codeProofRequired,
	"The request lacks the page's proof for this run of the daemon: load the page again")

// Hello is the daemon's proof.
type Hello struct {
	Nonce string `json:"nonce"`
	Proof string `json:"proof"`
}

// hello proves to a page that this is the daemon at which the page's browser has signed in.
func (g *gate) hello(c echo.Context) (Hello, error) {
	challenge := paramsOf(c).text("challenge")
	l := g.signedIn(c.Request(), time.Now())
	if l == nil {
		return Hello{}, errToken
	}
	if len(challenge) < 16 || len(challenge) > maxChallenge {
		return Hello{}, daemon.Errorf(daemon.KindInvalid, codeInvalidChallenge, "challenge must have 16 to %d characters", maxChallenge)
	}
	return Hello{g.nonce, g.prove(l, "server", challenge, g.nonce)}, nil
}

// loginKey returns the key of a login. The key is derived from the token, so a new token makes the key invalid.
func (g *gate) loginKey(id string) []byte { return g.mac("key of " + id) }

// prove returns the proof of lines: their HMAC with the key of a login.
func (g *gate) prove(l *login, lines ...string) string {
	mac := hmac.New(sha256.New, g.loginKey(l.ID))
	for i, line := range lines {
		if i > 0 {
			mac.Write([]byte{'\n'})
		}
		mac.Write([]byte(line))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func hashed(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// guardBrowser passes a request to next if one of the dashboard's own pages has sent it. If a browser opens a page,
// guardBrowser answers with the frame of the page.
func (g *gate) guardBrowser(next http.Handler, w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	l, opens := g.signedIn(r, now), isPage(r) && wantsPage(r)
	switch {
	case l == nil && opens:
		g.writePage(w, http.StatusUnauthorized, dashboard.SignedOut(false))
		return
	case l == nil:
		g.refuse(w, errToken)
		return
	case r.Method == http.MethodGet && r.URL.Path == helloPath:
		next.ServeHTTP(w, r)
		return
	case opens && r.Header.Get(proofHeader) == "":
		g.writePage(w, http.StatusOK, dashboard.Frame())
		return
	}
	if err := g.proved(w, r, l); err != nil {
		g.refuse(w, err)
		return
	}
	if _, err := g.logins.use(l.ID, now); err != nil {
		g.Log.Warn("use of a login not kept", "login", l.ID, "error", err)
	}
	ctx, stop := context.WithCancel(context.WithValue(r.Context(), loginOf{}, l))
	defer stop()
	defer context.AfterFunc(l.ctx, stop)() // cut the answer if the browser is signed out meanwhile
	next.ServeHTTP(w, r.WithContext(ctx))
}

// proved returns nil if the request's proof is right, so that a page of the login has made it for this run of the daemon.
// It reads the body and puts it back into the request.
func (g *gate) proved(w http.ResponseWriter, r *http.Request, l *login) error {
	body, err := readAll(w, r)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	want := g.prove(l, "request", g.nonce, r.Method, r.RequestURI, hashed(body))
	if !hmac.Equal([]byte(r.Header.Get(proofHeader)), []byte(want)) {
		return errProof
	}
	return nil
}

// loginOf is the key of the login in the context of a page's request.
type loginOf struct{}

// requestLogin returns the login of the page that made a request, or nil if no page of the dashboard made it.
func requestLogin(r *http.Request) *login {
	l, _ := r.Context().Value(loginOf{}).(*login)
	return l
}

// proveAnswer adds the proof that page comes from the daemon, if one of the dashboard's pages has requested it.
func (g *gate) proveAnswer(c echo.Context, page []byte) {
	if l := requestLogin(c.Request()); l != nil {
		c.Response().Header().Set(answerHeader, g.prove(l, "answer", c.Request().Header.Get(proofHeader), hashed(page)))
	}
}
