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

	// maxDrain is how much of a payload that is too large is read and thrown
	// away, so that the CLI does not meet a closed pipe.
	maxDrain = 64 << 20
)

// DenyTool is the answer to a one-shot that asks for a tool. The definitions of
// the tools stay in its prompt, which must begin like the agent's own.
const DenyTool = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
	`"permissionDecisionReason":"This is a handoff being written: answer with the document, use no tools."}}`

// Command is `understudy hook`. main calls it before it sets up anything else.
// It always returns 0, prints nothing on stdout but the daemon's complete
// answer (or the one to a one-shot, below), and at most one line on stderr:
// only when the event could be neither delivered nor spooled, or was refused.
//
// args are [--installed] [--data DIR] [--socket PATH] EVENT. The socket is
// UNDERSTUDY_SOCKET, else --socket, else run/hook.sock in the data directory,
// which is --data, else UNDERSTUDY_DATA, else the default one. The spool is the
// folder spool/ beside the socket's folder.
//
// It does nothing at all in two cases: UNDERSTUDY_ONESHOT is set (a one-shot of
// our own, forked off an agent's session, is no agent), or it runs from
// installed settings (--installed) inside an agent that we started
// (UNDERSTUDY_LAUNCH is set), which has hooks of its own. Only, the hooks that
// we give a one-shot itself, without --installed, deny it every tool: PreToolUse
// is answered here, as no daemon needs to be asked.
//
// A payload over [MaxBody], or one that is no JSON, is replaced by
// {"hook_event_name":…, "understudy_truncated": true} or
// "understudy_malformed", with the ids found in it. SIGTERM, with which the CLI ends a
// hook that takes too long, spools the event like any missing answer.
func Command(args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	at := time.Now()
	// With SIGPIPE taken, a closed stdout or stderr is a failed write and not
	// our death.
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
			_, _ = io.Copy(io.Discard, io.LimitReader(stdin, maxDrain)) // or the CLI could fail the hook, and go on
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
			to = &o.made // read by uninstall, of no use here
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

// run delivers one event. Its error is the one line for stderr.
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
		_, _ = stdout.Write(answer) // if the CLI has gone, there is nobody to tell
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
		return "", errors.New("hook: no data directory, for HOME is not set; set UNDERSTUDY_DATA")
	}
	return filepath.Abs(filepath.Join(dir, "run", "hook.sock"))
}

// defaultData is the daemon's default data directory, stated a second time
// because this package imports none of ours.
func defaultData(env func(string) string) string {
	share := env("XDG_DATA_HOME")
	switch home := env("HOME"); {
	case os.Geteuid() == 0:
		return "/var/lib/understudy/data"
	case filepath.IsAbs(share): // the XDG specification has relative ones ignored
		return filepath.Join(share, "understudy", "data")
	case home != "":
		return filepath.Join(home, ".local", "share", "understudy", "data")
	}
	return ""
}

// payload is the body to send for what stdin holds.
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
	case <-ctx.Done(): // nobody closes stdin: what was read so far is not ours to touch
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

// salvage returns a small body in place of one that cannot be sent, with the
// ids that precede the trouble. The CLI writes them first.
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
	text, _ := json.Marshal(kept) // strings and bools: cannot fail
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
