package dbtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Link is a network between clients and a server that can be cut silently: sent data is lost, and neither side learns
// that the other one is gone.
type Link struct {
	to  *pgx.ConnConfig
	tcp net.Listener

	mu    sync.Mutex
	cut   bool
	wires map[*wire]struct{}
}

// wire is one connection over the link. A wire that was cut never works again, as after a change of
// address.
type wire struct {
	dead           chan struct{}
	client, server net.Conn
}

// NewLink opens a link to the server of a connection string. It ends with the test.
func NewLink(t testing.TB, connString string) *Link {
	t.Helper()
	to, err := pgx.ParseConfig(connString)
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{to: to, wires: map[*wire]struct{}{}}
	if l.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { l.accept(&running) })
	t.Cleanup(func() {
		l.tcp.Close()
		l.mu.Lock()
		l.cut = true
		for w := range l.wires {
			w.client.Close()
			w.server.Close()
		}
		l.mu.Unlock()
		running.Wait()
	})
	return l
}

// ConnString returns the address of the server's database over the link.
func (l *Link) ConnString() string {
	return connStringVia(l.to, "127.0.0.1", l.tcp.Addr().(*net.TCPAddr).Port)
}

// connStringVia returns the address of a server's database over what listens at host and port in the server's place.
func connStringVia(to *pgx.ConnConfig, host string, port int) string {
	return fmt.Sprintf("host=%s port=%d sslmode=disable user=%s dbname=%s", host, port, to.User, to.Database)
}

// dialServer opens a connection to a server, without starting a session on it.
func dialServer(to *pgx.ConnConfig) (net.Conn, error) {
	network, address := pgconn.NetworkAddress(to.Host, to.Port)
	return new(net.Dialer).DialContext(context.Background(), network, address)
}

// Cut loses all data that is sent from now on, and accepts new connections that nobody answers.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for w := range l.wires {
		select {
		case <-w.dead:
		default:
			close(w.dead)
		}
	}
}

// Mend makes new connections work again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

func (l *Link) accept(running *sync.WaitGroup) {
	for {
		client, err := l.tcp.Accept()
		if err != nil {
			return
		}
		server, err := dialServer(l.to)
		if err != nil {
			client.Close()
			continue
		}
		w := &wire{dead: make(chan struct{}), client: client, server: server}
		l.mu.Lock()
		l.wires[w] = struct{}{}
		if l.cut {
			close(w.dead)
		}
		l.mu.Unlock()
		running.Go(func() { l.carry(w, client, server) })
		running.Go(func() { l.carry(w, server, client) })
	}
}

// carry copies one direction until its sender ends. Then it closes both ends, unless the wire is dead.
func (l *Link) carry(w *wire, from, to net.Conn) {
	_, _ = io.Copy(carrier{w, to}, from) // the reason of the end does not matter
	select {
	case <-w.dead:
		return
	default:
	}
	l.mu.Lock()
	delete(l.wires, w)
	l.mu.Unlock()
	from.Close()
	to.Close()
}

// carrier drops data on a dead wire and reports it as written.
type carrier struct {
	*wire
	to net.Conn
}

func (c carrier) Write(b []byte) (int, error) {
	select {
	case <-c.dead:
		return len(b), nil
	default:
		return c.to.Write(b)
	}
}
