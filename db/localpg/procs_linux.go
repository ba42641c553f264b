package localpg

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const (
	maxSocketPath  = 107  // sun_path without its NUL
	dialsLongPaths = true // through /proc/self/fd
)

// tie makes the kernel kill a child when the thread that forked it ends. The
// caller must keep that thread until the child has ended.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// belongs reports whether pid is a live PostgreSQL process of the cluster. A
// zombie does not count, because it holds neither files nor memory.
func (c *Cluster) belongs(pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	comm, err := os.ReadFile(proc + "/comm")
	if err != nil || !strings.HasPrefix(string(comm), "postgres") {
		return false
	}
	// Every process of a cluster has its data folder as working directory.
	cwd, err := os.Readlink(proc + "/cwd")
	if !errors.Is(err, fs.ErrPermission) {
		return err == nil && cwd == c.data
	}
	// In a container without CAP_SYS_PTRACE even root may not read this link of
	// another account's process. Look for our cluster_name in the command line
	// instead, which everyone may read.
	args, err := os.ReadFile(proc + "/cmdline")
	return err == nil && bytes.Contains(args, []byte(c.name))
}

// members lists the live processes of the cluster.
func (c *Cluster) members() []int {
	entries, _ := os.ReadDir("/proc") // without /proc the list is empty
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && c.belongs(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// replaced reports whether the program file of pid was deleted. An upgrade of
// the package deletes it.
func (c *Cluster) replaced(pid int) bool {
	link := "/proc/" + strconv.Itoa(pid) + "/exe"
	exe, err := os.Readlink(link)
	if errors.Is(err, fs.ErrPermission) { // see belongs; read the link as the server's account, which may read it
		cmd := exec.Command("readlink", link)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.who.credential()}
		var out []byte
		out, err = cmd.Output()
		exe = strings.TrimSpace(string(out))
	}
	return err == nil && strings.HasSuffix(exe, " (deleted)")
}
