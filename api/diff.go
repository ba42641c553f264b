package api

import (
	"github.com/understudyd/understudy/daemon/agents"
)

// diffRequest reads the parameters of a diff. The parameter file may be given several times.
func diffRequest(p *params) agents.DiffRequest {
	return agents.DiffRequest{Files: p.values[repeated], Stat: p.oneOf("stat", "", "false", "true") == "true"}
}
