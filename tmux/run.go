package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	defaultTimeout = 5 * time.Second
	// firstWait is how long run waits before it runs tmux again, while a server comes. It doubles the time up to longestWait.
	firstWait   = 10 * time.Millisecond
	longestWait = 200 * time.Millisecond
	// killDelay is how long we wait for our pipes to close after we have killed a tmux command.
	killDelay = time.Second
	// maxArgs is how many bytes of arguments one run may have. tmux sends all arguments in one message, which may have
	// 16 kB together with its header, and refuses longer arguments.
	maxArgs = 15000
	// maxExecs limits the tmux commands that run at the same time. The tmux server has one thread, so if more
	// commands ran, each would only wait longer.
	maxExecs = 6
)

// call is one run of the tmux command.
type call struct {
	socket string
	server int    // process id of the expected server; 0: any
	start  bool   // whether tmux may start a server if none runs
	again  bool   // whether running it twice does no more than running it once
	dir    string // the client's working directory, in which new-session starts its program
	stdin  string
	cmds   [][]string
}

// args returns the arguments of the tmux command. It escapes a semicolon at the end of an argument: otherwise the
// semicolon would end the command, and tmux would run the next arguments as another command.
func (c call) args(socket string) []string {
	args := []string{"-u", "-S", socket}
	if c.start {
		args = append(args, "-f", "/dev/null") // do not run the user's tmux.conf
	} else {
		args = append(args, "-N")
	}
	for i, cmd := range c.cmds {
		if i > 0 {
			args = append(args, ";")
		}
		for _, arg := range cmd {
			if rest, ok := strings.CutSuffix(arg, ";"); ok {
				arg = rest + `\;`
			}
			args = append(args, arg)
		}
	}
	return args
}

// run runs tmux and returns its output. The error is ErrMissing, ErrNoServer, ErrLost, the cause of the context's end, or the
// error message of tmux.
//
// While one server ends and another starts, a client may find no listener although a server listens a moment later. That client
// gave its commands to nobody, so run runs tmux again, until the timeout. If the server ended before it answered, nobody knows
// whether it ran the commands: then run runs only those again that do no harm twice.
func (s *Server) run(ctx context.Context, c call) (string, error) {
	if n := size(c.args(c.socket)); n > maxArgs {
		return "", fmt.Errorf("tmux %s: %d bytes of arguments are more than the %d that tmux accepts", c.cmds[0][0], n, maxArgs)
	}
	ctx, cancel := withDeadline(ctx, s.timeout)
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		out, err := s.once(ctx, c)
		said, refused := errors.AsType[complaint](err)
		if !refused {
			return out, err
		}
		away := said.unheard() || said.lost()
		switch {
		case away && c.server != 0 && processGone(c.server), !c.start && !listening(c.socket):
			err = fmt.Errorf("tmux %s on %s: %w", c.cmds[0][0], c.socket, ErrNoServer)
			if !said.unheard() {
				err = fmt.Errorf("%w: %w", err, ErrLost)
			}
			return "", err
		case !away:
			return "", err
		case said.lost() && !c.again:
			return "", fmt.Errorf("%w: %w", err, ErrLost)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", err
		}
	}
}

// once runs tmux one time.
func (s *Server) once(ctx context.Context, c call) (string, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("tmux %s: %w", c.cmds[0][0], context.Cause(ctx))
	}

	args := c.args(c.socket)
	var at address // zero for our own server, whose listener needs no check: its socket is in a folder of ours
	if s.foreign || c.socket != s.socket {
		var err error
		if at, err = lookAt(ctx, c.socket, c.server, s.bin); err != nil {
			return "", fmt.Errorf("tmux %s on %s: %w", c.cmds[0][0], c.socket, err)
		}
		defer at.close()
		args = c.args(at.path())
	}
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.ExtraFiles = at.files()
	cmd.WaitDelay = killDelay
	cmd.Env = clientEnv()
	cmd.Dir = "/" // a new server keeps the directory of the client that starts it
	if c.dir != "" {
		cmd.Dir = c.dir
		// With PWD the pane's directory keeps its symbolic links, as after a cd in a shell.
		cmd.Env = append(cmd.Env, "PWD="+c.dir)
	}
	if c.stdin != "" {
		cmd.Stdin = strings.NewReader(c.stdin)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("tmux %s: %w", c.cmds[0][0], runError(ctx, err, stderr.String()))
	}
	return stdout.String(), nil
}

// runError returns the reason why a tmux command failed. It checks in this order whether the command does not exist,
// whether the context has ended, and whether tmux printed a message.
func runError(ctx context.Context, err error, stderr string) error {
	if _, ok := errors.AsType[*exec.Error](err); ok { // a name that is not in PATH
		return ErrMissing
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "fork/exec" && errors.Is(err, fs.ErrNotExist) {
		return ErrMissing
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if said := strings.TrimSpace(stderr); said != "" {
		return complaint(said)
	}
	return err
}

// complaint is what tmux says of a command that it did not carry out.
type complaint string

func (c complaint) Error() string { return string(c) }

// unheard reports whether tmux says that its client found no listener, so that no server has got the commands.
func (c complaint) unheard() bool {
	return strings.HasPrefix(string(c), "no server running on ") ||
		strings.HasPrefix(string(c), "error connecting to ") &&
			(strings.HasSuffix(string(c), "(No such file or directory)") || strings.HasSuffix(string(c), "(Connection refused)") || strings.HasSuffix(string(c), "(Not a directory)"))
}

// lost reports whether tmux says that its server went away before it answered.
func (c complaint) lost() bool {
	switch c {
	case "server exited unexpectedly", "lost server", "server exited":
		return true
	}
	return false
}

func processGone(pid int) bool {
	_, err := FindProcess(pid)
	return errors.Is(err, ErrNoProcess)
}

// listening says whether a server accepts connections on the socket.
func listening(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		_ = conn.Close()
		return true
	}
	return !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOTDIR)
}

func withDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("tmux did not answer within %v: %w", d, context.DeadlineExceeded))
}

// passedOn are the variables that we pass to the tmux command. The server and its panes inherit them. Other variables
// may be secrets, and every pane could read them.
var passedOn = []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

func clientEnv() []string {
	env := make([]string, 0, len(passedOn)+1)
	for _, name := range passedOn {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func size(args []string) (n int) {
	for _, arg := range args {
		n += len(arg) + 1
	}
	return n
}
