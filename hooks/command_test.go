package hooks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func mkdir(t testing.TB, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
}

type vars map[string]string

func (v vars) get(name string) string { return v[name] }

// hook runs the command as the CLI does.
func hook(t testing.TB, env vars, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, complaint bytes.Buffer
	equal(t, fmt.Sprintf("exit code of hook %v", args), Command(args, env.get, strings.NewReader(stdin), &out, &complaint), 0)
	if strings.Count(complaint.String(), "\n") > 1 {
		t.Errorf("hook %v says more than one line: %s", args, &complaint)
	}
	return out.String(), complaint.String()
}

func drained(t *testing.T, data string) []Envelope {
	t.Helper()
	var got []Envelope
	_, err := OpenSpool(filepath.Join(data, "spool")).Drain(t.Context(), func(_ context.Context, e Envelope) error {
		got = append(got, e)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

const stopBody = `{"session_id":"s-1","hook_event_name":"Stop","stop_hook_active":false}`

func TestCommandAnswered(t *testing.T) {
	t.Parallel()
	const answer = `{"decision":"block","reason":"write"}`
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Understudy-Launch") != "secret" || r.Header.Get("X-Agent-Pid") != "99" ||
			r.Header.Get("X-Tmux") != "/tmp/t,1,0" || r.Header.Get("X-Tmux-Pane") != "%3" || r.Header.Get("X-Hook-Key") == "" {
			t.Errorf("headers %v", r.Header)
		}
		if body, _ := io.ReadAll(r.Body); string(body) != stopBody {
			t.Errorf("body %s", body)
		}
		_, _ = io.WriteString(w, answer)
	})
	env := vars{"UNDERSTUDY_LAUNCH": "secret", "CLAUDE_PID": "99", "TMUX": "/tmp/t,1,0", "TMUX_PANE": "%3"}
	for _, args := range [][]string{
		{"--data", data, "stop"}, {"--data=" + data, "Stop"}, {"--socket", socketIn(data), "Stop"},
	} {
		if out, complaint := hook(t, env, stopBody, args...); out != answer || complaint != "" {
			t.Errorf("%v: %q, %q", args, out, complaint)
		}
	}
	env["UNDERSTUDY_SOCKET"] = socketIn(data) // overrides the flag
	if out, complaint := hook(t, env, stopBody, "--socket", "/nowhere/run/hook.sock", "Stop"); out != answer || complaint != "" {
		t.Errorf("by environment: %q, %q", out, complaint)
	}
	equal(t, "spooled", len(drained(t, data)), 0)
}

func TestCommandSilent(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) { t.Error("called") })
	for name, env := range map[string]vars{
		"ours, by installed hooks": {"UNDERSTUDY_LAUNCH": "secret"},
		"one-shot":                 {"UNDERSTUDY_ONESHOT": "1"},
	} {
		stdin := unread{t}
		var out, complaint bytes.Buffer
		code := Command([]string{"--installed", "--made", "file", "--data", data, "Stop"}, env.get, stdin, &out, &complaint)
		if code != 0 || out.Len()+complaint.Len() > 0 {
			t.Errorf("%s: %d, %q, %q", name, code, &out, &complaint)
		}
	}
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("stdin was read")
	return 0, io.EOF
}

func TestCommandInstalledInAForeignAgent(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "yes") })
	if out, complaint := hook(t, vars{}, stopBody, "--installed", "--made", "hook", "--data", data, "Stop"); out != "yes" || complaint != "" {
		t.Errorf("%q, %q", out, complaint)
	}
}

// TestCommandSpools goes through the ways in which no complete answer comes.
// Then the daemon drains the events, in order and each once.
func TestCommandSpools(t *testing.T) {
	t.Parallel()
	data := shortDir(t)
	var mu sync.Mutex
	var sent []string // keys that a daemon saw before it failed
	saw := func(r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Header.Get("X-Hook-Key"))
	}
	run := func(event string) {
		t.Helper()
		env := vars{"UNDERSTUDY_LAUNCH": "secret", "CLAUDE_PID": "x"}
		if out, complaint := hook(t, env, `{"session_id":"s-1"}`, "--data", data, event); out != "" || complaint != "" {
			t.Errorf("%s: %q, %q", event, out, complaint)
		}
	}
	run("session-start") // no daemon: there is no socket

	l := listen(t, data)
	_ = l.Close() // no daemon: one that was killed has left the socket's file
	run("user-prompt-submit")

	srv := serve(t, data, func(w http.ResponseWriter, r *http.Request) { saw(r); w.WriteHeader(503) })
	run("stop")
	_ = srv.Close()

	srv = serve(t, data, func(w http.ResponseWriter, r *http.Request) { // dies while it answers
		saw(r)
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"decision":`)
		panic(http.ErrAbortHandler)
	})
	run("notification")
	_ = srv.Close()

	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	serve(t, data, func(w http.ResponseWriter, r *http.Request) { saw(r); <-hang })
	run("session-end") // a second without an answer

	got := drained(t, data)
	var events, keys []string
	for _, e := range got {
		events, keys = append(events, e.Event), append(keys, e.Key)
		if e.Launch != "secret" || e.AgentPID != 0 || string(e.Body) != `{"session_id":"s-1"}` || e.At.IsZero() {
			t.Errorf("spooled %+v", e)
		}
	}
	if want := "SessionStart UserPromptSubmit Stop Notification SessionEnd"; strings.Join(events, " ") != want {
		t.Fatalf("spooled %v, want %s", events, want)
	}
	mu.Lock()
	defer mu.Unlock()
	equal(t, "keys spooled", strings.Join(keys[2:], " "), strings.Join(sent, " "))
	equal(t, "came twice", len(drained(t, data)), 0)
}

func TestCommandRefused(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":"Field x is wrong"}`)
	})
	out, complaint := hook(t, vars{}, stopBody, "--data", data, "Stop")
	if out != "" || !strings.Contains(complaint, "refused with status 400: Field x is wrong") {
		t.Errorf("%q, %q", out, complaint)
	}
	equal(t, "spooled", len(drained(t, data)), 0)
}

func TestCommandPayloads(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 1)
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	})
	large := strings.Repeat("a", MaxBody)
	for name, c := range map[string]struct{ in, want string }{
		"empty":     {" \n", `{}`},
		"plain":     {stopBody + "\n", stopBody},
		"bad UTF-8": {"{\"prompt\":\"\xff\"}", `{"prompt":"` + "\uFFFD" + `"}`},
		"too large": {`{"session_id":"s-1","cwd":"/w","stop_hook_active":true,"n":1,"prompt":"` + large + `"}`,
			`{"cwd":"/w","hook_event_name":"Stop","session_id":"s-1","stop_hook_active":true,"understudy_truncated":true}`},
		"larger by far": {`{"session_id":7,"prompt_id":"p","prompt":"` + large + large + `","cwd":"/w"}`,
			`{"hook_event_name":"Stop","prompt_id":"p","understudy_truncated":true}`},
		"cut off":   {`{"session_id":"s-1","prompt":"x`, `{"hook_event_name":"Stop","session_id":"s-1","understudy_malformed":true}`},
		"no JSON":   {"hello", `{"hook_event_name":"Stop","understudy_malformed":true}`},
		"a list":    {`["session_id","s"]`, `{"hook_event_name":"Stop","understudy_malformed":true}`},
		"two":       {`{"session_id":"s-1"}{}`, `{"hook_event_name":"Stop","session_id":"s-1","understudy_malformed":true}`},
		"just fits": {`{"prompt":"` + large[13:] + `"}`, `{"prompt":"` + large[13:] + `"}`},
	} {
		if out, complaint := hook(t, vars{}, c.in, "--data", data, "Stop"); out != "" || complaint != "" {
			t.Errorf("%s: %q, %q", name, out, complaint)
			continue
		}
		got := <-bodies
		equal(t, name+": sent", got, c.want)
		if _, err := Parse("Stop", []byte(got)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommandComplainsInOneLine(t *testing.T) {
	t.Parallel()
	empty := shortDir(t)
	file := filepath.Join(empty, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no event":          {nil, "no event"},
		"two events":        {[]string{"Stop", "Stop"}, "after the event"},
		"bad event":         {[]string{"../x"}, "not an event"},
		"unknown flag":      {[]string{"--nope", "Stop"}, "--nope"},
		"no value":          {[]string{"Stop", "--data"}, "needs a value"},
		"no data directory": {[]string{"--data", filepath.Join(empty, "gone"), "Stop"}, "not kept either"},
		"data is a file":    {[]string{"--data", file, "Stop"}, "not kept either"},
		"line feed in path": {[]string{"--data", empty + "\n\n/gone", "Stop"}, "not kept either"},
	} {
		out, complaint := hook(t, vars{}, stopBody, c.args...)
		if out != "" || !strings.Contains(complaint, c.want) || !strings.HasPrefix(complaint, "understudy: ") {
			t.Errorf("%s: %q, %q", name, out, complaint)
		}
	}
	if out, complaint := hook(t, vars{}, "", "--help"); out != Usage || complaint != "" {
		t.Errorf("--help: %q, %q", out, complaint)
	}
}

func TestCommandSurvivesItsSurroundings(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "answer") })
	args := []string{"--data", data, "Stop"}
	// The CLI has gone: the answer came but cannot be printed.
	equal(t, "closed stdout", Command(args, vars{}.get, strings.NewReader(stopBody), broken{}, broken{}), 0)
	equal(t, "an answered event was spooled", len(drained(t, data)), 0)
	var complaint bytes.Buffer
	if code := Command(args, func(string) string { panic("boom") }, nil, io.Discard, &complaint); code != 0 || !strings.Contains(complaint.String(), "boom") {
		t.Errorf("panic: %d, %s", code, &complaint)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestCommandStdinThatNeverEnds(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) { t.Error("called") })
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	equal(t, "exits with", Command([]string{"--data", data, "session-end"}, vars{}.get, r, io.Discard, io.Discard), 0)
	got := drained(t, data)
	if len(got) != 1 {
		t.Fatalf("%d spooled", len(got))
	}
	if p, err := Parse(got[0].Event, got[0].Body); err != nil || !p.Malformed {
		t.Errorf("spooled %s: %v", got[0].Body, err)
	}
}

// TestCommandTerminated is not parallel: the signal reaches the whole process.
func TestCommandTerminated(t *testing.T) {
	release := make(chan struct{})
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-release
	})
	t.Cleanup(func() { close(release) })
	if out, complaint := hook(t, vars{}, stopBody, "--data", data, "Stop"); out != "" || complaint != "" {
		t.Errorf("%q, %q", out, complaint)
	}
	if got := drained(t, data); len(got) != 1 || got[0].Event != Stop {
		t.Errorf("spooled %v", got)
	}
}

// TestCommandProcess runs the command as a process whose stdout and stderr
// nobody reads any more: its write fails, and it still exits 0.
func TestCommandProcess(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "answer") })
	for name, dir := range map[string]string{"stdout": data, "stderr": filepath.Join(data, "gone")} {
		r, w, err := os.Pipe()
		must(t, err)
		_ = r.Close()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "--data", dir, "Stop")
		// Without GOCOVERDIR the process would complain at its end when tests run with -cover.
		cmd.Env = []string{"HOOKS_TEST_COMMAND=1", "GOCOVERDIR=" + t.TempDir()}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stopBody), w, w
		if err := cmd.Run(); err != nil {
			t.Errorf("closed %s: %v", name, err)
		}
		_ = w.Close()
	}
	equal(t, "an answered event was spooled", len(drained(t, data)), 0)
}

func TestDefaultData(t *testing.T) {
	t.Parallel()
	get := func(env vars) string { s, _ := options{}.socketPath(env.get); return s }
	equal(t, "UNDERSTUDY_DATA", get(vars{"UNDERSTUDY_DATA": "/d"}), "/d/run/hook.sock")
	if os.Geteuid() == 0 {
		equal(t, "root", get(vars{"HOME": "/h", "XDG_DATA_HOME": "/x"}), "/var/lib/understudy/data/run/hook.sock")
		return
	}
	equal(t, "XDG_DATA_HOME", get(vars{"HOME": "/h", "XDG_DATA_HOME": "/x"}), "/x/understudy/data/run/hook.sock")
	equal(t, "HOME", get(vars{"HOME": "/h", "XDG_DATA_HOME": "x"}), "/h/.local/share/understudy/data/run/hook.sock")
	failed((options{}).socketPath(vars{}.get))(t, "no HOME: no error")
}
