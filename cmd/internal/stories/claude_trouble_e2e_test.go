//go:build e2e

package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// isInTrouble: the API refuses the CLI's requests in several ways, and then answers.
func isInTrouble(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	told := len(r.agentEvents(a.ID, "operator_notified"))
	for i, row := range []struct {
		status int
		code   string
	}{{400, "runtime_error"}, {401, "authentication_failed"}, {429, "rate_limit"}} {
		r.api.SetScript(claudetest.Fails(row.status, "refused by the fake"))
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Go on").ID, daemon.Submitted)
		r.await(fmt.Sprintf("a failed turn by %d", row.status), func() (bool, string) {
			return len(r.tap.of(a.ID, hooks.StopFailure)) > i, r.tap.String()
		})
		now := r.awaitAgent(a.ID, row.code, func(a daemon.Agent) bool { return a.Trouble != nil && a.Trouble.Code == row.code })
		if now.State != daemon.Idle || now.LastMessage != "" || !strings.Contains(now.Trouble.Message, fmt.Sprint(row.status)) {
			t.Errorf("%d: agent is %s in trouble %+v, said %q", row.status, now.State, now.Trouble, now.LastMessage)
		}
	}
	r.await("the operator told", func() (bool, string) { return len(r.agentEvents(a.ID, "operator_notified")) > told, "" })
	r.api.SetScript(claudetest.Says("Here I am."))
	r.talk(a.ID, "Go on")
	now := r.awaitAgent(a.ID, "no trouble", func(a daemon.Agent) bool { return a.Trouble == nil })
	if now.LastMessage != "Here I am." || len(r.agentEvents(a.ID, "agent_trouble_over")) != 1 {
		t.Errorf("agent said %q last; its trouble has ended %d times", now.LastMessage, len(r.agentEvents(a.ID, "agent_trouble_over")))
	}
	return a.ID
}
