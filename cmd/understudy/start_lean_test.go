package main

import (
	"os/exec"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
)

func TestStartsLean(t *testing.T) {
	t.Parallel()
	childtest.WantLean(t, exec.Command(mainProgram(t), "--version"), 9_000)
}
