//go:build race

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var agentBinaryDir string

// buildAgentBinary makes the real binary, once.
var buildAgentBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "us-bin")
	if err != nil {
		return "", err
	}
	agentBinaryDir = dir
	binary := filepath.Join(dir, "understudy")
	out, err := exec.Command("go", "build", "-race=false", "-o", binary, ".").CombinedOutput()
	if err != nil {
		err = errors.Join(err, fmt.Errorf("%s", out))
	}
	return binary, errors.Join(err, os.Chmod(dir, 0o711))
})

// agentBinary is what agents and their hooks are run with. Under the race detector that is the real
// binary without it: they are several processes for each turn, of which each would take a tenth of a
// second to begin and to end. What they do at once is tested with the detector in their own packages.
func agentBinary(t testing.TB) string {
	t.Helper()
	binary, err := buildAgentBinary()
	if err != nil {
		t.Fatalf("binary for agents: %v", err)
	}
	return binary
}

func init() { afterTests = append(afterTests, removeAgentBinary) }

func removeAgentBinary() {
	if agentBinaryDir != "" {
		_ = os.RemoveAll(agentBinaryDir)
	}
}
