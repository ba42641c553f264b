package main

import (
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
)

// What these programs do at once is tested with the race detector in their own packages, the agent in stories in memory.
var (
	mainPrograms  = childtest.NewPrograms(".", "../understudy-hook")
	agentPrograms = childtest.NewPrograms("../understudy-hook", "../internal/scripted/testdata/agent")
)

// mainProgram is understudy for tests that run it, with the program of hooks beside it.
func mainProgram(t testing.TB) string { return mainPrograms.Path(t, "understudy") }

// hookProgram is what agents' hooks are run with, the real one, and agentProgram the scripted agent.
func hookProgram(t testing.TB) string  { return agentPrograms.Path(t, "understudy-hook") }
func agentProgram(t testing.TB) string { return agentPrograms.Path(t, "agent") }
