package localpg

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Config says where the cluster is and how it is kept.
type Config struct {
	Dir    string       // holds data/ and sock/; made if missing
	BinDir string       // where initdb and postgres are; "" searches as FindBinaries does
	Log    *slog.Logger // nil: silent

	// NoSync gives up what a power failure takes, for tests and demos.
	NoSync bool
	// Settings are added to the server's command line and win over ours.
	Settings map[string]string
}

// Cluster is a private PostgreSQL that this process manages.
type Cluster struct {
	config Config
	dir    string // absolute, without symbolic links, as are data and sock
	data   string
	sock   string
	name   string // cluster_name: shows in the title of every process
	who    account
	log    *slog.Logger

	life sync.Mutex // held while the server is started or stopped
	lock *os.File   // nil once stopped

	running atomic.Pointer[server] // nil before the first start
}

// Start brings up the cluster in config.Dir and returns when it answers. It
// makes a new cluster, adopts a server that an earlier process left running,
// or starts one. The server goes on when this process ends without Stop.
//
// Errors that ask for a person are ErrMissing, ErrVersion, ErrInUse and
// ErrBarred. A recovery after a crash may take minutes; the context is the
// only limit, and a server that outlasts it goes on by itself.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	c, err := open(config)
	if err != nil {
		return nil, err
	}
	if err := c.Ensure(ctx); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// open takes hold of the folder, without touching what is in it.
func open(config Config) (*Cluster, error) {
	c := &Cluster{config: config, log: config.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.locate(); err != nil {
		return nil, err
	}
	lock, err := c.hold(filepath.Join(c.dir, "lock"))
	if err != nil {
		return nil, err
	}
	c.lock = lock
	return c, nil
}

// locate makes the folder, with every path in the form in which the kernel
// shows it, and finds the account that can use it.
func (c *Cluster) locate() error {
	dir, err := filepath.Abs(c.config.Dir)
	if err != nil {
		return fmt.Errorf("PostgreSQL folder: %w", err)
	}
	if c.who, err = accountFor(filepath.Join(dir, "data")); err != nil {
		return err
	}
	// Looked at before anything is made: a refusal leaves no folder behind.
	if err := c.reachable(existing(filepath.Dir(dir))); err != nil {
		return err
	}
	mode := fs.FileMode(0o700)
	if c.who.switched {
		mode = 0o711 // the account passes through to data/ and sock/
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("PostgreSQL folder: %w", err)
	}
	if c.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("PostgreSQL folder: %w", err)
	}
	if c.who.barredBy(c.dir) == c.dir {
		if err := os.Chmod(c.dir, mode); err != nil {
			return fmt.Errorf("PostgreSQL folder: %w", err)
		}
	}
	if err := c.reachable(c.dir); err != nil {
		return err
	}
	c.data = filepath.Join(c.dir, "data")
	c.sock = filepath.Join(c.dir, "sock")
	c.name = fmt.Sprintf("understudy-%x", sha256.Sum256([]byte(c.data)))[:len("understudy-")+8]
	if !c.socketFits() && !dialsLongPaths {
		return &refusal{ErrBarred, fmt.Sprintf(
			"%s is too long for a unix socket (%d bytes at most): choose a shorter folder with --data", c.socket(), maxSocketPath)}
	}
	return nil
}

// reachable refuses a path on which a folder bars the server's account.
func (c *Cluster) reachable(path string) error {
	barring := c.who.barredBy(path)
	if barring == "" {
		return nil
	}
	return &refusal{ErrBarred, fmt.Sprintf(
		"%s bars the account %q, as which PostgreSQL runs because it refuses root: choose another folder with --data, such as /var/lib/understudy/data",
		barring, c.who.name)}
}

// existing is the part of path that is there, with its links resolved.
func existing(path string) string {
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		if path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// hold keeps the folder for this process. The lock ends with the process,
// and children do not inherit it: Go opens files close-on-exec.
func (c *Cluster) hold(path string) (*os.File, error) {
	file, err := c.who.create(path, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(file, 20)) // only to be helpful
		file.Close()
		return nil, &refusal{ErrInUse, fmt.Sprintf(
			"%s is in use by process %s: stop that one, or choose another folder with --data",
			filepath.Dir(path), strings.TrimSpace(string(holder)))}
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

// release lets go of the folder. It says so to the system: a child that is between fork and exec has the file open,
// too, and would keep the lock for as long as that takes.
func (c *Cluster) release() {
	_ = syscall.Flock(int(c.lock.Fd()), syscall.LOCK_UN) // else Close does it
	c.lock.Close()
	c.lock = nil
}

// PID is the process id of the server (the postmaster) that was last seen to
// answer.
func (c *Cluster) PID() int {
	if s := c.running.Load(); s != nil {
		return s.pid
	}
	return 0
}

// Ensure starts the server again if it has died, and returns when it answers.
// It is cheap while the server is well.
func (c *Cluster) Ensure(ctx context.Context) error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.lock == nil {
		return errors.New("PostgreSQL start after stop")
	}
	if err := c.initialise(ctx); err != nil {
		return err
	}
	return c.up(ctx)
}

// Stop ends the server in fast mode, which cuts sessions off and writes a
// checkpoint, and lets go of the folder. If the context ends first, the server
// goes on stopping by itself. A second Stop does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.lock == nil {
		return nil
	}
	defer c.release()
	s := c.find()
	if s == nil {
		return nil
	}
	if err := c.halt(ctx, s); err != nil {
		return err
	}
	c.log.InfoContext(ctx, "postgres stopped", "pid", s.pid)
	return nil
}
