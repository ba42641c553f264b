package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is the help of the command.
const Usage = `usage: understudy hook [--data DIR] [--socket PATH] EVENT

Hands the hook's JSON from stdin to the daemon and prints the daemon's answer.
EVENT is SessionStart, session-start, Stop and so on. It always exits 0; when
the daemon cannot be reached the event is kept in the data directory's spool/.
`

// DenyTool is the answer to a one-shot that wants to use a tool. Its prompt must
// begin like the agent's own, so it still contains the definitions of the tools.
const DenyTool = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
	`"permissionDecisionReason":"This is a handoff being written: answer with the document, use no tools."}}`

// Main runs `understudy hook`, if the arguments name it. The programs call it before they set up anything else. mine is
// false if the arguments name another command.
func Main(args []string) (code int, mine bool) {
	if len(args) == 0 || args[0] != "hook" {
		return 0, false
	}
	return Command(args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr), true
}

// Command is `understudy hook`. It always returns 0. On stdout it prints only the daemon's complete answer, or
// its own answer to a one-shot (see below). On stderr it prints at most one line:
// when the event could be neither delivered nor spooled, or was refused.
//
// args are [--installed] [--data DIR] [--socket PATH] EVENT. The socket is
// UNDERSTUDY_SOCKET, else --socket, else run/hook.sock in the data directory.
// The data directory is --data, else UNDERSTUDY_DATA, else the default one. The
// spool is the folder spool/ beside the socket's folder.
//
// Command does nothing in two cases. First, UNDERSTUDY_ONESHOT is set: a one-shot
// that we forked off an agent's session is no agent. Second, it runs from
// installed settings (--installed) inside an agent that we started
// (UNDERSTUDY_LAUNCH is set): that agent has hooks of its own. There is one
// exception: from the hooks that we give a one-shot ourselves, without
// --installed, Command denies every tool. It answers such a PreToolUse without
// asking the daemon.
//
// A payload over [MaxBody], or one that is no JSON, is replaced by
// {"hook_event_name":…, "understudy_truncated": true} or
// "understudy_malformed", with the ids found in it. The CLI ends a hook that
// takes too long by SIGTERM; Command then spools the event, as for any missing
// answer.
func Command(args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	at := time.Now()
	// With SIGPIPE caught, a closed stdout or stderr is a failed write and does
	// not kill the process.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	defer func() {
		if r := recover(); r != nil {
			complain(stderr, fmt.Errorf("hook: internal error: %v", r))
		}
	}()
	o, err := parseArgs(args)
	switch {
	case errors.Is(err, errHelp):
		_, _ = io.WriteString(stdout, Usage)
	case err != nil:
		complain(stderr, err)
	case env("UNDERSTUDY_ONESHOT") != "":
		if o.event == PreToolUse && !o.installed {
			_, _ = io.WriteString(stdout, DenyTool)
			_, _ = io.Copy(io.Discard, io.LimitReader(stdin, maxDrain)) // on a closed pipe the CLI could fail the hook and use the tool
		}
	case o.installed && env("UNDERSTUDY_LAUNCH") != "":
	default:
		if err := o.run(at, env, stdin, stdout); err != nil {
			complain(stderr, err)
		}
	}
	return 0
}

func complain(stderr io.Writer, err error) {
	line := strings.Join(strings.Fields(err.Error()), " ")
	_, _ = fmt.Fprintf(stderr, "understudy: %s\n", line)
}

// run delivers one event. Its error becomes the one line on stderr.
func (o options) run(at time.Time, env func(string) string, stdin io.Reader, stdout io.Writer) error {
	socket, err := o.socketPath(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), AnswerTimeout(o.event), errNoAnswer)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	pid, err := strconv.Atoi(env("CLAUDE_PID"))
	if err != nil || pid < 0 {
		pid = 0
	}
	start, boot := startOf(pid)
	e := Envelope{
		Key: NewKey(at), Event: o.event, At: at, AgentPID: pid, AgentStart: start, Boot: boot,
		Launch: env("UNDERSTUDY_LAUNCH"), Tmux: env("TMUX"), Pane: env("TMUX_PANE"),
		Body: payload(ctx, o.event, stdin),
	}
	answer, sendErr := Send(ctx, socket, e)
	switch {
	case sendErr == nil:
		_, _ = stdout.Write(answer) // a failed write means that the CLI has gone
		return nil
	case errors.Is(sendErr, ErrRefused):
		return sendErr
	}
	spool := OpenSpool(filepath.Join(filepath.Dir(filepath.Dir(socket)), "spool"))
	if err := spool.Put(e); err != nil {
		return fmt.Errorf("%w; not kept either: %w", sendErr, err)
	}
	return nil
}

// ErrRefused means that the daemon refused the event itself. It is not spooled,
// because sending it again would not help.
var ErrRefused = errors.New("refused")

var errNoAnswer = errors.New("no answer in time")

// AnswerTimeout is how long the daemon may take to answer event. The CLI waits
// meanwhile: longest for events whose answer can change what it does, and
// briefly at a session's end, where it gives its hooks little time.
func AnswerTimeout(event string) time.Duration {
	switch event {
	case Stop, UserPromptSubmit, SessionStart, PermissionRequest:
		return 10 * time.Second
	case SessionEnd:
		return time.Second
	default:
		return 5 * time.Second
	}
}

// Send posts e to the daemon at socket and returns the daemon's answer, which may
// be empty. It takes at most [AnswerTimeout], or until ctx ends; to connect takes
// at most 100 ms.
//
// Without an error the answer is complete. [ErrRefused] means that the daemon
// refused the event itself (4xx). Any other error means that no complete answer
// came, and the caller spools e: nobody listened, the answer was cut off, 5xx, or
// a 4xx that is not about the event: 401 and 404 (another daemon than ours, or an
// older one), 408, 425 and 429 (not now).
//
// One exchange over a unix socket needs little of HTTP, so this package
// implements that itself: a process that is linked with net/http takes half as
// long again to start.
func Send(ctx context.Context, socket string, e Envelope) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, AnswerTimeout(e.Event), errNoAnswer)
	defer cancel()
	answer, err := exchange(ctx, socket, request(e))
	if err == nil {
		answer.body, err = answer.verdict()
	} else if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil {
		return nil, fmt.Errorf("hook %s to %s: %w", e.Event, socket, err)
	}
	return answer.body, nil
}
