package limits

import (
	"context"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
)

// wentOn is a database in which an agent has gone on since its lane read its row.
type wentOn struct {
	daemon.Store
	agent daemon.Agent
}

func (s *wentOn) Agent(context.Context, int64) (daemon.Agent, error) { return s.agent, nil }

// TestLimitedAgentGoesOnMeanwhile: the lane learns at the request of the handoff that the agent has gone on. It looks at the row again
// before it does anything else: by the row that it has, the agent is at rest, and a text would be given to it.
func TestLimitedAgentGoesOnMeanwhile(t *testing.T) {
	t.Parallel()
	persona := "con"
	was := daemon.Agent{ID: 3, Host: "h", State: daemon.Limited, Managed: true, Persona: &persona, AgentLimit: daemon.AgentLimit{Limit: &daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitHandOver, Runtime: "codex"}}}
	pane := "%1"
	was.Pane, was.PID = &pane, 7
	is := was
	is.State = daemon.Working
	r := Join(intake.New(engine.Config{Host: "h", Store: &wentOn{agent: is}}))
	if moved, _, err := r.handOverLimited(t.Context(), &was); !moved || err != nil {
		t.Errorf("moved %v, %v", moved, err)
	}
}
