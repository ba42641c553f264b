//go:build race

package main

import (
	"sync"
	"testing"
)

var buildMain = sync.OnceValues(func() (string, error) { return buildPrograms(".") })

// mainProgram is understudy for tests that run it: the real one, without the race detector.
func mainProgram(t testing.TB) string { return builtProgram(t, buildMain, "understudy") }
