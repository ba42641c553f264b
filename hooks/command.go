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
const Usage = `usage: understudy hook [--runtime NAME] [--data DIR] [--socket PATH] [--holds] EVENT

Hands the hook's JSON from stdin to the daemon and prints the daemon's answer.
EVENT is SessionStart, session-start, Stop and so on; with --runtime, an event
of that runtime. It always exits 0; when the daemon cannot be reached the event
is kept in the data directory's spool/. With --holds, the answer to a typed
/handoff comes when its document is recorded, within 55 minutes.
`

// DenyTool is the answer to a one-shot that wants to use a tool. A one-shot could
// not be started without tools: its prompt must begin like the agent's own, so it
// contains the definitions of the tools.
const DenyTool = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
	`"permissionDecisionReason":"This is a handoff being written: answer with the document, use no tools."}}`

// Main runs `understudy hook` if args name that command. Otherwise it does nothing and mine is false. Our programs call
// Main before they set up anything else.
func Main(args []string) (code int, mine bool) {
	if len(args) == 0 || args[0] != "hook" {
		return 0, false
	}
	return Command(args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr), true
}

// Command is `understudy hook`. It always returns 0. On stdout it prints only
// the daemon's complete answer, its own answer to a one-shot (see below), or
// [Usage]. On stderr it prints at most one line: if the arguments are wrong, if
// the daemon refused the event, or if the event could be neither delivered nor
// spooled.
//
// args are [--installed] [--holds] [--runtime NAME] [--data DIR] [--socket PATH]
// EVENT. --holds says that the CLI lets the hook run as long as [HoldTimeout]; see
// [Interrupted] for what Command reports if the CLI ends it meanwhile.
// --runtime names the runtime whose hook it is; without it, that is Claude Code.
// Command takes the
// socket from UNDERSTUDY_SOCKET; if that is not set, from --socket; otherwise the
// socket is run/hook.sock in the data directory. It takes the data directory from
// --data; if that is not given, from UNDERSTUDY_DATA; otherwise it uses the
// default directory. The spool is the folder spool/ beside the socket's folder.
//
// Command does not report the event in two cases:
//   - UNDERSTUDY_ONESHOT is set. A one-shot that we forked off an agent's session
//     is not an agent. But if the event is PreToolUse and comes from the hook that
//     we give a one-shot (without --installed), Command answers [DenyTool] without
//     asking the daemon.
//   - --installed is given and UNDERSTUDY_LAUNCH is set. The hook of the user's
//     settings then runs inside an agent that we started, and that agent has hooks
//     of its own.
//
// If the payload is larger than [MaxBody] or is not JSON, Command sends
// {"hook_event_name":…, "understudy_truncated": true} (or
// "understudy_malformed") instead, with the ids found in the payload. If a hook
// takes too long, the CLI sends it SIGTERM. Command then spools the event, as it
// does whenever no complete answer came.
func Command(args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	at := time.Now()
	// Catch SIGPIPE, so that a write to a closed stdout or stderr fails instead of
	// killing the process.
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
			// Read all of stdin: if its pipe closed early, the CLI could treat the hook as failed and use the tool.
			_, _ = io.Copy(io.Discard, io.LimitReader(stdin, maxDrain))
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
	pid := 0
	if o.runtime != "" {
		pid = callerOf(os.Getppid())
	} else if n, err := strconv.Atoi(env("CLAUDE_PID")); err == nil && n > 0 {
		pid = n
	}
	start, boot := startOf(pid)
	e := Envelope{
		Key: NewKey(at), Event: o.event, At: at, AgentPID: pid, AgentStart: start, Boot: boot,
		Launch: env("UNDERSTUDY_LAUNCH"), Runtime: o.runtime, Tmux: env("TMUX"), Pane: env("TMUX_PANE"),
		Body: payload(ctx, o.event, stdin),
	}
	if o.holds {
		return sendHeld(socket, e, stdout)
	}
	answer, err := Send(ctx, socket, e)
	return deliver(socket, e, answer, err, stdout)
}

// deliver prints the daemon's answer to an event. If there is none, it spools the event.
func deliver(socket string, e Envelope, answer []byte, sendErr error, stdout io.Writer) error {
	switch {
	case sendErr == nil:
		_, _ = stdout.Write(answer) // ignore the error: the CLI has ended
		return nil
	case errors.Is(sendErr, ErrRefused):
		return sendErr
	}
	run := strings.TrimSuffix(filepath.Dir(socket), string(filepath.Separator)+"agent") // in a sandbox the socket is a folder deeper
	if err := OpenSpool(filepath.Join(filepath.Dir(run), "spool")).Put(e); err != nil {
		return fmt.Errorf("%w; not kept either: %w", sendErr, err)
	}
	return nil
}

// ErrRefused means that the daemon refused the event itself. It is not spooled,
// because sending it again would not help.
var ErrRefused = errors.New("refused")

var errNoAnswer = errors.New("no answer in time")

// Send posts e to the daemon at socket and returns the daemon's answer, which may
// be empty. It waits until [AnswerTimeout] is over or ctx ends, and at most 100 ms
// for the connection.
//
// If Send returns no error, the answer is complete. [ErrRefused] means that the
// daemon refused the event itself (4xx). After any other error the caller spools
// e, because no complete answer came. Such errors are: no process listens, the
// answer was cut off, a 5xx status, or a 4xx status that is not about the event.
// The latter are 401 and 404 (another daemon than ours, or an older one), and 408,
// 425 and 429 (the daemon cannot take the event now).
//
// This package implements the few parts of HTTP that it needs, because a process
// that is linked with net/http takes 1.5 times as long to start.
func Send(ctx context.Context, socket string, e Envelope) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	return sendOnce(ctx, socket, e, func(int64) {})
}
