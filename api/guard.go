package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

// Our own headers, in Go's canonical form, which a look-up in http.Header needs.
const (
	launchHeader     = "X-Understudy-Launch"
	runtimeHeader    = "X-Understudy-Runtime"
	tmuxHeader       = "X-Tmux"
	paneHeader       = "X-Tmux-Pane"
	agentPIDHeader   = "X-Agent-Pid"
	agentStartHeader = "X-Agent-Start"
	bootIDHeader     = "X-Boot-Id"
	hookKeyHeader    = "X-Hook-Key"
	hookAtHeader     = "X-Hook-At"
)

var (
	errForeignHost     = daemon.Errorf(daemon.KindForbidden, codeForeignHost, "This host name is not one of the daemon's: use localhost or 127.0.0.1, or add the name to host_names in config.yaml")
	errForeignOrigin   = daemon.Errorf(daemon.KindForbidden, codeForeignOrigin, "Requests from pages of other sites are refused")
	errToken           = daemon.Errorf(daemon.KindUnauthorized, codeTokenRequired, "Send the token of the data directory's run/token as Authorization: Bearer")
	errNoLaunch        = daemon.Errorf(daemon.KindUnauthorized, codeLaunchRequired, "Send the agent's UNDERSTUDY_LAUNCH as X-Understudy-Launch")
	errLaunchOver      = daemon.Errorf(daemon.KindForbidden, codeLaunchOver, "The agent of this launch has ended")
	errOperatorOnly    = daemon.Errorf(daemon.KindForbidden, codeOperatorOnly, "Commands are given by the operator only: send the text without \"command\"")
	errNotYourMessages = daemon.Errorf(daemon.KindForbidden, codeOperatorOnly, "An agent may not drop the messages that are queued for it: leave out \"drop_messages\"")
	errNotSpokenFor    = daemon.Errorf(daemon.KindForbidden, codeNotYourAgent, "The process that has sent this does not run inside the agent of this launch")
	errNotYours        = daemon.Errorf(daemon.KindForbidden, codeNotYourAgent, "An agent may ask for its own handoff, messages and context only; it writes to another one with the tool send_message of `understudy mcp`")
)

// guardTCP refuses requests before they are routed. It refuses requests that another site may make a browser on this
// machine send: those with a foreign Host (DNS rebinding), and those that a page of another site sends (forged requests).
// It also refuses requests without the token, except those that openToAll or guardBrowser lets pass.
func (g *gate) guardTCP(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + g.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Compare hashes: they have the same length, so the time of the comparison shows nothing about the token's length.
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		switch {
		case !g.ourHost(r.Host):
			g.refuse(w, errForeignHost)
		case openToAll(r): // do not check the site: any page may contain the link
			next.ServeHTTP(w, r)
		case !sameSite(r):
			g.refuse(w, errForeignOrigin)
		case takesLink(r):
			next.ServeHTTP(w, r)
		case g.Token != "" && len(r.Header.Values("Authorization")) == 1 && subtle.ConstantTimeCompare(got[:], want[:]) == 1:
			next.ServeHTTP(w, r)
		default:
			g.guardBrowser(next, w, r)
		}
	})
}

// openToAll reports whether a request needs no token. The page of a link changes nothing, and the files that pages load are not
// secret.
func openToAll(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, "/ui/static/"))
}

// takesLink reports whether a request signs a browser in by a link, whose key is its own token.
func takesLink(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/login" }

// writePage answers with a page, before the request is routed. The page must contain no data of the daemon.
func (g *gate) writePage(w http.ResponseWriter, status int, page []byte) {
	h := w.Header()
	h.Set("Content-Security-Policy", dashboard.Policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	g.meter.answered(noRoute, noRoute, status)
	w.WriteHeader(status)
	_, _ = w.Write(page) // ignore the error: the client has closed the connection
}

func (g *gate) refuse(w http.ResponseWriter, err error) {
	status, body, _ := errorAnswer(err)
	g.meter.answered(noRoute, noRoute, status)
	writeError(g.Log, w, status, body)
}

// ourHost reports whether a Host header names us. It ignores the port, because the client may call a forwarded port.
func (g *gate) ourHost(header string) bool {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	for _, ours := range g.Hosts {
		if strings.EqualFold(name, ours) {
			return true
		}
	}
	return false
}

// sameSite reports whether a request comes from one of our pages, or from no page.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

// ownAgent lets a request pass if the secret in its header is that of the launch of the agent in its address, and if a process of
// that agent sends it.
func (s *Server) ownAgent(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		secret := c.Request().Header.Get(launchHeader)
		if secret == "" {
			return errNoLaunch
		}
		agent, err := s.Daemon.AgentBySecret(c.Request().Context(), secret)
		if err != nil {
			return err
		}
		id, err := key[int64](c)
		switch {
		case err != nil:
			return err
		case !agent.Active():
			return errLaunchOver
		case id != agent.ID:
			return errNotYours
		case !s.Daemon.SpeaksFor(sender(c.Request().Context()).Process, &agent):
			return errNotSpokenFor
		}
		return next(c)
	}
}
