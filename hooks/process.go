package hooks

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// startOf returns the start time of a process, in clock ticks since boot, and the id of that boot. It reads both from
// Linux's /proc. If there is no /proc or no such process, it returns 0 and "".
func startOf(pid int) (start uint64, boot string) {
	if pid <= 0 {
		return 0, ""
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, ""
	}
	// The program's name is in parentheses and may contain anything; the start time is the 22nd field.
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
