package hooks

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
)

// shells are the programs that a runtime may put between itself and its hook.
var shells = []string{"sh", "bash", "dash", "ash", "zsh"}

// callerOf returns pid, or, if that process is a shell, the nearest of its ancestors that is not; 0: it is not known.
// Only Claude Code tells its hooks its own process. What an agent of another runtime starts may inherit the agent's hooks,
// but those have another caller.
func callerOf(pid int) int {
	const deepest = 4
	for range deepest {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err != nil {
			return 0
		}
		if !slices.Contains(shells, strings.TrimSpace(string(comm))) {
			return pid
		}
		fields := statOf(pid)
		if len(fields) < 2 {
			return 0
		}
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			return 0
		}
	}
	return 0
}

// statOf returns the fields of a process behind its name, from the state on; nil: there is no /proc or no such process.
func statOf(pid int) [][]byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// The program's name is in parentheses and may contain anything.
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// startOf returns the start time of a process, in clock ticks since boot, and the id of that boot. It reads both from
// Linux's /proc. If there is no /proc or no such process, it returns 0 and "".
func startOf(pid int) (start uint64, boot string) {
	if pid <= 0 {
		return 0, ""
	}
	fields := statOf(pid)
	const startField = 19 // the 22nd of all
	if len(fields) <= startField {
		return 0, ""
	}
	start, err := strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, ""
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0, ""
	}
	return start, strings.TrimSpace(string(id))
}
