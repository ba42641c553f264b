package hooks

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// agentsGroup is the name of the control group in which the agents of a daemon run. What an agent starts is in it too, also if it leaves its
// parents and empties its environment.
const agentsGroup = "understudy-agents"

// JoinAgentsGroup moves this process into a control group below its own. It fails where the system has no control groups of version 2, or
// this user may make none, as in a session that systemd has not delegated.
func JoinAgentsGroup() error {
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
		root = filepath.Join(root, "unified") // beside those of version 1
	}
	dir := filepath.Join(root, groupOf("self"), agentsGroup)
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o600)
}

// InAgentsGroup reports whether a process is in a group that [JoinAgentsGroup] has made. A group does not count in which this process itself
// runs, as that of an agent which has started a daemon of its own.
func InAgentsGroup(pid int) bool {
	own, at := groupOf("self")+"/", ""
	for _, name := range strings.Split(strings.TrimPrefix(groupOf(strconv.Itoa(pid)), "/"), "/") {
		if at += "/" + name; name == agentsGroup && !strings.HasPrefix(own, at+"/") {
			return true
		}
	}
	return false
}

// groupOf returns the path of a process's control group of version 2; "": it has none, or is gone.
func groupOf(process string) string {
	groups, _ := os.ReadFile("/proc/" + process + "/cgroup") // there is none on systems without control groups
	for line := range strings.Lines(string(groups)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(strings.TrimSpace(path), "/")
		}
	}
	return ""
}
