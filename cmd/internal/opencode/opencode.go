// Package opencode talks to the HTTP server that OpenCode runs in the process of each of its screens. It is the
// [daemon.Control] of the runtime opencode.
//
// It owns the wire: requests, the stream of events, and the file with the conversation. What the answers mean is decided in
// package runtimes. An event only says that it is time to look; all that is reported was read afterwards, so that a gap in the
// stream loses nothing. Each Follow is one goroutine of its caller and one that reads the stream; both have ended when it
// returns. All methods are safe for concurrent use. A crash leaves at most a copy of a session, which the next Ask deletes.
package opencode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
	"github.com/understudyd/understudy/tmux"
)

const (
	// answerLimit is how long the server may take for one answer. It is in a process that is busy with other things.
	answerLimit = 15 * time.Second
	// awakeLimit is how long the first request to a server may take; see awake.
	awakeLimit = time.Second
	// maxAnswer is how many bytes of an answer are read. A conversation holds the output of all tools.
	maxAnswer = 256 << 20
	// maxError is how many bytes of an error's text are kept.
	maxError = 300
)

// server is the server of one agent.
type server struct {
	link engine.Link
	base string
	http *http.Client
}

// New returns the server to which a link points. It does not talk to it yet.
func New(link engine.Link) (engine.Control, error) {
	if link.Server.Port <= 0 || link.Server.Password == "" {
		return nil, errors.New("the link names no port or no password")
	}
	return newServer(link, "http://127.0.0.1:"+strconv.Itoa(link.Server.Port), &http.Client{
		// The requests carry the password: they go to loopback alone, whatever proxy the environment names.
		Transport:     &http.Transport{Proxy: nil, DialContext: dialAgent(link.Process), MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}), nil
}

// dialAgent connects to what listens in an agent's process, and sends nothing to anybody else: whoever reads the port in the list of processes
// can listen on it first, and would get the password and the prompt.
func dialAgent(agent tmux.Process) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := listensAt(agent, conn.RemoteAddr()); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
}

// listensAt returns nil if an agent's process listens at an address, or if this system does not tell.
func listensAt(agent tmux.Process, address net.Addr) error {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return err
	}
	holders, _, err := tmux.HoldersOfTCP(at, netip.AddrPortFrom(netip.IPv4Unspecified(), 0))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return err
	case !slices.ContainsFunc(holders, func(p tmux.Process) bool { return p.IsDescendantOf(agent.PID) }):
		return fmt.Errorf("%s, process %d: %w", at, agent.PID, engine.ErrStranger)
	}
	return nil
}

func newServer(link engine.Link, base string, client *http.Client) *server {
	return &server{link: link, base: base, http: client}
}

// close drops the connections that no request uses.
func (s *server) close() { s.http.CloseIdleConnections() }

// statusError is an answer with another status than 2xx.
type statusError struct {
	method, path string
	status       int
	text         string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: status %d: %s", e.method, e.path, e.status, e.text)
}

// request sends a request. The caller closes the answer's body.
func (s *server) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("opencode", s.link.Server.Password)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, errors.Unwrap(err)) // the whole error repeats the address
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
		return nil, &statusError{method, path, res.StatusCode, string(text)}
	}
	return res, nil
}

// call sends a request and decodes the answer into out; nil: the answer does not matter.
func (s *server) call(ctx context.Context, method, path string, body, out any) error {
	return s.callWithin(ctx, answerLimit, method, path, body, out)
}

// callWithin is call with another limit.
func (s *server) callWithin(ctx context.Context, limit time.Duration, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNoAnswer)
	defer cancel()
	return s.slowCall(ctx, method, path, body, out)
}

// awake returns nil as soon as the server answers. OpenCode never answers a request that arrives while it starts, and
// answers the next one within milliseconds (1.18.33). So awake gives its first requests little time, and each twice as much
// as the one before: on a busy machine, an answer may really take long.
func (s *server) awake(ctx context.Context) error {
	for limit := awakeLimit; ; limit *= 2 {
		err := s.callWithin(ctx, limit, http.MethodGet, "/global/health", nil, nil)
		if !errors.Is(err, errNoAnswer) || limit > answerLimit/2 {
			return err
		}
	}
}

var errNoAnswer = errors.New("OpenCode's server gave no answer in time")

// slowCall is call without a limit of its own.
func (s *server) slowCall(ctx context.Context, method, path string, body, out any) error {
	res, err := s.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
		return err
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("%s %s: answer: %w", method, path, err)
	}
	return nil
}

func inSession(id, what string) string { return "/session/" + url.PathEscape(id) + what }

// session is what we need of a session.
type session struct {
	ID    string          `json:"id,omitempty"`
	Title string          `json:"title,omitempty"`
	Rules []opencode.Rule `json:"permission,omitempty"`
}

// title is the title of the agent's session. The hash of the password distinguishes it from those of other launches.
func (s *server) title() string {
	sum := sha256.Sum256([]byte(s.link.Server.Password))
	return opencode.Title(s.link.Name, s.link.AgentID, hex.EncodeToString(sum[:4]))
}

// copyTitle is the title of a copy of the agent's session.
func (s *server) copyTitle() string { return s.title() + ", copy" }

// theSession returns the id of the agent's session. If nobody has noted it, theSession looks for the session by its title, and
// makes it only if there is none: an earlier daemon may have made it and not noted it.
func (s *server) theSession(ctx context.Context) (string, error) {
	if s.link.Session != "" {
		return s.link.Session, nil
	}
	list, err := s.sessions(ctx, s.title())
	if err != nil {
		return "", err
	}
	if len(list) > 0 {
		return list[0].ID, nil
	}
	rules, err := s.rules(ctx)
	if err != nil {
		return "", err
	}
	var made session
	if err := s.call(ctx, http.MethodPost, "/session", session{Title: s.title(), Rules: rules}, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", errors.New("POST /session: the answer has no id")
	}
	return made.ID, nil
}

// sessions returns the sessions with a title.
func (s *server) sessions(ctx context.Context, title string) (found []session, err error) {
	var list []session
	if err := s.call(ctx, http.MethodGet, "/session?search="+url.QueryEscape(title), nil, &list); err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.Title == title {
			found = append(found, one)
		}
	}
	return found, nil
}

// show has the pane show a session.
func (s *server) show(ctx context.Context, id string) error {
	return s.call(ctx, http.MethodPost, "/tui/select-session", map[string]string{"sessionID": id}, nil)
}

// Send implements [daemon.Control].
func (s *server) Send(ctx context.Context, text string, since time.Time) error {
	defer s.close()
	id, err := s.theSession(ctx)
	if err != nil {
		return err
	}
	sight, err := s.read(ctx, id, recent)
	if err != nil {
		return err
	}
	if sight.Awaits(text, since, time.Now()) {
		return nil
	}
	if len(sight.Messages) == 0 { // if the daemon was started again, Follow does not tell the screen
		if err := s.show(ctx, id); err != nil {
			return err
		}
	}
	in := prompt(text)
	if agent := opencode.AgentOf(s.link.Mode); agent != "" { // otherwise the server takes the user's default agent, whatever the screen shows
		in["agent"] = agent
	}
	return s.call(ctx, http.MethodPost, inSession(id, "/prompt_async"), in, nil)
}

func prompt(text string) map[string]any {
	return map[string]any{"parts": []map[string]string{{"type": "text", "text": text}}}
}

// Ask implements [daemon.Control].
func (s *server) Ask(ctx context.Context, question string) (texts []string, err error) {
	defer s.close()
	if err := s.deleteCopies(ctx); err != nil { // a daemon may have been killed while it asked
		return nil, err
	}
	var fork session
	if err := s.call(ctx, http.MethodPost, inSession(s.link.Session, "/fork"), map[string]string{}, &fork); err != nil {
		return nil, err
	}
	defer func() {
		after, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), answerLimit, errNoAnswer)
		defer cancel()
		err = errors.Join(err, s.call(after, http.MethodDelete, inSession(fork.ID, ""), nil, nil))
	}()
	if err := s.call(ctx, http.MethodPatch, inSession(fork.ID, ""), map[string]string{"title": s.copyTitle()}, nil); err != nil {
		return nil, err
	}
	body := prompt(question)
	body["tools"] = map[string]bool{"*": false}
	var answer opencode.Message
	if err := s.slowCall(ctx, http.MethodPost, inSession(fork.ID, "/message"), body, &answer); err != nil {
		return nil, err
	}
	return answer.Answer()
}

func (s *server) deleteCopies(ctx context.Context) error {
	list, err := s.sessions(ctx, s.copyTitle())
	for _, left := range list {
		err = errors.Join(err, s.call(ctx, http.MethodDelete, inSession(left.ID, ""), nil, nil))
	}
	return err
}

// Interrupt implements [daemon.Control].
func (s *server) Interrupt(ctx context.Context) error {
	defer s.close()
	return s.call(ctx, http.MethodPost, inSession(s.link.Session, "/abort"), nil, nil)
}

// Exit implements [daemon.Control].
func (s *server) Exit(ctx context.Context, rest *runtimes.Rest) error {
	defer s.close()
	if rest != nil && s.link.Session != "" {
		sight, err := s.read(ctx, s.link.Session, recent)
		if err != nil {
			return err
		}
		if sight.GivenWork(rest) {
			return daemon.ErrGivenWork
		}
	}
	return s.call(ctx, http.MethodPost, "/tui/publish", map[string]any{
		"type": "tui.command.execute", "properties": map[string]string{"command": "app.exit"},
	}, nil)
}
