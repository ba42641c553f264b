//go:build race

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestHookStartsLean: agents wait for a hook's process at every turn, and it is this program with all that
// it is linked with. What packages do before main begins is counted in allocations, which are the same
// each time. It stands behind the tag because only with it there is a binary apart from the test's own.
func TestHookStartsLean(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(agentBinary(t), "hook", "stop")
	cmd.Stdin = strings.NewReader("{}")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "HOME="+t.TempDir(), "UNDERSTUDY_DATA="+t.TempDir())
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
	const most = 11_000
	if total == 0 || total > most {
		t.Errorf("packages allocate %d times before main begins, want at most %d: compile, parse and fill on first use\n%s", total, most, trace)
	}
}
