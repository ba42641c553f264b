// Package opencodetest plays OpenCode in memory: the servers of its screens, and the sessions that they share. It does what was
// measured of version 1.18.33, also where that is odd: a session is idle before the error of its turn is written, and a prompt
// that comes in between is never answered.
//
// A [Machine] is an [http.RoundTripper], so that the real client can talk to it in a bubble. All methods are safe for
// concurrent use.
package opencodetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Turn is what the model does with a prompt.
type Turn struct {
	Hold   <-chan struct{} // nil: the turn ends at once
	Do     func()          // done before the end; may be nil
	Text   string          // the answer
	Status int             // the API refuses the request with this status; 0: it does not
	Retry  time.Duration   // OpenCode tries again after this time, without end; 0: it does not
	Why    string          // what OpenCode says of that
	// Refused is how long the API refuses the requests before it answers. OpenCode sends them again every few seconds.
	Refused time.Duration
	Asks    string // a permission that is asked for, and answered by [Server.Reply]
}

// Machine is a machine with OpenCode's database and the servers that run on it.
type Machine struct {
	Model func(text string) Turn // asked for each prompt
	Rules []any                  // of the agent build, as OpenCode and the user's settings have them

	mu       sync.Mutex
	last     int
	sessions []*session
	servers  map[string]*Server // by port
	requests []string
}

// Server is the server of one screen.
type Server struct {
	m        *Machine
	password string
	exit     chan struct{}
	exited   sync.Once
	gone     context.Context
	running  *sync.WaitGroup

	streams map[chan []byte]bool
	asked   []permission
	shown   string
}

type permission struct {
	ID         string   `json:"id"`
	Session    string   `json:"sessionID"`
	Permission string   `json:"permission"`
	Patterns   []string `json:"patterns"`
	reply      chan struct{}
}

type session struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Rules    []any    `json:"permission,omitempty"`
	Agents   []string `json:"agents,omitempty"` // which agent each prompt was for; "": the server's default
	Revert   any      `json:"revert,omitempty"`
	messages []*message
	status   map[string]any // nil: idle
	abort    context.CancelFunc
	writing  bool // the turn was aborted, and its error is not written yet
	deleted  bool
}

type message struct {
	Info  map[string]any   `json:"info"`
	Parts []map[string]any `json:"parts"`
}

// New makes a machine on which nothing runs. Its model answers OK.
func New() *Machine {
	return &Machine{servers: map[string]*Server{}, Model: func(string) Turn { return Turn{Text: "OK"} }}
}

// Run is the program opencode: it serves until it is asked to exit or ctx ends, and returns its exit status.
func (m *Machine) Run(ctx context.Context, argv, environ []string) int {
	value := func(list []string, name string) string {
		for i, a := range list {
			if v, ok := strings.CutPrefix(a, name+"="); ok {
				return v
			}
			if a == name && i+1 < len(list) {
				return list[i+1]
			}
		}
		return ""
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &Server{
		m: m, password: value(environ, "OPENCODE_SERVER_PASSWORD"), exit: make(chan struct{}), gone: ctx, running: &sync.WaitGroup{},
		streams: map[chan []byte]bool{}, shown: value(argv, "-s"),
	}
	port := value(argv, "--port")
	m.mu.Lock()
	m.servers[port] = s
	m.mu.Unlock()
	code := 0
	select {
	case <-s.exit:
	case <-ctx.Done():
		code = 1
	}
	m.mu.Lock()
	delete(m.servers, port)
	for _, one := range m.sessions {
		one.status = nil
	}
	m.mu.Unlock()
	cancel()
	s.running.Wait()
	return code
}

// Requests are the requests so far, as METHOD PATH, without the reads.
func (m *Machine) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Prompts are the texts of a session that have an answer, in order.
func (m *Machine) Prompts(id string) (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.sessions {
		for _, msg := range one.messages {
			if one.ID == id && msg.Info["role"] == "user" && one.answered(msg) {
				texts = append(texts, msg.text())
			}
		}
	}
	return texts
}

// Titles are the titles of the sessions that were not deleted.
func (m *Machine) Titles() (titles []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.sessions {
		if !one.deleted {
			titles = append(titles, one.Title)
		}
	}
	return titles
}

// Cut ends all streams of events, as a machine that has slept does. The servers go on.
func (m *Machine) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		for c := range s.streams {
			close(c)
		}
		clear(s.streams)
	}
}

// Type submits a prompt as a person in the pane does.
func (m *Machine) Type(session, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		s.prompt(m.session(session), text)
	}
}

// Do calls f while no request is served and no turn goes on.
func (m *Machine) Do(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// Reply answers all permissions.
func (m *Machine) Reply() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		for _, p := range s.asked {
			close(p.reply)
		}
		s.asked = nil
		s.tell("permission.replied", "", nil)
	}
}

func (m *Machine) session(id string) *session {
	i := slices.IndexFunc(m.sessions, func(s *session) bool { return s.ID == id && !s.deleted })
	if i < 0 {
		return nil
	}
	return m.sessions[i]
}

func (m *Machine) next(prefix string) string {
	m.last++
	return fmt.Sprintf("%s_%06d", prefix, m.last)
}

// RoundTrip implements [http.RoundTripper].
func (m *Machine) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var in map[string]any
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		_ = json.Unmarshal(b, &in)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[req.URL.Port()]
	if s == nil {
		return nil, syscall.ECONNREFUSED
	}
	if _, password, _ := req.BasicAuth(); password != s.password {
		return answer(http.StatusUnauthorized, nil), nil
	}
	if req.Method != http.MethodGet {
		m.requests = append(m.requests, req.Method+" "+req.URL.Path)
	}
	if req.URL.Path == "/event" {
		return s.stream(req), nil
	}
	return s.serve(req, in), nil
}

func answer(status int, v any) *http.Response {
	b := []byte{}
	if v != nil {
		b, _ = json.Marshal(v)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b))}
}

// stream is the answer to GET /event.
func (s *Server) stream(req *http.Request) *http.Response {
	r, w := io.Pipe()
	lines := make(chan []byte, 1000)
	s.streams[lines] = true
	s.running.Go(func() {
		defer func() { _ = w.Close() }()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				if _, err := w.Write(line); err != nil {
					return
				}
			case <-time.After(10 * time.Second):
				if _, err := w.Write([]byte("data: {\"type\":\"server.heartbeat\",\"properties\":{}}\n\n")); err != nil {
					return
				}
			case <-req.Context().Done():
				w.CloseWithError(req.Context().Err())
				return
			case <-s.gone.Done():
				return
			}
		}
	})
	stop := context.AfterFunc(req.Context(), func() { _ = r.CloseWithError(req.Context().Err()) })
	context.AfterFunc(s.gone, func() { stop(); _ = w.Close() })
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: r}
}

// tell sends an event to all streams.
func (s *Server) tell(kind, session string, more map[string]any) {
	properties := map[string]any{"sessionID": session}
	for k, v := range more {
		properties[k] = v
	}
	b, _ := json.Marshal(map[string]any{"type": kind, "properties": properties})
	for c := range s.streams {
		select {
		case c <- []byte("data: " + string(b) + "\n\n"):
		default:
		}
	}
}

func (msg *message) text() string {
	text, _ := msg.Parts[0]["text"].(string)
	return text
}

func (one *session) answered(u *message) bool {
	return slices.ContainsFunc(one.messages, func(a *message) bool { return a.Info["parentID"] == u.Info["id"] })
}

// newest returns the newest messages up to the limit of a request.
func (one *session) newest(limit string) []*message {
	n, err := strconv.Atoi(limit)
	if err != nil {
		n = len(one.messages)
	}
	return one.messages[max(0, len(one.messages)-n):]
}
