package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const (
	answerTimeout = time.Minute // how long the head of an answer may take to arrive
	maxAnswer     = 64 << 20    // bytes
)

// Client calls a daemon. If the daemon answers with an error, or no daemon answers, the methods return a
// [*daemon.Error] with a code and a sentence. A Client is safe for concurrent use.
type Client struct {
	*wire
	agentCalls
	handoffCalls
	pipelineCalls
	personaCalls
	treeCalls
}

// wire sends the requests of a client.
type wire struct {
	base   string // URL without a slash at its end
	token  string
	launch string // the secret of an agent's launch; empty for other clients
	http   *http.Client
}

// caller is a wire, or what calls over one.
type caller interface {
	fetch(ctx context.Context, method, path string, in any) ([]byte, error)
}

// The calls about one thing each.
type (
	agentCalls    struct{ *wire }
	handoffCalls  struct{ *wire }
	pipelineCalls struct{ *wire }
	personaCalls  struct{ *wire }
	treeCalls     struct{ *wire }
)

func clientOf(w *wire) *Client {
	return &Client{w, agentCalls{w}, handoffCalls{w}, pipelineCalls{w}, personaCalls{w}, treeCalls{w}}
}

// NewClient returns a client of the daemon at a unix socket.
func NewClient(socketPath string) *Client {
	dialer := net.Dialer{Timeout: dialTimeout}
	return newClient("http://localhost", "", func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", socketPath)
	})
}

// NewAgentClient returns an agent's client of the daemon at its hook socket. The client sends the secret of the agent's
// launch. With it the agent may use its own handoff and messages, see its peers and send messages to them.
func NewAgentClient(socketPath, launchSecret string) *Client {
	c := NewClient(socketPath)
	c.launch = launchSecret
	return c
}

// NewTCPClient returns a client of the daemon at a URL like http://127.0.0.1:7433. The client sends the token.
func NewTCPClient(url, token string) *Client {
	return newClient(strings.TrimSuffix(url, "/"), token, (&net.Dialer{Timeout: dialTimeout}).DialContext)
}

// NewClientOver returns a client that sends its requests over the given transport. Like a client of a unix socket, it
// sends no token.
func NewClientOver(transport http.RoundTripper) *Client {
	return clientOf(&wire{base: "http://localhost", http: &http.Client{Transport: transport}})
}

// NoClient returns a client whose calls all fail with err, because it is not known whom to call.
func NoClient(err error) *Client { return NewClientOver(nobody{err}) }

// nobody is the transport of a client that has nobody to call.
type nobody struct{ error }

func (n nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, n }
func (n nobody) Unwrap() error                                   { return n.error }

func newClient(base, token string, dial func(context.Context, string, string) (net.Conn, error)) *Client {
	return clientOf(&wire{base: base, token: token, http: &http.Client{Transport: &http.Transport{
		DialContext:           dial,
		ResponseHeaderTimeout: answerTimeout,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConnsPerHost:   8,
	}}})
}

// Close closes the connections that the client keeps for later calls.
func (c *wire) Close() { c.http.CloseIdleConnections() }

// call sends a request and decodes its answer. If in is not nil, call sends it as JSON.
func call[T any](ctx context.Context, c caller, method, path string, in any) (answer T, err error) {
	body, err := c.fetch(ctx, method, path, in)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("answer to %s %s: %w", method, path, err)
	}
	return answer, nil
}

// fetch sends a request and returns the answer's body. If in is not nil, fetch sends it as JSON.
func (c *wire) fetch(ctx context.Context, method, path string, in any) ([]byte, error) {
	var body io.Reader
	header := http.Header{}
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
		header.Set("Content-Type", "application/json")
	}
	response, err := c.open(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("answer to %s %s: %w", method, path, err)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("answer to %s %s: more than %d bytes", method, path, maxAnswer)
	}
	return answer, nil
}

// open sends a request and returns the answer, whose body the caller closes. It returns the daemon's refusal as an error.
func (c *wire) open(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	if c.launch != "" {
		header.Set(launchHeader, c.launch)
	}
	request.Header = header
	response, err := c.http.Do(request)
	if err != nil {
		return nil, callError(err)
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	refusal, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, callError(err)
	}
	return nil, answerError(response.StatusCode, refusal)
}

// callError returns the error for the caller if a request got no complete answer because of err.
func callError(err error) error {
	var timeout net.Error
	var none nobody
	switch {
	case errors.As(err, &none):
		return none
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // the caller has cancelled the call
	case errors.Is(err, os.ErrPermission):
		return &daemon.Error{Kind: daemon.KindForbidden, Code: codeSocketForbidden, Message: "the daemon's socket belongs to another user: run this as the user who runs `understudy serve`", Cause: err}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return &daemon.Error{Kind: daemon.KindUnavailable, Code: codeDaemonNotRunning, Message: "the daemon is not running: start it with `understudy serve`", Cause: err}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &daemon.Error{Kind: daemon.KindUnavailable, Code: codeNoAnswer, Message: "the daemon does not answer: look at its log", Cause: err}
	}
	return &daemon.Error{Kind: daemon.KindUnavailable, Code: codeCutOff, Message: "the connection to the daemon was cut off: try again", Cause: err}
}

// answerError returns the error in a daemon's answer.
func answerError(status int, answer []byte) error {
	var body errorBody
	if err := json.Unmarshal(answer, &body); err != nil || body.Error == "" {
		body = errorBody{fmt.Sprintf("the daemon answered with status %d and no sentence", status), daemon.Code("status_" + strconv.Itoa(status))}
	}
	kind := daemon.KindInternal
	for k, s := range statuses {
		if s == status {
			kind = k
		}
	}
	if kind == daemon.KindInternal && status < 500 {
		kind = daemon.KindInvalid
	}
	return &daemon.Error{Kind: kind, Code: body.Code, Message: body.Error}
}

// ListOptions filter a list. A zero value does not filter.
type ListOptions struct {
	State    string // of agents; "active" selects all agents that have not ended
	Status   string // of handoffs or pipelines
	Persona  string
	Template string // of pipelines
	Before   int64  // only smaller ids
	Limit    int    // 0 means 100
}

func (o ListOptions) query() string {
	return query(map[string]any{"state": o.State, "status": o.Status, "persona": o.Persona, "template": o.Template, "before": o.Before, "limit": o.Limit})
}

// query returns the parameters that are not zero, as the end of an address.
func query(parameters map[string]any) string {
	q := url.Values{}
	for name, value := range parameters {
		switch v := value.(type) {
		case []string:
			q[name] = v
		case time.Time:
			if !v.IsZero() {
				q.Set(name, v.UTC().Format(time.RFC3339Nano))
			}
		default:
			if !reflect.ValueOf(v).IsZero() {
				q.Set(name, fmt.Sprint(v))
			}
		}
	}
	return strings.TrimSuffix("?"+q.Encode(), "?")
}

// givenID returns a pointer to id for a field of a body, or nil if id is 0.
func givenID(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

// at returns the address of a resource with an id.
func at(kind string, id int64, rest string) string {
	return fmt.Sprintf("/api/%s/%d%s", kind, id, rest)
}
