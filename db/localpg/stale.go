package localpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leftoverGrace is the time between SIGQUIT and SIGKILL for backends whose
// server has died.
const leftoverGrace = 500 * time.Millisecond

// clear ends the backends that a killed server left and disarms its lock files.
// We hold the flock and no server runs, so nobody else uses them.
func (c *Cluster) clear(ctx context.Context) error {
	if err := c.endLeftovers(ctx); err != nil {
		return err
	}
	for _, stale := range []string{c.socket(), c.socket() + ".lock"} {
		if err := os.Remove(stale); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("stale PostgreSQL socket: %w", err)
		}
	}
	return c.disarmLockFile()
}

// endLeftovers ends backends that outlived their server. A busy backend notices
// late, and PostgreSQL does not start while one still uses the shared memory.
func (c *Cluster) endLeftovers(ctx context.Context) error {
	left := c.members()
	if len(left) == 0 {
		return nil
	}
	c.log.WarnContext(ctx, "ending backends that outlived postgres", "pids", left)
	kill := func(signal syscall.Signal) {
		for _, pid := range c.members() { // just read, so the ids are not reused
			_ = syscall.Kill(pid, signal) // the backend may have ended by itself
		}
	}
	kill(syscall.SIGQUIT)
	patience := time.NewTimer(leftoverGrace)
	defer patience.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for len(c.members()) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("backends that outlived PostgreSQL: %w", context.Cause(ctx))
		case <-patience.C:
			kill(syscall.SIGKILL)
		case <-tick.C:
		}
	}
	return nil
}

// disarmLockFile puts our own process id into a postmaster.pid that a killed
// server left. The id in the file may by now belong to another process, or to
// a zombie under an init that does not reap, and PostgreSQL would refuse to
// start. PostgreSQL takes its parent's id for stale. Do not remove the file: it
// names shared memory, which PostgreSQL frees when it finds the file.
func (c *Cluster) disarmLockFile() error {
	text, err := os.ReadFile(c.lockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	// PostgreSQL also refuses a file that a power failure emptied. It accepts one
	// that holds our process id alone.
	_, rest, _ := strings.Cut(string(text), "\n")
	disarmed := strconv.Itoa(os.Getpid()) + "\n" + rest
	file, err := os.OpenFile(c.lockFile(), os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0) // keeps the file's owner
	if err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	_, err = file.WriteString(disarmed)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	return nil
}
