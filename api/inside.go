package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// readInside are the routes of the main socket that answer a process inside an agent as they answer the operator: they tell how
// things stand, and nothing of what stands on others' screens, in their documents and in their messages. Beside them there are
// [Server.ownRoutes], and the hooks, which prove their sender. All else is the operator's, and each new route is, too.
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

// inside reports whether a request's sender runs inside an agent, and in which one; 0: that is not known. Over TCP it looks for the sender of
// a token only, which agents can read: a browser has signed in with a link that no agent gets.
func (s *Server) inside(r *http.Request) (agent int64, inside bool, err error) {
	var senders []tmux.Process
	switch peer := sender(r.Context()); {
	case peer != nil && peer.PID == noProcess:
		return 0, true, nil // who waits for an answer is there
	case peer != nil:
		senders = append(senders, peer.Process)
	case r.Header.Get("Authorization") != "":
		switch senders, err = overTCP(r); {
		case errors.Is(err, tmux.ErrNoProcess):
			return 0, true, nil
		case err != nil:
			return 0, false, err
		}
	}
	for _, proc := range senders {
		if agent, inside, err := s.Daemon.Inside(r.Context(), proc); err != nil || inside {
			return agent, inside, err
		}
	}
	return 0, false, nil
}

// overTCP returns the processes of this machine that have the other end of a request's connection open. tmux.ErrNoProcess: they are gone.
func overTCP(r *http.Request) ([]tmux.Process, error) {
	ours, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	theirs, err := netip.ParseAddrPort(r.RemoteAddr)
	if !ok || err != nil {
		return nil, err
	}
	unmapped := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
	holders, err := tmux.HoldersOfTCP(unmapped(theirs), unmapped(ours.AddrPort()))
	if !theirs.Addr().Unmap().IsLoopback() && errors.Is(err, tmux.ErrNoProcess) || errors.Is(err, errors.ErrUnsupported) { // They are on another machine, or cannot be told.
		return nil, nil
	}
	return holders, err
}

// refusedTo is the error for a process inside an agent; 0: it is not known which one.
func refusedTo(agent int64, route string) error {
	who := fmt.Sprintf("Agent %d", agent)
	if agent == 0 {
		who = "A process that runs in the daemon's tmux server, or that is gone before its request is answered,"
	}
	if why, ok := refusedInside[route]; ok {
		return daemon.Errorf(daemon.KindForbidden, why.code, "%s may not %s: the operator does that from outside of an agent", who, why.what)
	}
	return daemon.Errorf(daemon.KindForbidden, codeOperatorOnly, "%s may not ask for %s: the operator does that from outside of an agent; an agent writes to another one with the tool send_message of `understudy mcp`", who, route)
}
