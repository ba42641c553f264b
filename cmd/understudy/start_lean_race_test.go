//go:build race

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestStartsLean: what packages do before main begins, counted in allocations, which are the same each time.
// It stands behind the tag because only with it there is a binary apart from the test's own.
func TestStartsLean(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(mainProgram(t), "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, trace)
	}
	total := 0
	for _, m := range regexp.MustCompile(`(?m)^init .* (\d+) allocs$`).FindAllSubmatch(trace, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	const most = 9_000
	if total == 0 || total > most {
		t.Errorf("packages allocate %d times before main begins, want at most %d: compile, parse and fill on first use\n%s", total, most, trace)
	}
}
