package tmux

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// Named returns the process that has the id pid where p runs, which may be a PID namespace below ours, as in a sandbox. It is among those
// that p runs in, or runs inside of p, and started at start; 0: that is not known. ErrNoProcess: there is none, or it is another one.
func (p Process) Named(pid int, start uint64) (Process, error) {
	if p.PID == 0 || start == 0 && p.SharesNamespaces("pid") == nil {
		return FindProcess(pid)
	}
	is := func(at int) bool {
		found, err := FindProcess(at)
		return err == nil && (start == 0 || found.Start == start) && innerID(at) == pid
	}
	for _, at := range p.Ancestry() {
		if is(at) {
			return FindProcess(at)
		}
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return Process{}, err
	}
	for _, entry := range all {
		at, err := strconv.Atoi(entry.Name())
		if err == nil && is(at) && slices.Contains((Process{PID: at, Start: startOf(at)}).Ancestry(), p.PID) {
			return FindProcess(at)
		}
	}
	return Process{}, p.wrap(ErrNoProcess)
}

func startOf(pid int) uint64 {
	st, _ := readStat(pid)
	return st.start
}

// innerID returns the id of a process in a PID namespace below ours; 0: it runs in ours. The kernel lists the ids from ours inwards.
func innerID(pid int) int {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // of a process that has ended there is none
	_, ids, _ := strings.Cut(string(status), "\nNSpid:")
	ids, _, _ = strings.Cut(ids, "\n")
	list := strings.Fields(ids)
	if len(list) < 2 {
		return 0
	}
	id, _ := strconv.Atoi(list[len(list)-1])
	return id
}
