package opencodetest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// errorAfter is the time between the first sign that a session is idle and the error of its turn.
const errorAfter = 300 * time.Millisecond

// serve answers a request.
func (s *Server) serve(req *http.Request, in map[string]any) *http.Response {
	text := func(name string) string { v, _ := in[name].(string); return v }
	switch path := req.URL.Path; {
	case path == "/global/health":
		return answer(http.StatusOK, map[string]any{"healthy": true})
	case path == "/session" && req.Method == http.MethodGet:
		found := []*session{}
		for _, one := range s.m.sessions {
			if !one.deleted && strings.Contains(one.Title, req.URL.Query().Get("search")) {
				found = append(found, one)
			}
		}
		return answer(http.StatusOK, found)
	case path == "/session":
		one := &session{ID: s.m.next("ses"), Title: text("title"), Rules: rulesOf(in)}
		s.m.sessions = append(s.m.sessions, one)
		return answer(http.StatusOK, one)
	case path == "/session/status":
		all := map[string]any{}
		for _, one := range s.m.sessions {
			if one.status != nil {
				all[one.ID] = one.status
			}
		}
		return answer(http.StatusOK, all)
	case path == "/config":
		return answer(http.StatusOK, map[string]any{})
	case path == "/agent":
		return answer(http.StatusOK, []any{map[string]any{"name": "build", "mode": "primary", "permission": append([]any{}, s.m.Rules...)}})
	case path == "/permission":
		return answer(http.StatusOK, append([]permission{}, s.asked...))
	case path == "/question":
		return answer(http.StatusOK, []any{})
	case path == "/config/providers":
		return answer(http.StatusOK, map[string]any{"providers": []any{map[string]any{"id": "fake", "models": map[string]any{
			"fake-1": map[string]any{"limit": map[string]int{"context": 100_000}}}}}})
	case path == "/tui/select-session":
		s.shown = text("sessionID")
		return answer(http.StatusOK, true)
	case path == "/tui/publish":
		s.exited.Do(func() { close(s.exit) })
		return answer(http.StatusOK, true)
	case strings.HasPrefix(path, "/session/"):
		id, what, _ := strings.Cut(strings.TrimPrefix(path, "/session/"), "/")
		if one := s.m.session(id); one != nil {
			return s.serveSession(req, one, what, in)
		}
	}
	return answer(http.StatusNotFound, nil)
}

// rulesOf are the rules that a request gives to a session.
func rulesOf(in map[string]any) []any { rules, _ := in["permission"].([]any); return rules }

func (s *Server) serveSession(req *http.Request, one *session, what string, in map[string]any) *http.Response {
	text := func(name string) string { v, _ := in[name].(string); return v }
	switch what {
	case "":
		switch req.Method {
		case http.MethodDelete:
			one.deleted = true
		case http.MethodPatch:
			if title := text("title"); title != "" {
				one.Title = title
			}
			one.Rules = append(one.Rules, rulesOf(in)...)
		}
		return answer(http.StatusOK, one)
	case "prompt_async":
		one.Agents = append(one.Agents, text("agent"))
		s.prompt(one, promptOf(in))
		return answer(http.StatusNoContent, nil)
	case "abort":
		if one.abort != nil {
			one.abort()
		}
		return answer(http.StatusOK, true)
	case "fork":
		fork := &session{ID: s.m.next("ses"), Title: one.Title + " (fork #1)", messages: append([]*message{}, one.messages...)}
		s.m.sessions = append(s.m.sessions, fork)
		return answer(http.StatusOK, fork)
	case "message":
		if req.Method == http.MethodGet {
			return answer(http.StatusOK, one.newest(req.URL.Query().Get("limit")))
		}
		u := s.add(one, map[string]any{"role": "user"}, promptOf(in))
		a := s.add(one, map[string]any{"role": "assistant", "parentID": u.Info["id"]}, s.m.Model(u.text()).Text)
		finish(a, "stop")
		return answer(http.StatusOK, a)
	}
	return answer(http.StatusNotFound, nil)
}

func promptOf(in map[string]any) string {
	parts, _ := in["parts"].([]any)
	part, _ := parts[0].(map[string]any)
	text, _ := part["text"].(string)
	return text
}

// add appends a message to a session.
func (s *Server) add(one *session, info map[string]any, text string) *message {
	info["id"], info["sessionID"] = s.m.next("msg"), one.ID
	info["time"] = map[string]any{"created": time.Now().UnixMilli()}
	info["providerID"], info["modelID"] = "fake", "fake-1"
	msg := &message{Info: info, Parts: []map[string]any{{"type": "text", "text": text}}}
	one.messages = append(one.messages, msg)
	s.tell("message.updated", one.ID, nil)
	return msg
}

func finish(a *message, why string) {
	a.Info["finish"], a.Info["tokens"] = why, map[string]any{"total": 1241}
	a.Info["time"].(map[string]any)["completed"] = time.Now().UnixMilli()
}

// prompt takes a prompt. In a turn it is queued; while the error of a turn is being written it is lost.
func (s *Server) prompt(one *session, text string) {
	if back, ok := one.Revert.(map[string]any); ok { // what was taken back goes now
		at := slices.IndexFunc(one.messages, func(m *message) bool { return m.Info["id"] == back["messageID"] })
		one.messages, one.Revert = one.messages[:at], nil
		s.tell("message.removed", one.ID, nil)
		s.tell("session.updated", one.ID, map[string]any{"info": one})
	}
	s.add(one, map[string]any{"role": "user"}, text)
	if one.abort == nil && !one.writing {
		s.begin(one)
	}
}

// begin begins to work on the prompts of a session. The caller holds the lock.
func (s *Server) begin(one *session) {
	ctx, cancel := context.WithCancel(s.gone)
	one.abort = cancel
	s.running.Go(func() {
		defer cancel()
		for s.turn(ctx, one) {
		}
	})
}

// turn answers the next prompt of a session. It returns false if there is none or the turn was aborted.
func (s *Server) turn(ctx context.Context, one *session) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	var u *message
	for _, msg := range one.messages {
		if msg.Info["role"] == "user" {
			u = msg
		}
	}
	if u == nil || one.answered(u) {
		s.idle(one)
		one.abort = nil
		return false
	}
	one.status = map[string]any{"type": "busy"}
	s.tell("session.status", one.ID, nil)
	a := s.add(one, map[string]any{"role": "assistant", "parentID": u.Info["id"]}, "")
	turn := s.m.Model(u.text())
	if err := s.work(ctx, one, turn); err != nil {
		s.idle(one)
		one.writing, one.abort = true, nil
		s.unlocked(func() { <-time.After(errorAfter) })
		a.Info["error"] = err
		a.Info["time"].(map[string]any)["completed"] = time.Now().UnixMilli()
		one.writing = false
		s.tell("message.updated", one.ID, nil)
		s.idle(one)
		return false
	}
	a.Parts[0]["text"] = turn.Text
	finish(a, "stop")
	s.tell("message.updated", one.ID, nil)
	return true
}

func (s *Server) idle(one *session) {
	one.status = nil
	s.tell("session.status", one.ID, nil)
	s.tell("session.idle", one.ID, nil)
}

func (s *Server) unlocked(wait func()) {
	s.m.mu.Unlock()
	defer s.m.mu.Lock()
	wait()
}

// work does what the model does in a turn. It returns the error of the turn; nil: it ended well.
func (s *Server) work(ctx context.Context, one *session, turn Turn) (failed map[string]any) {
	wait := func(c <-chan struct{}) {
		s.unlocked(func() {
			select {
			case <-c:
			case <-ctx.Done():
			}
		})
	}
	if turn.Asks != "" {
		p := permission{ID: s.m.next("per"), Session: one.ID, Permission: "bash", Patterns: []string{turn.Asks}, reply: make(chan struct{})}
		s.asked = append(s.asked, p)
		s.tell("permission.asked", one.ID, nil)
		wait(p.reply)
	}
	if turn.Retry > 0 {
		one.status = map[string]any{"type": "retry", "message": cmp.Or(turn.Why, "too many"), "next": time.Now().Add(turn.Retry).UnixMilli()}
		s.tell("session.status", one.ID, nil)
		wait(nil)
	}
	if turn.Refused > 0 {
		one.status = map[string]any{"type": "retry", "attempt": 1, "message": "The server is overloaded", "next": time.Now().Add(2 * time.Second).UnixMilli()}
		s.tell("session.status", one.ID, nil)
		s.unlocked(func() {
			select {
			case <-time.After(turn.Refused):
			case <-ctx.Done():
			}
		})
		one.status = map[string]any{"type": "busy"}
		s.tell("session.status", one.ID, nil)
	}
	if turn.Hold != nil {
		wait(turn.Hold)
	}
	if ctx.Err() == nil && turn.Do != nil {
		s.unlocked(turn.Do)
	}
	switch {
	case ctx.Err() != nil:
		failed = map[string]any{"name": "MessageAbortedError", "data": map[string]any{"message": "Aborted"}}
	case turn.Status != 0:
		failed = map[string]any{"name": "APIError", "data": map[string]any{"message": "refused", "statusCode": turn.Status}}
	}
	if failed != nil {
		s.tell("session.error", one.ID, map[string]any{"error": failed})
	}
	return failed
}

// Revert takes a session back to before its nth prompt, from 0 on, as a person does with /undo.
func (m *Machine) Revert(id string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.session(id)
	for _, msg := range one.messages {
		if msg.Info["role"] != "user" {
			continue
		}
		if n--; n < 0 {
			one.Revert = map[string]any{"messageID": msg.Info["id"]}
			break
		}
	}
	for _, s := range m.servers {
		s.tell("session.updated", id, map[string]any{"info": one})
	}
}
