package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerCredentials returns the process and the user at the other end of a socket.
func peerCredentials(fd int) (pid, uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return pid, int(cred.Uid), err
}

// SharesNamespaces returns nil, because macOS has no namespaces.
func (p Process) SharesNamespaces(...string) error { return nil }

// Owner returns the id of the user under which the process runs.
func (p Process) Owner() (uid int, err error) {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID)
	if err != nil {
		return 0, p.wrap(err)
	}
	return int(kp.Eproc.Ucred.Uid), nil
}

// Name returns the short name of the program that the process runs.
func (p Process) Name() string {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(kp.Proc.P_comm[:])
}

// BootID returns "". It is not needed on macOS, where hooks do not send start times.
func BootID() string { return "" }

// program returns the file that a process runs, and the path with which it was started.
func program(pid int) (os.FileInfo, string, error) {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, "", err
	}
	const count = 4 // bytes that hold the number of arguments
	if len(args) <= count {
		return nil, "", errors.New("the system does not name its program")
	}
	name, _, _ := bytes.Cut(args[count:], []byte{0})
	info, err := os.Stat(string(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, string(name) + deleted, nil
	}
	return info, string(name), err
}

// address is a socket whose listener was checked. Somebody could put another socket at its path before tmux connects.
// So lookAt accepts only a socket in a folder into which nobody else but us can write.
type address struct{ socket string }

// lookAt checks which process listens on a socket. [ErrNoServer] means that it is not the tmux server with the
// process id pid.
func lookAt(ctx context.Context, socket string, pid int, bin string) (address, error) {
	folder, err := os.Stat(filepath.Dir(socket))
	if err != nil {
		return address{}, err
	}
	if st, ok := folder.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() || folder.Mode().Perm()&0o022 != 0 {
		return address{}, fmt.Errorf("%w: the folder of %s is not ours alone", ErrNoServer, socket)
	}
	peer, err := ServerAt(ctx, socket)
	if err != nil {
		return address{}, err
	}
	if err := checkServer(peer, pid, bin); err != nil {
		return address{}, err
	}
	return address{socket}, nil
}

func (a address) path() string { return a.socket }

func (a address) files() []*os.File { return nil }

func (a address) close() {}

// HoldersOfTCP returns [errors.ErrUnsupported]: this system tells only root who has a socket open.
func HoldersOfTCP(_, _ netip.AddrPort) (holders, hidden []Process, err error) {
	return nil, nil, errors.ErrUnsupported
}
