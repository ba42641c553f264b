package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	pollInterval   = 5 * time.Millisecond
	cannotConnect  = "57P03" // SQLSTATE while a server starts, recovers or stops
	tooManyClients = "53300"
)

var (
	errServerGone = errors.New("PostgreSQL server ended")
	errNotReady   = errors.New("PostgreSQL server not ready")
)

// server is a running postmaster, our child or an adopted one.
type server struct {
	pid    int
	exited chan struct{} // closed when our child has ended; nil for an adopted server
	logged int64         // where this server's part of the log begins
}

// up finds or starts the server and returns when it answers.
func (c *Cluster) up(ctx context.Context) error {
	for {
		s := c.find()
		if s != nil && s != c.running.Load() && (c.replaced(s.pid) || !c.owned()) && c.canLaunch() {
			c.log.InfoContext(ctx, "postgres was upgraded, or runs as an account of others: starting the new one", "pid", s.pid)
			if err := c.halt(ctx, s); err != nil {
				return err
			}
			continue
		}
		launched := s == nil
		if launched {
			var err error
			if s, err = c.launch(ctx); err != nil {
				return err
			}
		}
		isNew := s != c.running.Load()
		if isNew && !launched {
			if err := c.reopen(s); err != nil {
				return err
			}
		}
		err := c.await(ctx, s)
		if err == nil && isNew {
			err = c.giveRole(ctx, s)
		}
		switch {
		case err == nil:
			if c.running.Swap(s) != s {
				c.log.InfoContext(ctx, "postgres ready", "pid", s.pid, "adopted", !launched)
			}
			return nil
		case !errors.Is(err, errServerGone):
			return err
		case launched && c.find() == nil:
			return fmt.Errorf("PostgreSQL start: %s (see %s)", c.lastWords(s), c.LogFile())
		}
		// Try again: the adopted server was stopping and has ended, or our server
		// ended because another server of the cluster was starting.
	}
}

// find returns the server of the cluster, or nil if none runs.
func (c *Cluster) find() *server {
	pid := c.lockFilePID()
	if pid == 0 || !c.belongs(pid) {
		return nil
	}
	if s := c.running.Load(); s != nil && s.pid == pid {
		return s
	}
	return &server{pid: pid}
}

// lockFilePID returns the process id in postmaster.pid, or 0 if there is none.
func (c *Cluster) lockFilePID() int {
	pid, err := strconv.Atoi(c.lockFileLine(1))
	if err != nil || pid < 0 { // a server in single-user mode writes a negative id
		return 0
	}
	return pid
}

// lockFileLine returns a line of postmaster.pid, or "". Line 1 has the process
// id. Line 8 has the state: starting, ready or stopping.
func (c *Cluster) lockFileLine(number int) string {
	text, err := os.ReadFile(c.lockFile())
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < number {
		return ""
	}
	return strings.TrimSpace(lines[number-1])
}

func (c *Cluster) lockFile() string { return filepath.Join(c.data, "postmaster.pid") }

// await returns nil when the server answers, and errServerGone if the server has ended.
func (c *Cluster) await(ctx context.Context, s *server) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	reason := errNotReady
	for {
		// Connect only when the lock file says that the server is ready, because
		// the server logs each refused connection as "FATAL".
		err := errNotReady
		if c.lockFileLine(8) == "ready" {
			err = c.ping(ctx)
		}
		refused, answered := errors.AsType[*pgconn.PgError](err)
		switch {
		case err == nil, answered && refused.Code == tooManyClients:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("PostgreSQL %d does not answer yet (%w): %w", s.pid, reason, context.Cause(ctx))
		case answered && refused.Code != cannotConnect:
			return fmt.Errorf("PostgreSQL %d: %w", s.pid, err)
		case c.gone(s):
			return errServerGone
		}
		reason = err
		select {
		case <-ctx.Done():
		case <-s.exited: // nil for an adopted server, so this never fires
		case <-tick.C:
		}
	}
}

func (c *Cluster) gone(s *server) bool {
	if s.exited == nil {
		return !c.belongs(s.pid)
	}
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// halt stops a server in fast mode and waits for its end.
func (c *Cluster) halt(ctx context.Context, s *server) error {
	if err := syscall.Kill(s.pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("PostgreSQL %d: stop: %w", s.pid, err)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !c.gone(s) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL %d is still stopping: %w", s.pid, context.Cause(ctx))
		case <-s.exited:
		case <-tick.C:
		}
	}
	return nil
}

// canLaunch reports whether the version that the cluster needs is installed.
func (c *Cluster) canLaunch() bool {
	_, err := c.binaries()
	return err == nil
}

// binaries returns the binaries of the major version that made the cluster.
func (c *Cluster) binaries() (Binaries, error) {
	text, err := os.ReadFile(filepath.Join(c.data, "PG_VERSION"))
	if err != nil {
		return Binaries{}, fmt.Errorf("version of the cluster: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return Binaries{}, fmt.Errorf("version of the cluster in %s: %w", c.data, err)
	}
	return find(c.config.BinDir, c.who, major)
}

// launch starts the server in a session of its own, so that it survives the end
// of this process and a Ctrl-C in our terminal.
func (c *Cluster) launch(ctx context.Context) (*server, error) {
	bin, err := c.binaries()
	if err != nil {
		return nil, err
	}
	if err := c.who.folder(c.sock); err != nil {
		return nil, fmt.Errorf("PostgreSQL socket: %w", err)
	}
	if err := c.clear(ctx); err != nil {
		return nil, err
	}
	if !c.owned() {
		err = c.who.claim(c.data)
	}
	if err == nil {
		err = c.letIn()
	}
	if err != nil {
		return nil, fmt.Errorf("accounts of PostgreSQL: %w", err)
	}
	log, size, err := c.openLog()
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(bin.Path("postgres"), append([]string{"-D", c.data}, c.settings()...)...)
	cmd.Dir, cmd.Env = c.data, environ()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.who.credential()}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("PostgreSQL start: %w", err)
	}
	s := &server{pid: cmd.Process.Pid, exited: make(chan struct{}), logged: size}
	// The goroutine ends with the server. It ignores the exit status, because the log has the reason.
	go func() {
		defer close(s.exited)
		_ = cmd.Wait()
	}()
	return s, nil
}
