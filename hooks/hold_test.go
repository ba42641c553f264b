package hooks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// holder is a daemon that holds the first hooks, and answers the last.
func holder(t *testing.T, serve func(n int64, conn net.Conn, req *http.Request)) (socket string) {
	t.Helper()
	socket = filepath.Join(shortDir(t), "s")
	l := value(net.Listen("unix", socket))(t)
	t.Cleanup(func() { _ = l.Close() })
	var n atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					serve(n.Add(1), conn, req)
				}
			}()
		}
	}()
	return socket
}

const held102 = "HTTP/1.1 102 Processing\r\nX-Understudy-Handoff: 12\r\n\r\n"

// TestHeldHookJoinsTheNextDaemon: the daemon goes away while it holds a hook. The hook's command asks again with the same key.
func TestHeldHookJoinsTheNextDaemon(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 2)
	socket := holder(t, func(n int64, conn net.Conn, req *http.Request) {
		if req.Header.Get(HoldsHeader) == "" {
			t.Error("the request does not say that it waits")
		}
		keys <- req.Header.Get("X-Hook-Key")
		fmt.Fprint(conn, held102)
		if n == 2 {
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	e := Envelope{Key: NewKey(time.Now()), Event: UserPromptSubmit, At: time.Now(), Holds: true}
	var id int64
	answer, err := SendHeld(t.Context(), socket, e, func(handoff int64) { id = handoff })
	if err != nil || string(answer) != "{}" || id != 12 {
		t.Errorf("%q for handoff %d, %v", answer, id, err)
	}
	if first, second := <-keys, <-keys; first != second || first != e.Key {
		t.Errorf("keys %s and %s, want %s", first, second, e.Key)
	}
}

// TestHookThatIsNotHeldIsSentOnce: a connection that breaks before the daemon has said that it holds the hook is an error, as
// for any other hook, so that the hook is spooled.
func TestHookThatIsNotHeldIsSentOnce(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	socket := holder(t, func(n int64, _ net.Conn, _ *http.Request) { requests.Store(n) })
	e := Envelope{Key: NewKey(time.Now()), Event: UserPromptSubmit, At: time.Now(), Holds: true}
	if _, err := SendHeld(t.Context(), socket, e, func(int64) { t.Error("held") }); err == nil || requests.Load() != 1 {
		t.Errorf("%d requests, error %v", requests.Load(), err)
	}
}

// TestInterruptedHookSaysOfWhichHandoff: the CLI ends a held hook. The report has the ids of the hook, and names the handoff.
func TestInterruptedHookSaysOfWhichHandoff(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	socket := holder(t, func(_ int64, conn net.Conn, _ *http.Request) {
		fmt.Fprint(conn, held102)
		<-ended
	})
	defer close(ended)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := Envelope{
		Key: NewKey(time.Now()), Event: UserPromptSubmit, At: time.Now(), Launch: "secret", AgentPID: 7, Holds: true,
		Body: json.RawMessage(`{"session_id": "s", "cwd": "/w", "transcript_path": "/t", "prompt": "/handoff", "hook_event_name": "UserPromptSubmit"}`),
	}
	failed(SendHeld(ctx, socket, e, func(int64) { cancel() }))(t, "a hook that the CLI ends", errInterrupted)
	told := Interrupted(e, 12, time.Now())
	p, err := Parse(told.Event, told.Body)
	if err != nil || p.Event != Interrupt || p.Handoff != 12 || p.SessionID != "s" || p.TranscriptPath != "/t" || p.CWD != "/w" || p.Prompt != "" {
		t.Errorf("payload %+v, %v", p, err)
	}
	if told.Key == e.Key || told.Launch != "secret" || told.AgentPID != 7 || told.Holds {
		t.Errorf("envelope %+v", told)
	}
}
