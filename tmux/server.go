package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says which tmux to run and which server is ours.
type Config struct {
	Bin     string        // the tmux command; default "tmux"
	Socket  string        // absolute path of our own server's socket, at most 107 bytes
	Timeout time.Duration // for one run of tmux; default 5 s
	// Foreign says that Socket belongs to a server that a person started. Before each command the Server then checks
	// which process listens there, as it does for a Ref with another socket.
	Foreign bool
	// Include names a file of tmux commands that Start reads into our own server; "" or nil: none. What Start itself needs is set
	// after it. Warn is told what is wrong with the file; the server runs without what it says. nil: nobody is told.
	Include func() string
	Warn    func(error)
}

// Server gives access to our own tmux server, and to the panes of any other server. A method that takes a Ref acts on
// the server that the Ref names. The other methods, such as Start, Spawn and List, act on our own server.
type Server struct {
	bin     string
	socket  string
	foreign bool
	timeout time.Duration
	file    func() string // the user's own file of tmux commands; see Config
	warn    func(error)
	slots   chan struct{} // one token per running tmux command
	buffers string        // prefix of our buffer names, unique to this Server
	pastes  atomic.Uint64
	started atomic.Bool // Start has succeeded, so the server has our options
	starts  batcher[struct{}, struct{}]
	looks   batcher[Ref, View]
	lists   batcher[struct{}, []PaneInfo]
}

// New checks the configuration. It starts no process.
func New(cfg Config) (*Server, error) {
	if err := checkSocket(cfg.Socket); err != nil {
		return nil, err
	}
	if cfg.Bin == "" {
		cfg.Bin = "tmux"
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Include == nil {
		cfg.Include = func() string { return "" }
	}
	if cfg.Warn == nil {
		cfg.Warn = func(error) {}
	}
	s := &Server{
		file:    cfg.Include,
		warn:    cfg.Warn,
		bin:     cfg.Bin,
		socket:  cfg.Socket,
		foreign: cfg.Foreign,
		timeout: cfg.Timeout,
		slots:   make(chan struct{}, maxExecs),
		buffers: "understudy-" + rand.Text() + "-",
	}
	s.starts.answer, s.looks.answer, s.lists.answer = s.startOnce, s.look, s.list
	return s, nil
}

// startup configures a new server before it has any session. It does not set window-size: if that option is manual for
// all windows, tmux 3.3a to 3.6 crash at the next new-session. Spawn sets it for each window.
var startup = [][]string{
	{"start-server"},
	{"set-option", "-s", "exit-empty", "off"},
	{"set-option", "-s", "message-limit", "0"}, // the log would keep every command with its arguments
	{"set-option", "-s", "default-terminal", "tmux-256color"},
	{"set-option", "-g", "destroy-unattached", "off"},
	{"set-option", "-g", "detach-on-destroy", "on"},
	{"set-option", "-g", "update-environment", ""}, // no variable of an attached client gets into new panes
	{"set-option", "-g", "default-size", fmt.Sprintf("%dx%d", defaultWidth, defaultHeight)},
	{"set-option", "-gw", "automatic-rename", "off"}, // costs a third of the server's time at 200 panes
	{"set-option", "-gw", "allow-rename", "off"},
	{"set-option", "-gw", "remain-on-exit", "on"}, // keeps the last screen and the exit status
}

// Start starts our own server if it does not run, and sets its options. It makes the socket's folder, which only we can
// enter. More calls do no harm: of calls at the same time one starts the server, and of processes at the same time tmux's lock
// beside the socket lets one start it. The server outlives this process. Its panes do not inherit this process's whole
// environment (see Spawn).
func (s *Server) Start(ctx context.Context) error {
	_, err := s.starts.ask(ctx, struct{}{})
	return err
}

func (s *Server) startOnce(ctx context.Context, all []*question[struct{}, struct{}]) {
	err := s.start(ctx)
	for _, q := range all {
		q.err = err
	}
}

func (s *Server) start(ctx context.Context) error {
	if _, err := Check(ctx, s.bin); err != nil {
		return err
	}
	if err := privateDir(filepath.Dir(s.socket)); err != nil {
		return err
	}
	begin := call{socket: s.socket, start: true, again: true, cmds: slices.Concat(startup, statusLine, comforts)}
	_, err := s.run(ctx, begin)
	if path := s.file(); err == nil && path != "" {
		if wrong := s.include(ctx, path); wrong != nil {
			s.warn(wrong)
			begin.cmds = slices.Concat(startup, statusLine) // a mistake has ended the list
			_, err = s.run(ctx, begin)
		}
	}
	s.started.Store(err == nil)
	return err
}

// privateDir makes the folder of the socket. It never changes an existing folder, which could be /tmp.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("folder of the tmux socket: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("folder of the tmux socket: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("folder of the tmux socket: %s is open to others (mode %04o); run `chmod 700 %[1]s`",
			dir, info.Mode().Perm())
	}
	return nil
}

// KillServer ends our own server with everything in it, and returns when the server's process has
// ended. If there is no server, that is no error.
func (s *Server) KillServer(ctx context.Context) error {
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{{"display-message", "-p", "#{pid}"}}})
	if errors.Is(err, ErrNoServer) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return fmt.Errorf("tmux server's process id: %w", err)
	}
	server, err := FindProcess(pid)
	if errors.Is(err, ErrNoProcess) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.run(ctx, call{socket: s.socket, cmds: [][]string{{"kill-server"}}})
	if err != nil && !errors.Is(err, ErrNoServer) && server.Alive() {
		return err
	}
	ctx, cancel := withDeadline(ctx, s.timeout)
	defer cancel()
	if err := server.Wait(ctx); err != nil {
		return fmt.Errorf("tmux server %d: %w", pid, err)
	}
	// Some versions of tmux leave the socket file behind: remove it. If a server listens on it, leave it, because that is
	// a new server, which was started meanwhile.
	if !listening(s.socket) {
		if err := os.Remove(s.socket); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("tmux socket: %w", err)
		}
	}
	return nil
}
