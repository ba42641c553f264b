package hooks

import (
	"bytes"
	"context"
	"encoding/json"
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
	"unicode/utf8"
)

// Usage is the help of the command.
const Usage = `usage: understudy hook [--data DIR] [--socket PATH] EVENT

Hands the hook's JSON from stdin to the daemon and prints the daemon's answer.
EVENT is SessionStart, session-start, Stop and so on. It always exits 0; when
the daemon cannot be reached the event is kept in the data directory's spool/.
`

const (
	truncatedField = "understudy_truncated"
	malformedField = "understudy_malformed"

	// maxDrain is how much of a too large payload Command reads and drops,
	// so that the CLI does not meet a closed pipe.
	maxDrain = 64 << 20
)

// DenyTool is the answer to a one-shot that wants to use a tool. Its prompt must
// begin like the agent's own, so it still contains the definitions of the tools.
const DenyTool = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
	`"permissionDecisionReason":"This is a handoff being written: answer with the document, use no tools."}}`

// Command is `understudy hook`. main calls it before it sets up anything else.
// It always returns 0. On stdout it prints only the daemon's complete answer, or
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

type options struct {
	installed          bool
	data, socket, made string
	event              string
}

var errHelp = errors.New("help wanted")

func parseArgs(args []string) (options, error) {
	var o options
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		var to *string
		switch {
		case name == "-h" || name == "--help":
			return o, errHelp
		case args[i] == "--installed":
			o.installed = true
			continue
		case name == "--data":
			to = &o.data
		case name == "--socket":
			to = &o.socket
		case name == madeFlag:
			to = &o.made // for uninstall; not used here
		case strings.HasPrefix(name, "-"):
			return o, fmt.Errorf("hook: flag %.80q is not known; see understudy hook --help", name)
		case o.event != "":
			return o, fmt.Errorf("hook: %.80q after the event; one event is expected", args[i])
		default:
			event, ok := Canonical(args[i])
			if !ok {
				return o, fmt.Errorf("hook: %.80q is not an event like SessionStart or session-start", args[i])
			}
			o.event = event
			continue
		}
		if !inline {
			if i++; i == len(args) {
				return o, fmt.Errorf("hook: flag %s needs a value", name)
			}
			value = args[i]
		}
		*to = value
	}
	if o.event == "" {
		return o, errors.New("hook: no event; name one, as in: understudy hook SessionStart")
	}
	return o, nil
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

func (o options) socketPath(env func(string) string) (string, error) {
	socket := env("UNDERSTUDY_SOCKET")
	if socket == "" {
		socket = o.socket
	}
	if socket != "" {
		return filepath.Abs(socket)
	}
	dir := o.data
	if dir == "" {
		dir = env("UNDERSTUDY_DATA")
	}
	if dir == "" {
		dir = defaultData(env)
	}
	if dir == "" {
		return "", errors.New("hook: no data directory, because HOME is not set; set UNDERSTUDY_DATA")
	}
	return filepath.Abs(filepath.Join(dir, "run", "hook.sock"))
}

// defaultData is the daemon's default data directory. It repeats the daemon's
// rule because this package imports none of our packages.
func defaultData(env func(string) string) string {
	share := env("XDG_DATA_HOME")
	switch home := env("HOME"); {
	case os.Geteuid() == 0:
		return "/var/lib/understudy/data"
	case filepath.IsAbs(share): // the XDG specification says to ignore a relative one
		return filepath.Join(share, "understudy", "data")
	case home != "":
		return filepath.Join(home, ".local", "share", "understudy", "data")
	}
	return ""
}

// payload returns the body to send for the contents of stdin.
func payload(ctx context.Context, event string, stdin io.Reader) json.RawMessage {
	read := make(chan []byte, 1)
	go func() {
		body, _ := io.ReadAll(io.LimitReader(stdin, MaxBody+1))
		if len(body) > MaxBody {
			_, _ = io.Copy(io.Discard, io.LimitReader(stdin, maxDrain))
		}
		read <- body
	}()
	var body []byte
	select {
	case body = <-read:
	case <-ctx.Done(): // nobody closes stdin; the reading goroutine still owns what it has read
		return salvage(event, nil, malformedField)
	}
	if len(body) > MaxBody {
		return salvage(event, body, truncatedField)
	}
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return json.RawMessage("{}")
	case body[0] != '{' || len(body) > MaxBody || !json.Valid(body):
		return salvage(event, body, malformedField)
	}
	return body
}

// salvage returns a small body in place of one that cannot be sent, with the ids
// that stand before the broken or cut part. The CLI writes ids first.
func salvage(event string, body []byte, why string) json.RawMessage {
	kept := map[string]any{"hook_event_name": event, why: true}
	dec := json.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(body, []byte("\uFFFD"))))
	if open, err := dec.Token(); err == nil && open == json.Delim('{') {
		for {
			key, err := dec.Token()
			name, ok := key.(string)
			var value any
			if err != nil || !ok || dec.Decode(&value) != nil {
				break
			}
			keepID(kept, name, value)
		}
	}
	text, _ := json.Marshal(kept) // strings and bools cannot fail
	return text
}

func keepID(kept map[string]any, name string, value any) {
	switch name {
	case "session_id", "transcript_path", "cwd", "prompt_id", "agent_id", "source", "reason":
		if s, ok := value.(string); ok && len(s) <= 4096 {
			kept[name] = s
		}
	case "stop_hook_active":
		if b, ok := value.(bool); ok {
			kept[name] = b
		}
	}
}
