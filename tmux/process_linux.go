package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readStat reads /proc/PID/stat, see proc_pid_stat(5). When a thread other than the first calls exec, the kernel shows
// the first thread as a zombie until the other thread takes its place, although the process is alive. For an instant
// the kernel even shows no thread at all (measured on Linux 6). readStat therefore counts a process as a zombie only if
// it has exactly one thread.
func readStat(pid int) (st stat, err error) {
	for until := time.Now().Add(time.Second); time.Now().Before(until); {
		var threads int
		if st, threads, err = readStatOnce(pid); err != nil || !st.zombie || threads == 1 {
			return st, err
		}
		if threads > 1 {
			st.zombie = false
			return st, nil
		}
		runtime.Gosched() // look again: the kernel shows no thread while another one calls exec, which on a busy machine takes a while
	}
	return st, nil
}

// readStatOnce also returns the number of the process's threads; 0 if it is not known.
func readStatOnce(pid int) (st stat, n int, err error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return stat{}, 0, ErrNoProcess
	}
	if err != nil {
		return stat{}, 0, err
	}
	// The name is in parentheses and may contain anything, even parentheses and spaces.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const state, parent, group, front, threads, start = 0, 1, 2, 5, 17, 19 // fields 3, 4, 5, 8, 20 and 22 of the manual
	if len(fields) <= start {
		return stat{}, 0, fmt.Errorf("stat %q is too short", b)
	}
	st = stat{zombie: bytes.ContainsAny(fields[state], "ZXx"), stopped: bytes.ContainsAny(fields[state], "Tt")}
	if n, err = strconv.Atoi(string(fields[threads])); err != nil {
		return stat{}, 0, fmt.Errorf("threads in stat: %w", err)
	}
	if st.parent, err = strconv.Atoi(string(fields[parent])); err != nil {
		return stat{}, 0, fmt.Errorf("parent in stat: %w", err)
	}
	if st.group, err = strconv.Atoi(string(fields[group])); err != nil {
		return stat{}, 0, fmt.Errorf("process group in stat: %w", err)
	}
	if st.front, err = strconv.Atoi(string(fields[front])); err != nil {
		return stat{}, 0, fmt.Errorf("foreground group in stat: %w", err)
	}
	if st.start, err = strconv.ParseUint(string(fields[start]), 10, 64); err != nil {
		return stat{}, 0, fmt.Errorf("start time in stat: %w", err)
	}
	return st, n, nil
}

// errNoPidfd means that this kernel or sandbox has no pidfds.
var errNoPidfd = errors.New("no pidfd")

// open returns a pidfd of exactly this process, or ErrNoProcess.
func (p Process) open() (*os.File, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL) && p.PID <= 0:
		return nil, ErrNoProcess
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNoPidfd, err)
	}
	// Make the descriptor non-blocking, so that Go's poller waits for it and no thread per process is needed.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("pidfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	// Check again: before pidfd_open, the process may have ended and a later process may have got its id.
	if !p.Alive() {
		_ = f.Close()
		return nil, ErrNoProcess
	}
	return f, nil
}

// Wait returns nil when the process has ended. If ctx ends first, it returns the cause. Any number of
// goroutines may wait, and the process need not be our child.
func (p Process) Wait(ctx context.Context) error {
	f, err := p.open()
	switch {
	case errors.Is(err, ErrNoProcess):
		return nil
	case errors.Is(err, errNoPidfd):
		return p.poll(ctx)
	case err != nil:
		return p.wrap(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	conn, err := f.SyscallConn()
	if err != nil {
		return p.wrap(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
		n, err := unix.Poll(fds, 0)
		return n > 0 && err == nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("process %d: %w", p.PID, context.Cause(ctx))
	default: // the poller does not accept the descriptor
		return p.poll(ctx)
	}
}

// Signal sends a signal to this process, and never to a later process with the same id (without pidfds that is not
// certain, see signalByID). ErrNoProcess means that the process has ended.
func (p Process) Signal(sig syscall.Signal) error {
	f, err := p.open()
	if errors.Is(err, errNoPidfd) {
		return p.signalByID(sig)
	}
	if err != nil {
		return p.wrap(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	conn, err := f.SyscallConn()
	if err != nil {
		return p.wrap(err)
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return p.wrap(err)
	}
	if errors.Is(sent, unix.ESRCH) {
		return p.wrap(ErrNoProcess)
	}
	if sent != nil {
		return p.wrap(sent)
	}
	return nil
}
