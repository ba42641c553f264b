package tmuxtest

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

// Impostor listens where a tmux server might, and tells every tmux client that talks to it to run a program.
type Impostor struct {
	Socket string
	talked atomic.Int64
	proof  string
}

// NewImpostor returns an impostor in this process, until the test ends.
func NewImpostor(tb testing.TB) *Impostor {
	tb.Helper()
	dir, err := os.MkdirTemp("", "us")
	if err != nil {
		tb.Fatal(err)
	}
	i := &Impostor{Socket: filepath.Join(dir, "sock"), proof: filepath.Join(dir, "proof")}
	l, err := net.Listen("unix", i.Socket)
	if err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go i.serve(conn)
		}
	}()
	tb.Cleanup(func() {
		_ = l.Close()
		<-ended
		_ = os.RemoveAll(dir)
	})
	return i
}

// Fooled says whether a tmux command talked to the impostor, or ran its program.
func (i *Impostor) Fooled() bool {
	_, err := os.Stat(i.proof)
	return err == nil || i.talked.Load() > 0
}

// serve answers as a server that makes its client attach, and then run a program in the client's place.
func (i *Impostor) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return // the client connected but did not talk
	}
	i.talked.Add(1)
	const exited, ready, exec = 204, 207, 217 // of tmux-protocol.h
	all := slices.Concat(message(ready, ""), message(exec, "echo ran > '"+i.proof+"'\x00/bin/sh\x00"), message(exited, ""))
	if _, err := conn.Write(all); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until the client closes
	}
}

// message encodes one message of tmux's protocol, version 8.
func message(typ uint32, data string) []byte {
	const head, version = 16, 8
	b := binary.NativeEndian.AppendUint32(nil, typ)
	b = binary.NativeEndian.AppendUint16(b, uint16(head+len(data)))
	b = binary.NativeEndian.AppendUint16(b, 0)
	b = binary.NativeEndian.AppendUint32(b, version)
	b = binary.NativeEndian.AppendUint32(b, 0)
	return append(b, data...)
}
