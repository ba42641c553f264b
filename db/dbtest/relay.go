package dbtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Relay stands between a server and hundreds of short-lived clients, because the start of a session costs the server
// more CPU than everything that such a client asks. When a client ends while its session is idle, the relay resets the
// session and gives it to the next client that begins with the same settings. A session that was in a query or in a
// transaction ends with its client, as it does without a relay.
type Relay struct {
	to *pgx.ConnConfig
	at net.Listener

	mu    sync.Mutex
	over  bool
	open  map[io.Closer]struct{}
	spare map[string][]*session // idle sessions by the settings that their clients began with
}

// NewRelay opens a relay to the server of a connection string. It ends with the test.
func NewRelay(t testing.TB, connString string) *Relay {
	t.Helper()
	to, err := pgx.ParseConfig(connString)
	if err != nil {
		t.Fatal(err)
	}
	delete(to.RuntimeParams, "pool_max_conns") // a setting for pools, which a server refuses
	dir, err := os.MkdirTemp("", "us")         // the path of t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{to: to, open: map[io.Closer]struct{}{}, spare: map[string][]*session{}}
	if r.at, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { r.accept(&running) })
	t.Cleanup(func() {
		r.at.Close()
		r.mu.Lock()
		r.over = true
		for c := range r.open {
			c.Close()
		}
		r.mu.Unlock()
		running.Wait()
		os.RemoveAll(dir)
	})
	return r
}

// ConnString returns the address of the server's database over the relay.
func (r *Relay) ConnString() string {
	return connStringVia(r.to, filepath.Dir(r.at.Addr().String()), 5432)
}

func (r *Relay) accept(running *sync.WaitGroup) {
	for {
		client, err := r.at.Accept()
		if err != nil {
			return
		}
		if !r.keep(client) {
			return
		}
		running.Go(func() {
			defer r.drop(client)
			r.serve(client, running)
		})
	}
}

// keep registers c to be closed when the test ends. If the test has ended, it closes c and returns false.
func (r *Relay) keep(c io.Closer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		c.Close()
		return false
	}
	r.open[c] = struct{}{}
	return true
}

func (r *Relay) drop(c io.Closer) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	c.Close()
}

// serve gives a client a session until the client ends.
func (r *Relay) serve(client net.Conn, running *sync.WaitGroup) {
	first, err := pgproto3.NewBackend(client, client).ReceiveStartupMessage()
	if err != nil {
		return
	}
	begin, ok := first.(*pgproto3.StartupMessage)
	if !ok {
		r.pass(first)
		return
	}
	like := fmt.Sprint(begin.Parameters)
	s := r.spareOf(like)
	if s == nil {
		if s, err = r.begin(begin.Parameters); err != nil {
			return // such as when the server is down
		}
		running.Go(func() {
			defer r.drop(s.server)
			s.listen()
		})
	}
	if s.follow(client) && s.reset() {
		r.mu.Lock()
		r.spare[like] = append(r.spare[like], s)
		r.mu.Unlock()
		return
	}
	s.server.Close()
}

// pass forwards a first message that begins no session, such as a request to cancel a query.
func (r *Relay) pass(m pgproto3.FrontendMessage) {
	server, err := dialServer(r.to)
	if err != nil {
		return
	}
	defer server.Close()
	if b, err := m.Encode(nil); err == nil {
		_, _ = server.Write(b) // the server does not answer a cancel request
		_, _ = io.Copy(io.Discard, server)
	}
}

func (r *Relay) spareOf(like string) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(r.spare[like]); n > 0; n = len(r.spare[like]) {
		s := r.spare[like][n-1]
		r.spare[like] = r.spare[like][:n-1]
		if !s.isDead() {
			return s
		}
	}
	return nil
}

// begin opens a session on the server.
func (r *Relay) begin(params map[string]string) (*session, error) {
	config := r.to.Config.Copy()
	for name, value := range params {
		if name != "user" && name != "database" {
			config.RuntimeParams[name] = value
		}
	}
	conn, err := pgconn.ConnectConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	h, err := conn.Hijack()
	if err != nil {
		return nil, err
	}
	s := &session{server: h.Conn}
	s.settled.L = &s.mu
	greeting := []pgproto3.BackendMessage{&pgproto3.AuthenticationOk{}}
	for name, value := range h.ParameterStatuses {
		greeting = append(greeting, &pgproto3.ParameterStatus{Name: name, Value: value})
	}
	greeting = append(greeting, &pgproto3.BackendKeyData{ProcessID: h.PID, SecretKey: h.SecretKey}, &pgproto3.ReadyForQuery{TxStatus: idle})
	for _, m := range greeting {
		if s.greeting, err = m.Encode(s.greeting); err != nil {
			return nil, err
		}
	}
	if !r.keep(s.server) {
		return nil, net.ErrClosed
	}
	return s, nil
}

// idle is the status of a session outside any transaction.
const idle = 'I'

// session is a session on the server.
type session struct {
	server   net.Conn
	greeting []byte // the server's messages before the first query

	mu      sync.Mutex
	settled sync.Cond // signalled when the server is ready, or dead
	client  io.Writer // nil: the session has no client
	asked   int       // how many ReadyForQuery messages the server owes
	status  byte      // transaction status of the last ReadyForQuery
	dead    bool
}

// listen passes the server's messages to the client, until the server ends the session.
func (s *session) listen() {
	from := bufio.NewReader(s.server)
	for {
		m, err := message(from)
		s.mu.Lock()
		switch {
		case err != nil:
			s.dead = true
			if c, ok := s.client.(io.Closer); ok {
				c.Close()
			}
		case m[0] == 'Z':
			s.asked--
			s.status = m[5]
		}
		client := s.client
		s.settled.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
		if client != nil {
			_, _ = client.Write(m) // follow notices that the client is gone
		}
	}
}

// follow passes the client's messages to the server until the client ends. whole says that the session was idle then.
func (s *session) follow(client net.Conn) (whole bool) {
	s.mu.Lock()
	s.client, s.status = client, idle
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.client = nil
		s.mu.Unlock()
	}()
	if _, err := client.Write(s.greeting); err != nil {
		return true
	}
	from, open := bufio.NewReader(client), false
	for {
		m, err := message(from)
		if err != nil || m[0] == 'X' { // Terminate
			s.mu.Lock()
			defer s.mu.Unlock()
			return !open && s.asked == 0 && s.status == idle && !s.dead
		}
		open = m[0] != 'Q' && m[0] != 'S' // neither Query nor Sync: the server waits for more messages
		if !open {
			s.mu.Lock()
			s.asked++
			s.mu.Unlock()
		}
		if _, err := s.server.Write(m); err != nil {
			return false
		}
	}
}

// reset makes the server discard the client's state. It returns false if the session has ended.
func (s *session) reset() bool {
	m, err := (&pgproto3.Query{String: "DISCARD ALL"}).Encode(nil)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if _, err := s.server.Write(m); err != nil {
		return false
	}
	for s.asked > 0 && !s.dead {
		s.settled.Wait()
	}
	return !s.dead && s.status == idle
}

func (s *session) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// message reads one message: a byte for its kind, the length of the rest, and the rest.
func message(from *bufio.Reader) ([]byte, error) {
	head, err := from.Peek(5)
	if err != nil {
		return nil, err
	}
	m := make([]byte, 1+binary.BigEndian.Uint32(head[1:]))
	_, err = io.ReadFull(from, m)
	return m, err
}
