package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestFloodsOfRows: whoever sends more than their budget is refused, whatever they name as theirs, and others are not. The operator is told once
// a minute.
func TestFloodsOfRows(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) {
		few := budget{0.001, 1, 3, 1000}
		s.floods.budgets.agent = map[load]budget{loadHooks: few, loadRequests: few, loadContext: few}
		s.floods.budgets.stranger = few
	})
	own := value(tmux.FindProcess(os.Getpid()))(t)
	mine := h.launched("mine", "s-1", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart = "here", own.PID, own.Start })
	h.launched("other", "s-2", func(a *daemon.Agent) { a.Host = "here" })
	taken := func(door door, path, body string) (n int) {
		for ; n < 10; n++ {
			got := door.with(hookKeyHeader, fmt.Sprint("k", len(body), door.header.Get(launchHeader), n)).do("POST", path, body)
			if strings.Contains(string(got.body), "too_many") {
				return n
			}
		}
		return n
	}
	door := h.hookDoor().with(launchHeader, "mine")
	equal(t, "messages that are taken", taken(door, at("agents", mine.ID, "/messages"), `{"text": "x"}`), 3)
	door.do("POST", at("agents", mine.ID, "/handoff"), "{}").wants(t, "a handoff after that", 429, "too_many")
	equal(t, "contexts", taken(door, at("agents", mine.ID, "/context"), `{"percent": 1}`), 3)
	const hook = `{"hook_event_name": "Stop", "session_id": "x"}`
	equal(t, "hooks with another's secret", taken(h.hookDoor().with(launchHeader, "other"), "/hooks/Stop", hook), 3)
	equal(t, "hooks with an own one, after that", taken(door, "/hooks/Stop", hook), 0)
	equal(t, "bytes", taken(h.tcpDoor(), "/hooks/Stop", strings.Replace(hook, "x", strings.Repeat("x", 600), 1)), 1)
	wardentest.Eventually(t, "one alert for each kind", func() bool {
		list := value(h.store.Audit(t.Context(), daemon.AuditFilter{Types: []string{string(event.Flooded)}}))(t)
		return len(list) == 3
	})
}

// TestFloodsOfConnections: open connections, by strangers or by one agent, keep nobody else out.
func TestFloodsOfConnections(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) {
		s.floods.budgets.ofAddress, s.floods.budgets.ofSender, s.floods.budgets.ofOthers, s.floods.budgets.ofHooks = 4, 4, 40, 100
	})
	open := func(network, address string, n int) (conns []net.Conn) {
		for range n {
			conn := value(net.Dial(network, address))(t)
			t.Cleanup(func() { conn.Close() })
			conns = append(conns, conn)
		}
		return conns
	}
	closed := func(what string, conn net.Conn) {
		t.Helper()
		must(t, conn.SetReadDeadline(time.Now().Add(readHeaderTimeout/2))) // by then any silent connection is closed
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !strings.Contains(fmt.Sprint(err), "reset") {
			t.Errorf("%s: %v", what, err)
		}
	}
	first := open("tcp", h.tcp, 1)[0]
	answers := bufio.NewReader(first)
	asks := func() {
		t.Helper()
		value(fmt.Fprintf(first, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", h.token))(t)
		got := value(http.ReadResponse(answers, nil))(t)
		equal(t, "status", got.StatusCode, http.StatusOK)
		value(io.Copy(io.Discard, got.Body))(t)
	}
	asks()
	strangers := open("tcp", h.tcp, 20)
	closed("the first stranger", strangers[0])
	h.tcpDoor().ok("GET", "/healthz", "")

	hooks := open("unix", h.hook, 5)
	closed("the fifth of one process at the hook socket", hooks[4])
	own := value(tmux.FindProcess(os.Getpid()))(t)
	known := func() bool {
		return sight.Holder(t.Context(), h.daemon.Sight, own, h.daemon.Processes.Ancestry(own)) != 0
	}
	leave := h.asAgent()
	wardentest.Eventually(t, "the agent is known", known)
	closed("one more of an agent", open("unix", h.main, 5)[4])
	leave()
	wardentest.Eventually(t, "it is known no more", func() bool { return !known() })
	closed("one more than all, of whoever has the most", open("unix", h.main, 40)[39])
	h.tcpDoor().ok("GET", "/healthz", "")
	asks()
}
