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

// leftoverGrace is how long endLeftovers waits between SIGQUIT and SIGKILL.
const leftoverGrace = 500 * time.Millisecond

// clear ends the backends that a killed server left, and disarms its lock files.
// Nobody else uses these, because we hold the folder's lock and no server runs.
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
// late that its server has died. PostgreSQL does not start while a backend still
// uses the shared memory.
func (c *Cluster) endLeftovers(ctx context.Context) error {
	left := c.members()
	if len(left) == 0 {
		return nil
	}
	c.log.WarnContext(ctx, "ending backends that outlived postgres", "pids", left)
	kill := func(signal syscall.Signal) {
		for _, pid := range c.members() { // read the ids now, so that they still belong to the backends
			_ = syscall.Kill(pid, signal) // ignore the error: the backend may have ended by itself
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
// server left. The id in the file may now belong to another process, or to a
// zombie that init does not reap. PostgreSQL would then refuse to start. If the
// id is that of its own parent, PostgreSQL treats the file as stale. Do not
// remove the file: it names shared memory, which PostgreSQL frees when it finds
// the file.
func (c *Cluster) disarmLockFile() error {
	text, err := os.ReadFile(c.lockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	// PostgreSQL also refuses an empty file, which a power failure may leave. It
	// accepts a file that holds only our process id.
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
