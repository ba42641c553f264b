package targets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// got is what a receiver was sent.
type got struct {
	header http.Header
	path   string
	body   string
}

// receiver answers with the codes, one after the other, and then with 200.
func receiver(t *testing.T, codes ...int) (url string, requests *[]got) {
	requests = &[]got{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*requests = append(*requests, got{r.Header, r.URL.Path, string(b)})
		if len(codes) > 0 {
			w.Header().Set("Retry-After", "90")
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(codes[0])
			codes = codes[1:]
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// secret writes a file with a mode.
func secret(t *testing.T, text string, mode os.FileMode) string {
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	must(t, os.Chmod(path, mode))
	return path
}

func message() *tell.Message {
	agent := int64(7)
	return &tell.Message{
		Key: "understudy-9-abc-phone", Title: "understudy: agent 7 waits — now", Text: "A <dialog> & more: `understudy agent attach 7`.", Level: "error",
		Type: "agent_waiting", At: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), Host: "h", Link: "https://desk.example/ui/agents/7", EventID: 9, AgentID: &agent,
	}
}

// TestNtfy: a message is published as ntfy's API wants it, with the key as its sequence id.
func TestNtfy(t *testing.T) {
	t.Parallel()
	url, requests := receiver(t)
	n := &Ntfy{URL: url + "/my-topic", TokenFile: secret(t, "tk_secret\n", 0o600)}
	m := message()
	must(t, n.Send(t.Context(), m))
	r := (*requests)[0]
	title, err := new(mime.WordDecoder).DecodeHeader(r.header.Get("Title"))
	if err != nil || title != m.Title || r.path != "/my-topic" || r.body != m.Text {
		t.Errorf("%+v, title %q, %v", r, title, err)
	}
	for name, want := range map[string]string{
		"Priority": "high", "Tags": "rotating_light", "Click": m.Link, "Actions": "view, Open, " + m.Link, "X-Sequence-ID": m.Key,
		"Authorization": "Bearer tk_secret",
	} {
		wardentest.Equal(t, name, r.header.Get(name), want)
	}
	m.MaybeTwice, m.Link, m.Title = true, "", "line\r\nX-Injected: yes"
	must(t, (&Ntfy{URLFile: secret(t, url+"/t", 0o600)}).Send(t.Context(), m))
	r = (*requests)[1]
	if !strings.Contains(r.body, "had this before") || r.header.Get("Click") != "" || r.header.Get("X-Injected") != "" || r.header.Get("Authorization") != "" {
		t.Errorf("%+v", r)
	}
}

// TestWebhook: Slack gets a text without mentions, programs get the fields, and a repetition has the same key.
func TestWebhook(t *testing.T) {
	t.Parallel()
	url, requests := receiver(t, 503)
	w := &Webhook{URLFile: secret(t, url+"/services/T0/B0/hush", 0o600)}
	m := message()
	err := w.Send(t.Context(), m)
	unsent, ok := errors.AsType[*tell.Unsent](err)
	if !ok || unsent.Final || unsent.After != 90*time.Second || strings.Contains(err.Error(), "hush") {
		t.Errorf("first: %v", err)
	}
	must(t, w.Send(t.Context(), m))
	var body struct {
		Text       string       `json:"text"`
		Understudy tell.Message `json:"understudy"`
	}
	r := (*requests)[1]
	must(t, json.Unmarshal([]byte(r.body), &body))
	want := "*understudy: agent 7 waits — now*\nA &lt;dialog&gt; &amp; more: `understudy agent attach 7`.\n<https://desk.example/ui/agents/7|Open>"
	if body.Text != want || body.Understudy.Text != m.Text || *body.Understudy.AgentID != 7 || body.Understudy.Key != m.Key {
		t.Errorf("%+v", body)
	}
	for _, r := range *requests {
		if r.header.Get("Idempotency-Key") != m.Key || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("header %v", r.header)
		}
	}
}

// TestAnswers: what is tried again, and what is not; no error shows the address.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for code, final := range map[int]bool{301: true, 400: true, 401: true, 404: true, 408: false, 429: false, 500: false, 502: false} {
		url, requests := receiver(t, code)
		err := (&Ntfy{URL: url + "/hush"}).Send(t.Context(), message())
		unsent, ok := errors.AsType[*tell.Unsent](err)
		if !ok || unsent.Final != final || strings.Contains(err.Error(), "hush") || len(*requests) != 1 {
			t.Errorf("%d: %v after %d requests", code, err, len(*requests))
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := (&Webhook{URLFile: secret(t, server.URL+"/hush", 0o600)}).Send(t.Context(), message())
	if err == nil || strings.Contains(err.Error(), "hush") || errors.As(err, new(*tell.Unsent)) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestSecretsOfOthersAreRefused: a file that others can read is refused, with the fix.
func TestSecretsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620} {
		path := secret(t, "hush", mode)
		if text, err := ReadSecret(path); err == nil || text != "" || !strings.Contains(err.Error(), "chmod 600 "+path) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%o: %q, %v", mode, text, err)
		}
	}
	for text, want := range map[string]string{" \n": "is empty", "two\nlines": "one line", strings.Repeat("x", maxSecret+1): "one line"} {
		wardentest.Failed(ReadSecret(secret(t, text, 0o600)))(t, fmt.Sprintf("%.10q", text), want)
	}
	open := secret(t, "hush", 0o600)
	must(t, os.Chmod(filepath.Dir(open), 0o777))
	if text, err := ReadSecret(open); err == nil || text != "" || !strings.Contains(err.Error(), "run chmod go-w "+filepath.Dir(open)) {
		t.Errorf("in a folder that others write: %v", err)
	}
	wardentest.Failed(ReadSecret(t.TempDir()))(t, "a directory is a secret")
	wardentest.Failed(ReadSecret(filepath.Join(t.TempDir(), "none")))(t, "no file", "mode 0600")
	if text, err := ReadSecret(secret(t, " hush\n", 0o400)); text != "hush" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestCommand: the program gets the notification on its standard input and in its environment.
func TestCommand(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	c := &Command{Argv: []string{"sh", "-c", `cat >"$OUT"; printf '%s|%s|%s|%s' "$UNDERSTUDY_LEVEL" "$UNDERSTUDY_TITLE" "$UNDERSTUDY_LINK" "$UNDERSTUDY_NOTIFY_AGENT" >>"$OUT"`},
		Env: []string{"PATH=" + os.Getenv("PATH"), "OUT=" + out}}
	m := message()
	must(t, c.Send(t.Context(), m))
	b := wardentest.Value(os.ReadFile(out))(t)
	line, env, _ := strings.Cut(string(b), "\n")
	var in tell.Message
	if err := json.Unmarshal([]byte(line), &in); err != nil || in.Key != m.Key || env != "error|"+m.Title+"|"+m.Link+"|7" {
		t.Errorf("%s: %+v, %q", err, in, env)
	}
	c.Argv = []string{"sh", "-c", "echo no such channel >&2; exit 3"}
	wardentest.WantErr(t, "a failure", c.Send(t.Context(), m), "exit code 3: ‹no such channel›")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c.Argv = []string{"sleep", "60"}
	wardentest.WantErr(t, "a command that hangs", c.Send(ctx, m), context.DeadlineExceeded)
}
