package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// peerCredentials returns the process and the user at the other end of a socket. For a listening socket
// these are the credentials of the process that called listen, from the moment of that call.
func peerCredentials(fd int) (pid, uid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Pid), int(cred.Uid), nil
}

// SharesNamespaces returns nil if p and this process are in the same namespaces of these kinds ("pid", "mnt",
// "user"). Only then do process ids and paths mean the same in both processes.
func (p Process) SharesNamespaces(kinds ...string) error {
	for _, kind := range kinds {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the kernel has no such namespaces
		}
		if err != nil {
			return err
		}
		theirs, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/ns/" + kind)
		if err != nil {
			return fmt.Errorf("process %d: %w", p.PID, err)
		}
		if ours != theirs {
			return wrongProcess(fmt.Sprintf("process %d is in another %s namespace, perhaps a container's", p.PID, kind))
		}
	}
	return nil
}

// Owner returns the id of the user under which the process runs.
func (p Process) Owner() (uid int, err error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(p.PID), &st); err != nil {
		return 0, p.wrap(err)
	}
	return int(st.Uid), nil
}

// Name returns the short name of the program that the process runs.
func (p Process) Name() string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// BootID returns the id of this boot of the system, or "". [Process.Start] counts from the boot.
var BootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// program returns the file that a process runs, and the file's path.
func program(pid int) (os.FileInfo, string, error) {
	link := "/proc/" + strconv.Itoa(pid) + "/exe"
	name, err := os.Readlink(link)
	if err != nil {
		return nil, "", err
	}
	info, err := os.Stat(link) // works for a deleted file as well
	return info, name, err
}

// address is a socket whose listener was checked. A tmux command connects to this very socket, even if another socket
// has taken its path.
type address struct{ file *os.File }

// lookAt opens the socket at a path and checks which process listens on it. [ErrNoServer] means that it is not the
// tmux server with the process id pid.
func lookAt(ctx context.Context, socket string, pid int, bin string) (address, error) {
	fd, err := unix.Open(socket, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return address{}, ErrNoServer
	}
	if err != nil {
		return address{}, &os.PathError{Op: "open", Path: socket, Err: err}
	}
	a := address{os.NewFile(uintptr(fd), socket)}
	peer, err := ServerAt(ctx, "/proc/self/fd/"+strconv.Itoa(fd))
	if err == nil {
		err = checkServer(peer, pid, bin)
	}
	if err != nil {
		a.close()
		return address{}, err
	}
	return a, nil
}

// path returns the path at which a command finds the socket if it inherits files as its ExtraFiles.
func (a address) path() string { return "/proc/self/fd/3" }

func (a address) files() []*os.File {
	if a.file == nil {
		return nil
	}
	return []*os.File{a.file}
}

func (a address) close() { _ = a.file.Close() } // ignore the error: nothing was written
