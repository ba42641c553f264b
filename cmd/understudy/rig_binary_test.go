//go:build !race

package main

import (
	"os"
	"testing"
)

// agentBinary is what agents and their hooks are run with: the test binary itself.
func agentBinary(t testing.TB) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
