package api

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServeWaiting answers in place of Serve while the daemon cannot begin, until ctx ends. It answers on the main socket and
// over TCP, but not on the hook socket. It answers /healthz, and refuses all other requests with the reason for the wait,
// which why returns. It leaves the listeners open, so that no other program can take an address before Serve begins.
func (s *Server) ServeWaiting(ctx context.Context, ls Listeners, why func() error) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/healthz" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(Health{"ok", s.Version}) // fails only if the client has gone
			return
		}
		err := why()
		if err == nil {
			err = errCutOff // there is no reason any more: the daemon is beginning
		}
		status, body, _ := errorAnswer(err)
		writeError(s.Log, w, status, body)
	})
	handlers := map[net.Listener]http.Handler{ls.Main: answer}
	if ls.TCP != nil {
		handlers[ls.TCP] = s.guardTCP(answer)
	}
	var serving sync.WaitGroup
	for l, handler := range handlers {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: s.readTimeout, MaxHeaderBytes: maxHeader}
		s.floods.limit(server, false)
		serving.Go(func() { _ = server.Serve(lent{l}) }) // ends when the server shuts down, at the latest with the process
		serving.Go(func() {
			<-ctx.Done()
			s.shutdown(server)
		})
	}
	serving.Wait()
	for l := range handlers {
		setDeadline(l, time.Time{})
	}
}

// lent is a listener that stays open when a server closes it.
type lent struct{ net.Listener }

// Close makes Accept return an error, and leaves the listener open.
func (l lent) Close() error {
	setDeadline(l.Listener, time.Unix(1, 0))
	return nil
}

func setDeadline(l net.Listener, t time.Time) {
	if d, ok := l.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(t) // fails only if the listener is closed
	}
}
