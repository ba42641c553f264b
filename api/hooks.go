package api

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/hooks"
)

var hookKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// takeHook takes a hook, whose body is the runtime's own JSON. It answers with the text that the hook command must print.
// That text may be empty.
func (s *Server) takeHook(c echo.Context) error {
	env, err := envelope(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	if err := s.floods.ofHook(ctx, len(env.Body)); err != nil {
		return err
	}
	var held func(int64)
	if env.Holds {
		field := hooks.HeldHeader
		if env.Event == hooks.PermissionRequest {
			field = hooks.AskedHeader
		}
		held = func(id int64) {
			context.AfterFunc(s.streams, cancel) // the server that shuts down does not wait for the end of a handoff or for a person
			s.holdAnswer(c.Response().Writer, field, id)
		}
	}
	out, err := s.Daemon.HookHeld(ctx, env, sender(ctx), held)
	switch {
	case err != nil && ctx.Err() != nil:
		return errCutOff
	case err != nil:
		return err
	}
	return c.Blob(http.StatusOK, "application/json", out)
}

// holdAnswer tells the hook's command that its answer comes when the handoff's document is recorded or the permission is
// answered, or when either has ended. field names it. The time for reading a request does not count from here on: it would cut the connection.
func (s *Server) holdAnswer(w http.ResponseWriter, field string, id int64) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		s.Log.Debug("a held hook keeps its deadline; its command asks again", "error", err)
	}
	w.Header().Set(field, strconv.FormatInt(id, 10))
	w.WriteHeader(http.StatusProcessing)
	w.Header().Del(field)
}

func envelope(c echo.Context) (hooks.Envelope, error) {
	header := c.Request().Header
	env := hooks.Envelope{
		Key: header.Get(hookKeyHeader), Launch: header.Get(launchHeader), Runtime: header.Get(runtimeHeader),
		Tmux: header.Get(tmuxHeader), Pane: header.Get(paneHeader), Holds: header.Get(hooks.HoldsHeader) != "", At: time.Now().UTC(),
	}
	event, ok := hooks.Canonical(c.Param("event"))
	if !ok {
		return env, invalid(codeUnknownEvent, "The address must end in the name of an event, like SessionStart or session-start")
	}
	env.Event = event
	if !hookKey().MatchString(env.Key) {
		return env, invalid(codeInvalidHeader, "Header %s must be a unique key of 1 to 64 letters, digits, - and _", hookKeyHeader)
	}
	if env.Runtime != "" && !hookKey().MatchString(env.Runtime) {
		return env, invalid(codeInvalidHeader, "Header %s must be the name of a runtime", runtimeHeader)
	}
	if pid := header.Get(agentPIDHeader); pid != "" {
		n, err := strconv.ParseInt(pid, 10, 32)
		if err != nil || n < 0 {
			return env, invalid(codeInvalidHeader, "Header %s must be a process id", agentPIDHeader)
		}
		env.AgentPID = int(n)
	}
	env.Boot = header.Get(bootIDHeader)
	if start := header.Get(agentStartHeader); start != "" {
		n, err := strconv.ParseUint(start, 10, 64)
		if err != nil {
			return env, invalid(codeInvalidHeader, "Header %s must be a number of clock ticks", agentStartHeader)
		}
		env.AgentStart = n
	}
	if at := header.Get(hookAtHeader); at != "" {
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return env, invalid(codeInvalidHeader, "Header %s must be a time as RFC 3339 has it", hookAtHeader)
		}
		env.At = t.UTC()
	}
	body, err := readBody(c)
	if err != nil {
		return env, err
	}
	// Check only that the body is a JSON object: the runtime decides which members the object has.
	members, err := object(body)
	if err != nil {
		return env, err
	}
	env.Body = json.RawMessage(body)
	if members == nil {
		env.Body = json.RawMessage("{}")
	}
	return env, nil
}
