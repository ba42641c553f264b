//go:build !linux

package localpg

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	maxSocketPath  = 103
	dialsLongPaths = false
)

func tie(*syscall.SysProcAttr) {}

// belongs reports whether pid is a live PostgreSQL process of the cluster.
func (c *Cluster) belongs(pid int) bool { return slices.Contains(c.members(), pid) }

// members lists the live processes of the cluster: those whose title contains
// our cluster_name. It lists no zombies, because a zombie has no title.
func (c *Cluster) members() []int {
	out, err := exec.Command("ps", "-axww", "-o", "pid=,args=").Output()
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		pid, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(args, "postgres") && strings.Contains(args, c.name) {
			if n, err := strconv.Atoi(pid); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// replaced returns false, because it cannot find out here. A server whose package was upgraded runs until it is stopped.
func (c *Cluster) replaced(int) bool { return false }
