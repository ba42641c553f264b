package hooks

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// daemon is a server on a unix socket in a data directory of its own.
func daemon(t testing.TB, h http.HandlerFunc) (data string) {
	t.Helper()
	data = shortDir(t)
	serve(t, data, h)
	return data
}

func serve(t testing.TB, data string, h http.HandlerFunc) *http.Server {
	t.Helper()
	l := listen(t, data)
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return srv
}

// raw starts a daemon that reads one request of each connection and answers with exactly these bytes.
func raw(t *testing.T, answer string) (socket string) {
	t.Helper()
	return holder(t, func(_ int64, conn net.Conn, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(conn, answer)
	})
}

func listen(t testing.TB, data string) net.Listener {
	t.Helper()
	mkdir(t, filepath.Join(data, "run"))
	return value(net.Listen("unix", socketIn(data)))(t)
}

func socketIn(data string) string { return filepath.Join(data, "run", "hook.sock") }

func TestSendSaysEverything(t *testing.T) {
	t.Parallel()
	e := envelope(7)
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != string(e.Body) {
			t.Errorf("body %q, %v", body, err)
		}
		if r.Method != "POST" || r.URL.Path != "/hooks/Stop" || r.Host != "localhost" {
			t.Errorf("%s %s at %s", r.Method, r.URL, r.Host)
		}
		for name, want := range map[string]string{
			"X-Understudy-Launch": "secret", "X-Tmux": "/tmp/t,1,0", "X-Tmux-Pane": "%1",
			"X-Agent-Pid": "42", "X-Agent-Start": "4711", "X-Boot-Id": "boot-1", "X-Hook-Key": "key-7", "X-Hook-At": "2023-11-14T22:13:20.000000007Z",
			"Content-Type": "application/json",
		} {
			equal(t, name, r.Header.Get(name), want)
		}
		_, _ = io.WriteString(w, "answer")
	})
	equal(t, "Send", string(value(Send(t.Context(), socketIn(data), e))(t)), "answer")
}

func TestSendDoesNotLetTheEnvironmentEndAHeader(t *testing.T) {
	t.Parallel()
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Tmux") != "a??X-Agent-Pid: 1" || len(r.Header["X-Agent-Pid"]) != 0 {
			t.Errorf("headers %v", r.Header)
		}
	})
	e := envelope(1)
	e.Tmux, e.AgentPID = "a\r\nX-Agent-Pid: 1", 0
	value(Send(t.Context(), socketIn(data), e))(t)
}

func TestSendLongAnswers(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"empty": 0, "sized": 100, "chunked": 300_000, "largest": maxAnswer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.Repeat("0123456789", size/10+1)[:size]
			data := daemon(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, want) })
			equal(t, "the answer", string(value(Send(t.Context(), socketIn(data), envelope(1)))(t)), want)
		})
	}
}

func TestSendByStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		200: "answered", 204: "answered", 301: "spool", 400: "refused", 401: "spool", 403: "refused",
		404: "spool", 408: "spool", 409: "refused", 413: "refused", 422: "refused", 425: "spool",
		429: "spool", 500: "spool", 503: "spool",
	} {
		data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			if status != 204 {
				_, _ = io.WriteString(w, `{"error":"The sentence","code":"x"}`)
			}
		})
		_, err := Send(t.Context(), socketIn(data), envelope(1))
		got := "answered"
		if errors.Is(err, ErrRefused) {
			got = "refused"
		} else if err != nil {
			got = "spool"
		}
		if got != want || err != nil && !strings.Contains(err.Error(), "The sentence") {
			t.Errorf("%d: %s (%v), want %s", status, got, err, want)
		}
	}
}

// incomplete are answers that Send must not take for complete.
var incomplete = map[string]string{
	"nothing":           "",
	"half a status":     "HTTP/1.1 20",
	"half a header":     "HTTP/1.1 200 OK\r\nContent-Le",
	"header without":    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n",
	"half a body":       "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nans",
	"no length":         "HTTP/1.1 200 OK\r\n\r\nanswer",
	"bad length":        "HTTP/1.1 200 OK\r\nContent-Length: -6\r\n\r\nanswer",
	"too long":          "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\nanswer",
	"half a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nans",
	"no last chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n",
	"no end of trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n0\r\n",
	"chunk overruns":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nanswer\r\n0\r\n\r\n",
	"bad chunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nanswer\r\n0\r\n\r\n",
	"other encoding":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nanswer",
	"only continue":     "HTTP/1.1 100 Continue\r\n\r\n",
	"not HTTP":          "SSH-2.0-OpenSSH_9.2\r\n",
	"header no colon":   "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
	"header too long":   "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", maxHead) + "\r\nContent-Length: 0\r\n\r\n",
}

func TestSendIncompleteAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range incomplete {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := Send(t.Context(), raw(t, answer), envelope(1))
			if out != nil || err == nil || errors.Is(err, ErrRefused) {
				t.Errorf("Send = %q, %v", out, err)
			}
		})
	}
	for name, answer := range map[string]string{
		"continue":  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
		"trailer":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nans\r\n3\r\nwer\r\n0\r\nX: y\r\n\r\n",
		"bare feed": "HTTP/1.0 200\nContent-Length: 6\n\nanswer",
	} {
		equal(t, name+": Send", string(value(Send(t.Context(), raw(t, answer), envelope(1)))(t)), "answer")
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	hurry := errors.New("in a hurry")
	release := make(chan struct{})
	data := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		cancel(hurry)
		<-release
	})
	t.Cleanup(func() { close(release) })
	failed(Send(ctx, socketIn(data), envelope(1)))(t, "Send", hurry)
}

func TestAnswerTimeout(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]time.Duration{
		Stop: 10 * time.Second, SessionEnd: time.Second, Notification: 5 * time.Second, "Future": 5 * time.Second,
	} {
		got := AnswerTimeout(event)
		if got != want || got >= time.Duration(hookTimeout(event))*time.Second {
			t.Errorf("%s: %v of the hook's %d s, want %v", event, got, hookTimeout(event), want)
		}
	}
}

func FuzzReadResponse(f *testing.F) {
	for name, answer := range incomplete {
		if name != "header too long" { // the fuzzer would spend all its time on it
			f.Add([]byte(answer))
		}
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readResponse(bufio.NewReader(strings.NewReader(string(text))), func(map[string]string) {})
		if err != nil {
			return
		}
		// net/http must not find an answer cut off that we accept as complete.
		std, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(text))), nil)
		if err != nil || std.StatusCode != got.status {
			return // it is stricter about the head
		}
		if _, err := io.ReadAll(std.Body); errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("took %q for whole", text)
		}
	})
}
