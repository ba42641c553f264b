package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// askVariable makes this test program a client that sends the request which the variable names (socket, method, path), and prints
// the status of the answer.
const askVariable = "API_TEST_ASK"

func askOnce(request string) {
	words := strings.Fields(request)
	c := NewClient(words[0])
	r, err := http.NewRequestWithContext(context.Background(), words[1], "http://localhost"+words[2], nil)
	if err == nil {
		var got *http.Response
		if got, err = c.http.Do(r); err == nil {
			fmt.Print(got.StatusCode)
			return
		}
	}
	fmt.Print(err)
}

// insideMay is what a process inside an agent may ask for at the main socket. It is named here, so that nobody gives agents a route by
// mistake. Those of the agent itself are refused here, because they name another agent.
const insideMay = `GET /pipelines
GET /pipelines/:id
GET /api/pipelines
GET /api/pipelines/:id
GET /api/worktrees
GET /api/worktrees/:id
GET /api/worktrees/:id/diff
GET /api/agents
GET /api/agents/:id
GET /api/agents/:id/diff
GET /api/agents/:id/timeline
GET /api/handoffs
GET /api/handoffs/:id
GET /api/handoffs/:id/transitions
GET /api/handoffs/:id/durations
GET /api/handoffs/:id/line
GET /api/attention
GET /api/attention/count
GET /api/runtimes
GET /api/personas
GET /api/personas/:slug
GET /api/personas/:slug/budget
GET /api/usage
GET /api/personas/:slug/handoffs
GET /api/templates
GET /api/openapi.yaml
POST /hooks/:event
GET /healthz
GET /readyz
GET /metrics`

// TestAnAgentIsNotTheOperator goes through all routes of the main socket as a process inside an agent, and over TCP with the token, which an
// agent can read.
func TestAnAgentIsNotTheOperator(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug := h.persona()
	other := h.launched("other", "s-1", func(a *daemon.Agent) { a.Host = "here" })
	leave := h.asAgent()
	before := value(h.store.LastEventID(t.Context()))(t)
	for _, door := range []door{h.mainDoor(), h.tcpDoor()} {
		var may []string
		for _, r := range h.server.routes() {
			if r.path == "/api/events" {
				continue // It answers for as long as it is read.
			}
			got := door.do(r.method, filled(r.path, other.ID, slug), requiredBody(r))
			if got.status != http.StatusForbidden {
				may = append(may, r.name())
			}
		}
		equal(t, "an agent may at the "+door.name, strings.Join(may, "\n"), insideMay)
	}
	unchanged(h, "an agent", before)
	for path, want := range map[string]string{
		"/pipelines/1/approve":                    "operator_only",
		"/api/personas/" + slug + "/budget/go-on": "operator_only",
		"/api/dashboard/links":                    "operator_only",
		at("agents", other.ID, "/messages"):       "not_your_agent",
		at("agents", other.ID, "/handoff"):        "not_your_agent",
	} {
		h.mainDoor().do("POST", path, `{"text": "!id", "command": true}`).wants(t, path, 403, want)
	}
	leave()
	h.mainDoor().ok("POST", "/api/dashboard/links", "{}")
}

// TestAnAgentAsksAboutItself: at the main socket it may do what it may do at its own.
func TestAnAgentAsksAboutItself(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	h.asAgent()
	own := slices.MaxFunc(value(h.store.Agents(t.Context(), daemon.AgentFilter{}))(t), func(a, b daemon.Agent) int { return int(a.ID - b.ID) })
	h.mainDoor().do("POST", at("agents", own.ID, "/messages"), `{"text": "!id", "command": true}`).wants(t, "a command", 403, "operator_only")
	h.mainDoor().do("POST", at("agents", own.ID, "/handoff"), `{"drop_messages": true}`).wants(t, "to drop its messages", 403, "operator_only")
	h.mainDoor().ok("POST", at("agents", own.ID, "/messages"), `{"text": "go on then"}`)
}

// TestAnOrphanOfAnAgentIsNotTheOperator: a process that has left its agent's has the secret of the launch in its environment, also when the
// agent has ended. A process that has ended before it could be looked at may have been an agent's.
func TestAnOrphanOfAnAgentIsNotTheOperator(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	h.launched("mine", "s-1", func(a *daemon.Agent) { a.Host = "here" })
	h.launched("over", "s-2", ended)
	for secret, want := range map[string]string{"mine": "403", "over": "403", "of no agent": "201"} {
		ask := exec.Command(value(os.Executable())(t))
		ask.Env = append(os.Environ(), askVariable+"="+h.main+" POST /api/dashboard/links", "UNDERSTUDY_LAUNCH="+secret)
		equal(t, "a process with the secret "+secret, string(value(ask.Output())(t)), want)
	}
	everything, _ := h.server.Handlers()
	gone := tmux.Peer{Process: tmux.Process{PID: noProcess}}
	r := httptest.NewRequest("POST", "/api/dashboard/links", nil).WithContext(context.WithValue(t.Context(), senderKey{}, &gone))
	w := httptest.NewRecorder()
	everything.ServeHTTP(w, r)
	equal(t, "a process that is gone", w.Code, http.StatusForbidden)
}
