//go:build e2e

package main

import "testing"

// TestDemoScripts runs testdata/script/demo/*.txt. Each demo makes a PostgreSQL of its own.
func TestDemoScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script/demo/*.txt")
}
