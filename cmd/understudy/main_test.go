package main

import (
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/db/dbtest"
)

// TestMain lets the test binary be `understudy`: agents, their hooks and their panes run it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		if os.Args[1] == "crash-serve" {
			os.Exit(crashServe(os.Args[2:]))
		}
		os.Exit(dispatch(os.Args[1:]))
	}
	os.Exit(dbtest.Main(m)) // ends the cluster that the tests share
}
