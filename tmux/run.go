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
	// killDelay is how long a tmux that was told to stop may hold on to our pipes.
	killDelay = time.Second
	// maxArgs is how many bytes of arguments one run may have. tmux sends them in one message of
	// 16 kB and refuses what is longer; the rest is for its own framing.
	maxArgs = 15000
	// maxExecs bounds the tmux commands that run at the same time: the server is one thread, and
	// with more of them each only waits longer.
	maxExecs = 6
)

// call is one run of the tmux command.
type call struct {
	socket string
	server int    // process id of the server that is meant; 0: whichever it is
	start  bool   // whether a server may be started for it
	dir    string // the client's working directory, which is where new-session starts its program
	stdin  string
	cmds   [][]string
}

// args returns the command line. An argument that ends in a semicolon would end its command, and
// what follows would run as the next one: its semicolon is escaped.
func (c call) args(socket string) []string {
	args := []string{"-u", "-S", socket}
	if c.start {
		args = append(args, "-f", "/dev/null") // the user's tmux.conf is not ours to run
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

// run runs tmux and returns what it printed. The error is ErrMissing, ErrNoServer, the cause of
// the context's end, or what tmux said.
func (s *Server) run(ctx context.Context, c call) (string, error) {
	args := c.args(c.socket)
	if n := size(args); n > maxArgs {
		return "", fmt.Errorf("tmux %s: %d bytes of arguments, and tmux takes %d", c.cmds[0][0], n, maxArgs)
	}
	ctx, cancel := withDeadline(ctx, s.timeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("tmux %s: %w", c.cmds[0][0], context.Cause(ctx))
	}

	var at address // zero: our own server's, which lies in a folder of ours
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
	cmd.Dir = "/" // the server keeps the directory it was started in
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

// runError says why a tmux command failed, in this order: it does not exist, we ended it, what it
// said itself.
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
		return errors.New(said)
	}
	return err
}

func isExit(err error) bool {
	_, ok := errors.AsType[*exec.ExitError](err)
	return ok
}

// listening says whether a server accepts connections on the socket. It asks the system because
// the wording of tmux's own answer changes from version to version.
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

// passedOn are the variables that the tmux command, and so the server and its panes, have from us.
// Everything else may be a secret, and the server would show it to every pane.
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
