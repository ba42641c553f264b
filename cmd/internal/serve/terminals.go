package serve

import (
	"path/filepath"
	"sync"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// terminals returns a function that returns the driver of the tmux server at a socket. It makes one driver for each
// server. include is a file of tmux commands for the daemon's own server; "": none. mistake is told what is wrong with that file.
func terminals(dir data.Dir, include string, mistake func(error)) func(socket string) (engine.Terminal, error) {
	var mu sync.Mutex
	known := map[string]*tmux.Server{}
	return func(socket string) (engine.Terminal, error) {
		mu.Lock()
		defer mu.Unlock()
		if s := known[socket]; s != nil {
			return s, nil
		}
		s, err := tmux.New(tmux.Config{
			Socket: filepath.Clean(socket), Foreign: filepath.Clean(socket) != dir.TmuxSocket(),
			Include: func() string { return include },
			Warn:    mistake,
		})
		if err != nil {
			return nil, err
		}
		known[socket] = s
		return s, nil
	}
}
