package hooks

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestSpooledHookTellsItsProcess: a spooled hook notes the start time and the boot of its agent's process, by which
// a later process with the same id can be told from it.
func TestSpooledHookTellsItsProcess(t *testing.T) {
	t.Parallel()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		stat = []byte(strings.Repeat("0 ", 22)) // a system without /proc has no start times
	}
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // as above
	want := value(strconv.ParseUint(strings.Fields(string(stat))[21], 10, 64))(t)
	for pid, start := range map[int]uint64{os.Getpid(): want, 0: 0, 1 << 30: 0} {
		data := shortDir(t)
		if out, complaint := hook(t, vars{"CLAUDE_PID": strconv.Itoa(pid)}, "{}", "--data", data, "Stop"); out+complaint != "" {
			t.Errorf("%q, %q", out, complaint)
		}
		boot := strings.TrimSpace(string(id))
		if start == 0 {
			boot = ""
		}
		if got := drained(t, data); len(got) != 1 || got[0].AgentPID != pid || got[0].AgentStart != start || got[0].Boot != boot {
			t.Errorf("process %d spooled %+v, want start %d since boot %q", pid, got, start, boot)
		}
	}
}
