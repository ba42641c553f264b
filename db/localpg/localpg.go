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

// Config says where the cluster is and how to run it.
type Config struct {
	Dir    string       // holds data/ and sock/; made if missing
	BinDir string       // holds initdb and postgres; "" searches as FindBinaries does
	Log    *slog.Logger // nil: nothing is logged

	// NoSync makes the server faster, but a power failure may destroy the cluster. For tests and demos.
	NoSync bool
	// Settings are added to the server's command line and override ours.
	Settings map[string]string
}

// Cluster is a private PostgreSQL that this process manages.
type Cluster struct {
	config Config
	dir    string // absolute and without symbolic links, as are data and sock
	data   string
	sock   string
	name   string // cluster_name, which is part of the title of each of the server's processes
	who    account
	log    *slog.Logger

	life sync.Mutex // held during each start or stop of the server
	lock *os.File   // nil once stopped

	running atomic.Pointer[server] // nil before the first start
}

// Start brings up the server of the cluster in config.Dir and returns when the
// server answers. If there is no cluster, Start makes one. If an earlier process
// left a server running, Start adopts it; otherwise it starts a server. If this
// process ends without Stop, the server continues.
//
// ErrMissing, ErrVersion, ErrInUse and ErrBarred are errors that a person must
// resolve. A recovery after a crash may take minutes. Only the context limits
// how long Start waits; after that the server's recovery continues.
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

// open locks the folder, and makes it if it does not exist. It changes neither the cluster nor the server.
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

// locate makes the folder, resolves the symbolic links in its path, as the kernel
// does, and finds the account that can use the folder.
func (c *Cluster) locate() error {
	dir, err := filepath.Abs(c.config.Dir)
	if err != nil {
		return fmt.Errorf("PostgreSQL folder: %w", err)
	}
	if c.who, err = accountFor(filepath.Join(dir, "data")); err != nil {
		return err
	}
	if had, err := ownerOf(filepath.Join(dir, "data")); err == nil && c.who.uid == own && had.uid != 0 && c.who.barredBy(dir) != "" && had.barredBy(dir) == "" {
		c.log.Warn("PostgreSQL goes on as an account of other programs, because an account of its own may not come to the folder: move the data directory",
			"account", had.name, "folder", c.who.barredBy(dir))
		c.who = had
	}
	// Check this before any folder is made, so that a refusal leaves no folder behind.
	if err := c.reachable(existing(filepath.Dir(dir))); err != nil {
		return err
	}
	mode := fs.FileMode(0o700)
	if c.who.switched {
		mode = 0o711 // so that the account can pass through to data/ and sock/
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

// reachable returns an error if the server's account may not pass through one of the folders of path.
func (c *Cluster) reachable(path string) error {
	barring := c.who.barredBy(path)
	if barring == "" {
		return nil
	}
	return &refusal{ErrBarred, fmt.Sprintf(
		"%s bars the account %q, as which PostgreSQL runs because it refuses root: choose another folder with --data, such as /var/lib/understudy/data",
		barring, c.who.name)}
}

// existing returns the part of path that exists, with its links resolved.
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

// hold locks the folder for this process. The lock ends with the process.
// Children do not inherit it, because Go opens files close-on-exec.
func (c *Cluster) hold(path string) (*os.File, error) {
	file, err := c.who.create(path, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(file, 20)) // for the message only
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

// release unlocks the folder. It does not rely on Close for that, because a child between fork and exec still has the
// file open and would keep the lock until its exec.
func (c *Cluster) release() {
	_ = syscall.Flock(int(c.lock.Fd()), syscall.LOCK_UN) // if this fails, Close unlocks
	c.lock.Close()
	c.lock = nil
}

// PID returns the process id of the server (the postmaster) that last
// answered, or 0.
func (c *Cluster) PID() int {
	if s := c.running.Load(); s != nil {
		return s.pid
	}
	return 0
}

// Ensure starts the server again if it has died, and returns when the server
// answers. While the server runs, a call costs little.
func (c *Cluster) Ensure(ctx context.Context) error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.lock == nil {
		return errors.New("PostgreSQL was stopped and cannot be started again by the same process")
	}
	if err := c.initialise(ctx); err != nil {
		return err
	}
	return c.up(ctx)
}

// Stop ends the server in fast mode, which ends all sessions and writes a
// checkpoint. It then unlocks the folder. If the context ends first, Stop
// unlocks the folder and returns an error while the server is still stopping. A
// second Stop does nothing.
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
