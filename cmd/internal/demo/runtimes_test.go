package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestRuntimesHaveTasks: each runtime has a task in the story, because the story goes round all of them.
func TestRuntimesHaveTasks(t *testing.T) {
	t.Parallel()
	if got, want := len(runtimeTasks), len(catalog.Names()); got != want {
		t.Errorf("%d tasks for %d runtimes", got, want)
	}
}

// TestRealOnes: the demo says which CLIs are in PATH.
func TestRealOnes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, step := range []struct {
		add  func(*runtimes.Runtime) bool
		want string
	}{
		{func(*runtimes.Runtime) bool { return false }, "Real CLIs in PATH: none; not in PATH: claude, codex, opencode, omp, gemini."},
		{func(rt *runtimes.Runtime) bool { return rt.Name == "codex" }, "Real CLIs in PATH: codex; not in PATH: claude, opencode, omp, gemini."},
		{func(*runtimes.Runtime) bool { return true }, "Real CLIs in PATH: claude, codex, opencode, omp, gemini; not in PATH: none."},
	} {
		for _, rt := range catalog.All() {
			if step.add(rt) {
				wardentest.Must(t, os.WriteFile(filepath.Join(dir, rt.Command[0]), nil, 0o700))
			}
		}
		equal(t, "realOnes()", realOnes(), step.want)
	}
}
