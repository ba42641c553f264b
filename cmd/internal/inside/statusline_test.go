package inside

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) {
	if code, ok := Main(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(wardentest.Run(m.Run))
}

// statusInput is what Claude Code 2.1.329 gives its status line after a turn.
const statusInput = `{"session_id":"s-1","transcript_path":"/t","cwd":"DIR/sub","model":{"id":"m"},` +
	`"workspace":{"current_dir":"DIR/sub","project_dir":"DIR/project","added_dirs":[]},` +
	`"context_window":{"total_input_tokens":9,"total_output_tokens":500,"context_window_size":1000000,` +
	`"current_usage":{"input_tokens":1000,"output_tokens":500,"cache_creation_input_tokens":20,"cache_read_input_tokens":300},` +
	`"used_percentage":0,"remaining_percentage":100}}` + "\n"

// statusRig is an agent's surroundings: settings of a user and of a project, and a hook socket.
type statusRig struct {
	t       testing.TB
	dir     string
	env     []string
	input   string
	reports chan string // what the daemon was told
}

func newStatusRig(t testing.TB) *statusRig {
	t.Helper()
	dir, err := os.MkdirTemp("", "us") // short: socket paths are limited to 107 bytes
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &statusRig{t: t, dir: dir, input: strings.ReplaceAll(statusInput, "DIR", dir), reports: make(chan string, 10)}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir + "/home", "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + dir,
		"UNDERSTUDY_AGENT_ID=7", "UNDERSTUDY_LAUNCH=secret", "UNDERSTUDY_SOCKET=" + dir + "/hook.sock",
	}
	return r
}

// daemon answers at the hook socket.
func (r *statusRig) daemon(answer http.HandlerFunc) {
	r.t.Helper()
	l := value(net.Listen("unix", r.dir+"/hook.sock"))(r.t)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.reports <- q.Method + " " + q.URL.Path + " " + q.Header.Get("X-Understudy-Launch") + " " + string(body)
		answer(w, q)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	r.t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
}

// settings writes a settings file whose status line is the command.
func (r *statusRig) settings(file, command string) {
	r.t.Helper()
	text := value(json.Marshal(map[string]any{"model": "m", "statusLine": map[string]any{"type": "command", "command": command, "padding": 0}}))(r.t)
	path := filepath.Join(r.dir, file)
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(r.t, os.WriteFile(path, text, 0o600))
}

// run runs the status line as the runtime does, as a process.
func (r *statusRig) run() (stdout, stderr string, code int) {
	r.t.Helper()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(r.t.Context(), os.Args[0], "statusline")
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.dir, r.env, strings.NewReader(r.input), &out, &complaints
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		r.t.Fatal(err)
	}
	return out.String(), complaints.String(), cmd.ProcessState.ExitCode()
}

func (r *statusRig) wantReports(want ...string) {
	r.t.Helper()
	for _, w := range want {
		select {
		case got := <-r.reports:
			if got != w {
				r.t.Errorf("told %s\nwant %s", got, w)
			}
		case <-time.After(2 * time.Minute):
			r.t.Fatalf("not told: %s", w)
		}
	}
	select {
	case got := <-r.reports:
		r.t.Errorf("told besides: %s", got)
	default:
	}
}

const wantReport = `POST /api/agents/7/context secret {"session_id":"s-1","tokens":1320,"limit":1000000}`

func noContent(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// TestStatusLinePassesThrough: the user's own status line sees what it always sees, and is seen as
// it always is.
func TestStatusLinePassesThrough(t *testing.T) {
	t.Parallel()
	r := newStatusRig(t)
	r.daemon(noContent)
	const shown = "\x1b[31mred\x1b[0m ü \x00\xff\r\n\nlast line without an end"
	must(t, os.WriteFile(r.dir+"/shown", []byte(shown), 0o600))
	r.env = append(r.env, "OWN=of the agent")
	r.settings("home/.claude/settings.json", `cat >got; echo "$OWN in $PWD" >>got; cat shown; echo complaint >&2; exit 3`)
	stdout, stderr, code := r.run()
	if stdout != shown || stderr != "complaint\n" || code != 3 {
		t.Errorf("%q, %q, exit code %d", stdout, stderr, code)
	}
	wardentest.Equal(t, "it was given", string(wardentest.Value(os.ReadFile(r.dir+"/got"))(t)), r.input+"of the agent in "+r.dir+"\n")
	r.wantReports(wantReport)

	r.settings("home/.claude/settings.json", "exit 0") // reads nothing
	r.input += strings.Repeat(" ", maxStatus-len(r.input))
	if stdout, stderr, code := r.run(); stdout+stderr != "" || code != 0 {
		t.Errorf("input not read: %q, %q, exit code %d", stdout, stderr, code)
	}
	r.wantReports(wantReport)
}

// TestStatusLineReports: what is told, and when nothing is. There is no status line of the user's.
func TestStatusLineReports(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		old, new string // in the input
		env      string
		told     bool
		tokens   string
		shown    string
	}{
		"after a turn":      {told: true, tokens: "1320", shown: "agent 7, 0 % of the context used\n"},
		"a nearly full one": {old: `"input_tokens":1000,`, new: `"input_tokens":759680,`, env: "UNDERSTUDY_PERSONA=dev-con-1", shown: "dev-con-1, 76 % of the context used\n", told: true, tokens: "760000"},
		"before the first":  {old: `{"input_tokens":1000,"output_tokens":500,"cache_creation_input_tokens":20,"cache_read_input_tokens":300}`, new: "null", shown: "agent 7\n"},
		"window not known":  {old: `"context_window_size":1000000`, new: `"context_window_size":null`, shown: "agent 7\n"},
		"other numbers":     {old: `"input_tokens":1000,`, new: `"input_tokens":"many",`, shown: "agent 7\n"},
		"no session":        {old: `"session_id":"s-1",`, shown: "agent 7\n"},
		"no JSON":           {old: `{"session_id"`, new: `"session_id"`, shown: "agent 7\n"},
		"a one-shot":        {env: "UNDERSTUDY_ONESHOT=1", shown: "agent 7, 0 % of the context used\n"},
		"no agent of ours":  {env: "UNDERSTUDY_AGENT_ID="},
		"an odd agent":      {env: "UNDERSTUDY_AGENT_ID=7/../8"},
		"no launch":         {env: "UNDERSTUDY_LAUNCH=", shown: "agent 7, 0 % of the context used\n"},
		"an odd launch":     {env: "UNDERSTUDY_LAUNCH=a\r\nX: y", shown: "agent 7, 0 % of the context used\n"},
		"more than allowed": {old: "\n", new: strings.Repeat(" ", maxStatus)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newStatusRig(t)
			r.daemon(noContent)
			r.input = strings.Replace(r.input, tt.old, tt.new, 1)
			r.env = append(r.env, tt.env)
			if stdout, stderr, code := r.run(); stdout != tt.shown || stderr != "" || code != 0 {
				t.Errorf("%q, %q, exit code %d; want %q", stdout, stderr, code, tt.shown)
			}
			if tt.told {
				r.wantReports(strings.Replace(wantReport, "1320", tt.tokens, 1))
			} else {
				r.wantReports()
			}
		})
	}
}

// TestStatusLineDaemonInTrouble: whatever the daemon does, the user sees the same, and soon.
func TestStatusLineDaemonInTrouble(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, answer := range map[string]http.HandlerFunc{
		"away":   nil,
		"fails":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"dies":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"silent": func(http.ResponseWriter, *http.Request) { <-release },
	} {
		t.Run(name, func(t *testing.T) {
			r := newStatusRig(t)
			if answer != nil {
				r.daemon(answer)
			}
			r.settings("home/.claude/settings.json", "echo shown; exit 4")
			from := time.Now()
			if stdout, stderr, code := r.run(); stdout != "shown\n" || stderr != "" || code != 4 {
				t.Errorf("%q, %q, exit code %d", stdout, stderr, code)
			}
			if took := time.Since(from); took > statusReport+2*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestStatusLineOfWhom: the project's own copy of the settings goes before the project's, that
// before the user's; what is not a command is passed over.
func TestStatusLineOfWhom(t *testing.T) {
	t.Parallel()
	r := newStatusRig(t)
	want := func(want string) {
		t.Helper()
		if stdout, stderr, code := r.run(); stdout != want || stderr != "" || code != 0 {
			t.Errorf("%q, %q, exit code %d; want %q", stdout, stderr, code, want)
		}
	}
	want("agent 7, 0 % of the context used\n")
	r.settings("home/.claude/settings.json", "echo user")
	want("user\n")
	r.settings("config/settings.json", "echo configured")
	r.env = append(r.env, "CLAUDE_CONFIG_DIR="+r.dir+"/config")
	want("configured\n")
	r.settings("project/.claude/settings.json", "echo project")
	want("project\n")
	r.settings("project/.claude/settings.local.json", "echo local")
	want("local\n")
	for _, text := range []string{"{", `{"statusLine":null}`, `{"statusLine":{"type":"other","command":"echo other"}}`, `{"statusLine":{"type":"command","command":" "}}`} {
		must(t, os.WriteFile(r.dir+"/project/.claude/settings.local.json", []byte(text), 0o600))
		want("project\n")
	}
	r.input = "no JSON"
	want("configured\n")
}

// TestStatusLineNotTwice: a user's status line that is this command as well ends there.
func TestStatusLineNotTwice(t *testing.T) {
	t.Parallel()
	r := newStatusRig(t)
	r.daemon(noContent)
	r.settings("home/.claude/settings.json", "echo once; exec '"+os.Args[0]+"' statusline")
	if stdout, stderr, code := r.run(); stdout != "once\n" || stderr != "" || code != 0 {
		t.Errorf("%q, %q, exit code %d", stdout, stderr, code)
	}
	r.wantReports(wantReport)
}

// TestStatusLineTerminated: the runtime ends a status line that hangs, and the user's command ends
// with it, whatever it does about SIGTERM.
func TestStatusLineTerminated(t *testing.T) {
	t.Parallel()
	r := newStatusRig(t)
	r.daemon(noContent)
	r.settings("home/.claude/settings.json", childtest.Family+"while :; do wait; done")
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "statusline")
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = r.dir, r.env, strings.NewReader(r.input), &out
	must(t, cmd.Start())
	childtest.AwaitFile(t, r.dir+"/leader")
	childtest.AwaitFile(t, r.dir+"/child")
	r.wantReports(wantReport) // before that
	from := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 143 || out.Len() > 0 {
		t.Errorf("%v, %q", err, &out)
	}
	if took := time.Since(from); took > child.EndGrace+2*time.Second {
		t.Errorf("it took %s", took)
	}
	childtest.WantGone(t, r.dir+"/leader", r.dir+"/child")
}

// TestStatusLineWithoutEnd: nobody closes stdin.
func TestStatusLineWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newStatusRig(t)
	in, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	var out bytes.Buffer
	if code := StatusLine(t.Context(), hooks.Tell, r.env, in, &out, &out); code != 0 || out.Len() > 0 {
		t.Errorf("exit code %d, %q", code, &out)
	}
}

// BenchmarkStatusLine measures what a status line costs, the start of its process included.
func BenchmarkStatusLine(b *testing.B) {
	r := newStatusRig(b)
	run := func(b *testing.B) {
		for b.Loop() {
			if _, _, code := r.run(); code != 0 {
				b.Fatal(code)
			}
			select {
			case <-r.reports:
			default:
			}
		}
	}
	b.Run("daemon away", run)
	r.daemon(noContent)
	b.Run("told", run)
	r.settings("home/.claude/settings.json", "cat >/dev/null; echo shown")
	b.Run("told, with one of the user's", run)
}

var must = wardentest.Must

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }
