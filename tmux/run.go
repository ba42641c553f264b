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

// run runs tmux and returns its output. The error is ErrMissing, ErrNoServer, the cause of the
// context's end, or the error message of tmux.
func (s *Server) run(ctx context.Context, c call) (string, error) {
	args := c.args(c.socket)
	if n := size(args); n > maxArgs {
		return "", fmt.Errorf("tmux %s: %d bytes of arguments are more than the %d that tmux accepts", c.cmds[0][0], n, maxArgs)
	}
	ctx, cancel := withDeadline(ctx, s.timeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("tmux %s: %w", c.cmds[0][0], context.Cause(ctx))
	}

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
		if ctx.Err() == nil && isExit(err) && !listening(c.socket) {
			return "", fmt.Errorf("tmux %s on %s: %w", c.cmds[0][0], c.socket, ErrNoServer)
		}
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

func isExit(err error) bool {
	_, ok := errors.AsType[*exec.ExitError](err)
	return ok
}

// listening says whether a server accepts connections on the socket. It connects to find out, because the message that
// tmux prints differs between versions.
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
