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

// programs are built once, when a test first needs them, into a folder that goes with this process.
// They are built without the race detector, with which each process would take a tenth of a second
// to begin and to end: what they do at once is tested with it in their own packages. Nor do they hold anything for
// debuggers, which is a third of the linker's work.
var programs struct {
	mu  sync.Mutex
	dir string
}

func programsDir() (string, error) {
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if programs.dir != "" {
		return programs.dir, nil
	}
	dir, err := os.MkdirTemp("", "us-bin")
	if err == nil {
		programs.dir, err = dir, os.Chmod(dir, 0o711)
	}
	return dir, err
}

// buildPrograms runs go build for packages, each of which becomes the program of its folder's name.
func buildPrograms(packages ...string) (string, error) {
	dir, err := programsDir()
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", append([]string{"build", "-race=false", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + "/"}, packages...)...).CombinedOutput()
	if err != nil {
		err = errors.Join(err, fmt.Errorf("%s", out))
	}
	return dir, err
}

var (
	buildMain  = sync.OnceValues(func() (string, error) { return buildPrograms(".", "../understudy-hook") })
	buildAgent = sync.OnceValues(func() (string, error) { return buildPrograms("../understudy-hook", "./testdata/agent") })
)

// mainProgram is understudy for tests that run it, with the program of hooks beside it.
func mainProgram(t testing.TB) string { return builtProgram(t, buildMain, "understudy") }

// hookProgram is what agents' hooks are run with, the real one, and agentProgram the scripted agent.
func hookProgram(t testing.TB) string  { return builtProgram(t, buildAgent, "understudy-hook") }
func agentProgram(t testing.TB) string { return builtProgram(t, buildAgent, "agent") }

func builtProgram(t testing.TB, build func() (string, error), name string) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatalf("build of %s: %v", name, err)
	}
	return filepath.Join(dir, name)
}
