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

// Relay stands between a server and clients that come and go by the hundred, since the start of a session takes the
// server more CPU than all that such a client asks of it. A session whose client ended while it did nothing is
// reset and serves the next client that begins alike. A session that was at work, or in a transaction, ends with its
// client as it does without a relay.
type Relay struct {
	to *pgx.ConnConfig
	at net.Listener

	mu    sync.Mutex
	over  bool
	open  map[io.Closer]struct{}
	spare map[string][]*session // by how their clients began
}

// NewRelay opens a relay to the server of a connection string. It ends with the test.
func NewRelay(t testing.TB, connString string) *Relay {
	t.Helper()
	to, err := pgx.ParseConfig(connString)
	if err != nil {
		t.Fatal(err)
	}
	delete(to.RuntimeParams, "pool_max_conns") // a pool's connection string
	dir, err := os.MkdirTemp("", "us")         // t.TempDir can be too long for a socket
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

// ConnString leads to the server's database over the relay.
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

// keep has c closed when the test ends; false: it has ended.
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

// serve gives a client a session until it ends.
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
			return // as of a server that is away
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

// pass sends the server what begins no session, such as the wish to cancel a query.
func (r *Relay) pass(m pgproto3.FrontendMessage) {
	server, err := dialServer(r.to)
	if err != nil {
		return
	}
	defer server.Close()
	if b, err := m.Encode(nil); err == nil {
		_, _ = server.Write(b) // the server answers nothing, and does not promise to do it
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

// idle is the state of a session that is in no transaction.
const idle = 'I'

// session is one of the server's.
type session struct {
	server   net.Conn
	greeting []byte // what the server says before the first query

	mu      sync.Mutex
	settled sync.Cond // the server is done with what it was asked, or dead
	client  io.Writer // nil: nobody listens
	asked   int       // times that the server owes the word that it is ready
	status  byte      // what it said then
	dead    bool
}

// listen gives the client what the server says, until the server ends the session.
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
			_, _ = client.Write(m) // that it is gone, the other direction finds
		}
	}
}

// follow gives the server what the client says, until the client ends; whole: the session did nothing then.
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
		open = m[0] != 'Q' && m[0] != 'S' // neither Query nor Sync: the server waits for more
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

// reset has the server forget the client; false: the session has ended.
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

// message reads one: a byte that says its kind, its length without that byte, and what it says.
func message(from *bufio.Reader) ([]byte, error) {
	head, err := from.Peek(5)
	if err != nil {
		return nil, err
	}
	m := make([]byte, 1+binary.BigEndian.Uint32(head[1:]))
	_, err = io.ReadFull(from, m)
	return m, err
}
