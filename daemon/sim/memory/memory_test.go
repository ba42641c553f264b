package memory_test

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/daemon/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		s := memory.New()
		return storetest.Harness{
			Store:   s,
			SetHost: func(_ testing.TB, host, dataRoot string) { s.SetHost(host, dataRoot) },
			Line: func(t testing.TB, first *daemon.Agent, n int) {
				for previous := first.ID; previous < first.ID+int64(n); {
					previous = storetest.NewAgent(t, s, func(a *daemon.Agent) { a.PreviousAgentID = &previous }).ID
				}
			},
		}
	})
}
