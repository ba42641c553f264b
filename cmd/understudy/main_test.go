package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary be `understudy`: agents, their hooks and their panes run it, and
// scripts by a link of that name.
func TestMain(m *testing.M) {
	linked := filepath.Base(os.Args[0]) == "understudy"
	switch {
	case !linked && (len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.")):
		code := m.Run()
		removeAgentBinary()
		os.Exit(code)
	case len(os.Args) > 2 && os.Args[1] == "crash-serve":
		os.Exit(crashServe(os.Args[2:]))
	}
	os.Exit(dispatch(os.Args[1:]))
}
