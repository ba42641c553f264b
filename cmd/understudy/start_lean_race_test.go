//go:build race

package main

import (
	"os/exec"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
)

// TestStartsLean stands behind the tag because only with it there is a binary apart from the test's own.
func TestStartsLean(t *testing.T) {
	t.Parallel()
	childtest.WantLean(t, exec.Command(mainProgram(t), "--version"), 9_000)
}
