package hooks

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// startOf returns when a process started, in clock ticks since the boot whose id it returns too. Both
// come from Linux's /proc; without it, or without the process, there is nothing to tell.
func startOf(pid int) (start uint64, boot string) {
	if pid <= 0 {
		return 0, ""
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, ""
	}
	// The program's name stands in parentheses and may contain anything; the 22nd field is the start.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const startField = 19
	if len(fields) <= startField {
		return 0, ""
	}
	start, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, ""
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0, ""
	}
	return start, strings.TrimSpace(string(id))
}
