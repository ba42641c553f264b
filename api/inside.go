package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// readInside are the routes of the main socket that answer a process inside an agent as they answer the operator: they tell how
// things stand. With that go what steps of pipelines have answered and what agents ask for, but no screens, documents, conversations and
// messages. Beside them there are [Server.ownRoutes], and the hooks, which prove their sender. All else is the operator's, and each new
// route is, too.
var readInside = []string{
	"POST /hooks/:event",
	"GET /api/agents", "GET /api/agents/:id", "GET /api/agents/:id/diff", "GET /api/agents/:id/timeline",
	"GET /api/handoffs", "GET /api/handoffs/:id", "GET /api/handoffs/:id/transitions", "GET /api/handoffs/:id/durations", "GET /api/handoffs/:id/line",
	"GET /pipelines", "GET /pipelines/:id", "GET /api/pipelines", "GET /api/pipelines/:id",
	"GET /api/worktrees", "GET /api/worktrees/:id", "GET /api/worktrees/:id/diff",
	"GET /api/personas", "GET /api/personas/:slug", "GET /api/personas/:slug/budget", "GET /api/personas/:slug/handoffs", "GET /api/templates",
	"GET /api/attention", "GET /api/attention/count", "GET /api/runtimes", "GET /api/usage", "GET /api/events",
	"GET /api/openapi.yaml", "GET /healthz", "GET /readyz", "GET /metrics",
}

// refusal is why a process inside an agent may not use a route.
type refusal struct {
	code daemon.Code
	what string
}

// refusedInside are the refusals with a code of their own.
var refusedInside = map[string]refusal{
	"POST /api/permissions/:id":    {daemon.CodePermissionByAgent, "answer permissions"},
	"POST /api/agents/:id/dialog":  {daemon.CodeDialogByAgent, "answer dialogs"},
	"POST /api/agents/:id/dismiss": {daemon.CodeDismissByAgent, "dismiss agents"},
	"POST /api/agents/dismiss":     {daemon.CodeDismissByAgent, "dismiss agents"},
	"PUT /api/agents/:id/keys":     {daemon.CodeKeysForbidden, "type into panes"},
	"POST /api/agents/:id/keys":    {daemon.CodeKeysForbidden, "type into panes"},
	"DELETE /api/agents/:id/keys":  {daemon.CodeKeysForbidden, "type into panes"},
}

// notInside keeps processes that are agents, or run inside one, from what is the operator's.
func (s *Server) notInside() echo.MiddlewareFunc {
	own := map[string]echo.HandlerFunc{}
	for _, r := range s.ownRoutes() {
		own[r.name()] = withParams(r.params, r.handler)
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			route := c.Request().Method + " " + c.Path()
			if slices.Contains(readInside, route) {
				return next(c)
			}
			agent, inside, err := s.inside(c.Request())
			switch {
			case err != nil:
				return err
			case !inside:
				return next(c)
			case agent == 0 || own[route] == nil:
				return refusedTo(agent, route)
			}
			if id, err := key[int64](c); err != nil {
				return err
			} else if id != agent {
				return errNotYours
			}
			return own[route](c)
		}
	}
}

// inside reports whether a request's sender runs inside an agent, and in which one; 0: that is not known. Over TCP it looks for who sends a
// token, which agents can read, or the key of a sign-in link. A browser that has signed in is not looked for.
func (s *Server) inside(r *http.Request) (agent int64, inside bool, err error) {
	var senders []tmux.Process
	switch peer := sender(r.Context()); {
	case peer != nil && peer.PID == noProcess:
		return 0, true, nil // who waits for an answer is there
	case peer != nil:
		senders = append(senders, peer.Process)
	case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") || takesLink(r):
		switch senders, err = overTCP(r); {
		case errors.Is(err, tmux.ErrNoProcess):
			return 0, true, nil
		case err != nil:
			return 0, false, err
		}
	}
	if len(senders) == 0 {
		return 0, false, nil
	}
	agent, inside = s.Daemon.Inside(r.Context(), senders...)
	return agent, inside, nil
}

// overTCP returns the processes that have, or may have, the other end of a request's connection open; none: they are on another machine, or
// this system does not tell. tmux.ErrNoProcess: they are gone.
func overTCP(r *http.Request) ([]tmux.Process, error) {
	ours, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	theirs, err := netip.ParseAddrPort(r.RemoteAddr)
	if !ok || err != nil {
		return nil, err
	}
	// The kernel's table has no zones, and addresses of version 4 as such.
	plain := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(a.Addr().WithZone("").Unmap(), a.Port())
	}
	from, to := plain(theirs), plain(ours.AddrPort())
	holders, hidden, err := tmux.HoldersOfTCP(from, to)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, tmux.ErrNoProcess) && !ofThisMachine(from.Addr(), to.Addr()) {
		return nil, nil
	}
	if len(holders) == 0 { // A program that hides its files has it.
		return hidden, err
	}
	return holders, err
}

// ofThisMachine reports whether an address that calls ours is this machine's own.
func ofThisMachine(from, ours netip.Addr) bool {
	if from.IsLoopback() || from == ours {
		return true
	}
	own, _ := net.InterfaceAddrs() // without a list only those above count
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == from
	})
}

// refusedTo is the error for a process inside an agent; 0: it is not known which one.
func refusedTo(agent int64, route string) error {
	who := fmt.Sprintf("Agent %d", agent)
	if agent == 0 {
		who = "What an agent has left behind, what runs in the daemon's tmux server, and what is gone before it is answered"
	}
	if why, ok := refusedInside[route]; ok {
		return daemon.Errorf(daemon.KindForbidden, why.code, "%s may not %s: the operator does that from outside of an agent", who, why.what)
	}
	return daemon.Errorf(daemon.KindForbidden, codeOperatorOnly, "%s may not ask for %s: the operator does that from outside of an agent; an agent writes to another one with the tool send_message of `understudy mcp`", who, route)
}
