//go:build !race

package main

import (
	"os"
	"testing"
)

// mainProgram is understudy for tests that run it: the test binary itself.
func mainProgram(t testing.TB) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
