package inside

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func bar(t *testing.T, args ...string) (out, complaint string, code int) {
	t.Helper()
	o, ok := parseStatusBar(args)
	if !ok {
		t.Fatalf("%q is not understood", args)
	}
	var stdout, stderr bytes.Buffer
	code = StatusBar(t.Context(), o, func(string) string { return "" }, &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// barDaemon listens on the main socket of a new data directory.
func barDaemon(t *testing.T, answer http.HandlerFunc) (root string) {
	t.Helper()
	root, err := os.MkdirTemp("", "bar") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	must(t, os.Mkdir(filepath.Join(root, "run"), 0o700))
	l := value(net.Listen("unix", filepath.Join(root, "run", "understudy.sock")))(t)
	srv := &http.Server{Handler: answer}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return root
}

// TestStatusBar: the segment has the daemon's counts, says when there are none because nobody answers, and is empty only if
// nothing needs a person.
func TestStatusBar(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer      http.HandlerFunc
		color       bool
		want        string
		code        int
		complaining string
	}{
		"counts": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/attention/count" || r.Method != http.MethodGet {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = io.WriteString(w, `{"text":"2 wait, 1 failed","parts":[{"kind":"waiting","count":2,"text":"2 wait"},{"kind":"failed","count":1,"text":"1 failed"}]}`)
		}, false, "2 wait, 1 failed\n", 0, ""},
		"counts in colour": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"parts":[{"kind":"waiting","text":"2 wait"},{"kind":"new kind","text":"1 new"}]}`)
		}, true, "#[fg=yellow,bold]2 wait#[default], 1 new\n", 0, ""},
		"nothing":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"text":"","parts":[]}`) }, true, "", 0, ""},
		"no database": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, false, "understudy: not ready\n", 1, "status 503"},
		"no answer":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false, "understudy: no answer\n", 1, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--data", barDaemon(t, tt.answer)}
			if tt.color {
				args = append(args, "--color")
			}
			began := time.Now()
			out, complaint, code := bar(t, args...)
			if out != tt.want || code != tt.code || !strings.Contains(complaint, tt.complaining) {
				t.Errorf("printed %q and %q, exit %d; want %q, %q, %d", out, complaint, code, tt.want, tt.complaining, tt.code)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	if out, _, code := bar(t, "--data="+t.TempDir(), "--color"); out != "#[fg=red,bold]understudy: down#[default]\n" || code != 1 {
		t.Errorf("no daemon: %q, exit %d", out, code)
	}
}

func TestStatusBarLeavesOtherFlagsToTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--json", "--conf", "-h", "--data", "--data=", "x", "--color --help"} {
		if o, ok := parseStatusBar(strings.Fields(args)); ok {
			t.Errorf("%s is taken for %+v", args, o)
		}
	}
}
