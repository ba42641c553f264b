package childtest

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// WantLean runs a command and fails if its packages allocate more than most times before main begins. The number of
// allocations shows the cost of a start and, unlike the time, is the same at each run.
func WantLean(t testing.TB, cmd *exec.Cmd, most int) {
	t.Helper()
	cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
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
	if total == 0 || total > most {
		t.Errorf("packages allocate %d times before main begins, want at most %d: compile, parse and fill on first use\n%s", total, most, trace)
	}
}
