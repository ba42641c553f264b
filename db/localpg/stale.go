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

// leftoverGrace is what backends without a server get between SIGQUIT and
// SIGKILL.
const leftoverGrace = 500 * time.Millisecond

// clear ends what a killed server left and disarms its lock files. The flock
// and the absence of a server make sure that nobody else uses them.
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

// endLeftovers ends backends that outlived their server: a busy one notices
// late, and PostgreSQL does not start while one holds the shared memory.
func (c *Cluster) endLeftovers(ctx context.Context) error {
	left := c.members()
	if len(left) == 0 {
		return nil
	}
	c.log.WarnContext(ctx, "ending backends that outlived postgres", "pids", left)
	kill := func(signal syscall.Signal) {
		for _, pid := range c.members() { // seen this instant, so the ids are not reused
			_ = syscall.Kill(pid, signal) // it may have ended by itself
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
// server left. Its id may by now be a stranger's, or a zombie's under an init
// that does not reap, and PostgreSQL would refuse to start; its parent's id it
// takes for stale. Removing the file would leak the shared memory that it
// names, and PostgreSQL frees that when it finds the file.
func (c *Cluster) disarmLockFile() error {
	text, err := os.ReadFile(c.lockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	// A file that a power failure emptied, which PostgreSQL refuses too, becomes
	// one with our process id alone, which it takes.
	_, rest, _ := strings.Cut(string(text), "\n")
	disarmed := strconv.Itoa(os.Getpid()) + "\n" + rest
	file, err := os.OpenFile(c.lockFile(), os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0) // the owner stays
	if err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	_, err = file.WriteString(disarmed)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	return nil
}
