package hooks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxAnswer = 1 << 20
	maxHead   = 64 << 10
)

// Tell posts a JSON body to a path of the daemon at socket, and waits for the answer until ctx ends. It drops the
// answer's body. It is for reports that are less urgent than a hook, and spools nothing.
func Tell(ctx context.Context, socket, launch, path string, body []byte) error {
	answer, err := exchange(ctx, socket, post(path, body, "X-Understudy-Launch", launch))
	if err == nil {
		_, err = answer.verdict()
	}
	return err
}

// Ask gets a path of the daemon at socket, and returns the answer's body. It waits until ctx ends, and at most 100 ms for
// the connection. [ErrNoDaemon] means that no daemon listens there.
func Ask(ctx context.Context, socket, path string) ([]byte, error) {
	answer, err := exchange(ctx, socket, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path))
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case err != nil:
		return nil, err
	}
	return answer.verdict()
}

// ErrNoDaemon means that no daemon listens on a socket.
var ErrNoDaemon = errors.New("no daemon listens")

func request(e Envelope) []byte {
	body := []byte(e.Body)
	if len(body) == 0 {
		body = []byte("{}")
	}
	number := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatUint(n, 10)
	}
	return post("/hooks/"+e.Event, body,
		"X-Understudy-Launch", e.Launch, "X-Understudy-Runtime", e.Runtime, "X-Tmux", e.Tmux, "X-Tmux-Pane", e.Pane, "X-Agent-Pid", number(uint64(max(0, e.AgentPID))),
		"X-Agent-Start", number(e.AgentStart), "X-Boot-Id", e.Boot,
		"X-Hook-Key", e.Key, "X-Hook-At", e.At.UTC().Format(time.RFC3339Nano), HoldsHeader, onOff(e.Holds))
}

// post returns an encoded request. headers are names and values in turn; post leaves out a header whose value is empty.
func post(path string, body []byte, headers ...string) []byte {
	var b bytes.Buffer
	b.Grow(len(body) + 1024)
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n", path, len(body))
	for i := 0; i < len(headers); i += 2 {
		if name, value := headers[i], headers[i+1]; value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, headerValue(value))
		}
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// headerValue replaces control bytes, because a line end in a value would end the
// header. The values come from the environment and are usually short. It cuts a
// value after 8 KiB, because the server would refuse a longer header.
func headerValue(s string) string {
	clean := []byte(s[:min(len(s), 8<<10)])
	for i, c := range clean {
		if c < ' ' || c == 0x7f {
			clean[i] = '?'
		}
	}
	return string(clean)
}

// onOff returns the value of a header that is there or not.
func onOff(set bool) string {
	if set {
		return "1"
	}
	return ""
}

func exchange(ctx context.Context, socket string, request []byte) (response, error) {
	return exchangeHeld(ctx, socket, request, func(map[string]string) {})
}

// exchangeHeld is exchange. It calls interim with the header of each informational answer.
func exchangeHeld(ctx context.Context, socket string, request []byte, interim func(fields map[string]string)) (response, error) {
	conn, err := dial(ctx, socket)
	if err != nil {
		return response{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// Read the answer even if the write failed: a server may answer and close the
	// connection before it has read the whole request.
	_, writeErr := conn.Write(request)
	answer, err := readResponse(bufio.NewReader(conn), interim)
	if err != nil {
		return response{}, errors.Join(writeErr, err)
	}
	return answer, nil
}

type response struct {
	status int
	body   []byte
}

// verdict returns the body if the answer accepts the event (2xx). Otherwise it returns an error with the answer's reason.
func (r response) verdict() ([]byte, error) {
	switch {
	case r.status >= 200 && r.status < 300:
		return r.body, nil
	case r.status == 401, r.status == 404, r.status == 408, r.status == 425, r.status == 429:
		return nil, fmt.Errorf("status %d: %s", r.status, r.sentence())
	case r.status >= 400 && r.status < 500:
		return nil, fmt.Errorf("%w with status %d: %s", ErrRefused, r.status, r.sentence())
	default:
		return nil, fmt.Errorf("status %d: %s", r.status, r.sentence())
	}
}

func (r response) sentence() string {
	var told struct{ Error string }
	if json.Unmarshal(r.body, &told) == nil && told.Error != "" {
		return headerValue(told.Error[:min(len(told.Error), 300)])
	}
	return fmt.Sprintf("%.80q", r.body)
}

// readResponse reads one answer, which must have a Content-Length or be chunked, except for the status 204 and 304. The
// close of the connection does not mark the end, because a daemon that dies closes it too.
func readResponse(r *bufio.Reader, interim func(fields map[string]string)) (response, error) {
	for {
		status, fields, err := readHead(r)
		if err != nil {
			return response{}, err
		}
		if status < 200 { // informational, such as 100 Continue
			interim(fields)
			continue
		}
		body, err := readBody(r, status, fields)
		if err != nil {
			return response{}, fmt.Errorf("status %d, body: %w", status, err)
		}
		return response{status, body}, nil
	}
}

func readHead(r *bufio.Reader) (status int, fields map[string]string, err error) {
	left := maxHead
	line, err := readLine(r, &left)
	if err != nil {
		return 0, nil, fmt.Errorf("answer: %w", err)
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err = strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/1.") || err != nil || status < 100 || status > 999 {
		return 0, nil, fmt.Errorf("answer is not HTTP: %.80q", line)
	}
	fields = map[string]string{}
	for {
		line, err := readLine(r, &left)
		if err != nil {
			return 0, nil, fmt.Errorf("answer's header: %w", err)
		}
		if line == "" {
			return status, fields, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, nil, fmt.Errorf("answer's header is not HTTP: %.80q", line)
		}
		fields[strings.ToLower(name)] = strings.TrimSpace(value)
	}
}

// readLine returns a line without its line end, and subtracts its length from left.
func readLine(r *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if *left -= len(part); *left < 0 {
			return "", errors.New("too long")
		}
		if err == nil {
			return strings.TrimRight(string(line), "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", noEOF(err)
		}
	}
}

func readBody(r *bufio.Reader, status int, fields map[string]string) ([]byte, error) {
	if status == 204 || status == 304 {
		return nil, nil
	}
	if te := fields["transfer-encoding"]; te != "" {
		if !strings.EqualFold(te, "chunked") {
			return nil, fmt.Errorf("transfer encoding %.40q is not known", te)
		}
		return readChunks(r)
	}
	length, err := strconv.ParseUint(fields["content-length"], 10, 31)
	if err != nil {
		return nil, errors.New("no length")
	}
	if length > maxAnswer {
		return nil, fmt.Errorf("%d bytes are more than %d", length, maxAnswer)
	}
	body := make([]byte, length)
	_, err = io.ReadFull(r, body)
	return body, noEOF(err)
}

func readChunks(r *bufio.Reader) ([]byte, error) {
	var body []byte
	left := maxHead // for all lines between the chunks
	for {
		line, err := readLine(r, &left)
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(line, ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		if err != nil || len(body)+int(size) > maxAnswer {
			return nil, fmt.Errorf("chunk of %.40q bytes", line)
		}
		if size == 0 {
			break
		}
		start := len(body)
		body = append(body, make([]byte, size)...)
		if _, err := io.ReadFull(r, body[start:]); err != nil {
			return nil, noEOF(err)
		}
		if line, err := readLine(r, &left); err != nil || line != "" {
			return nil, errors.Join(errors.New("chunk has no end"), err)
		}
	}
	for { // trailers
		line, err := readLine(r, &left)
		if err != nil || line == "" {
			return body, err
		}
	}
}

// noEOF replaces io.EOF by io.ErrUnexpectedEOF, because callers would take io.EOF
// for the regular end of the answer.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
