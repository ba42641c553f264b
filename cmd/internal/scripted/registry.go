package scripted

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// registry is the file in which Claude Code tells other programs what a running session does.
type registry struct {
	agent *Agent
	mu    sync.Mutex // orders the writes, so that the file ends up with the last status
	path  string
	entry registryEntry
}

type registryEntry struct {
	PID        int    `json:"pid"`
	SessionID  string `json:"sessionId"`
	CWD        string `json:"cwd"`
	StartedAt  int64  `json:"startedAt"` // milliseconds, like updatedAt
	UpdatedAt  int64  `json:"updatedAt"`
	Version    string `json:"version"`
	Kind       string `json:"kind"`
	Entrypoint string `json:"entrypoint"`
	Name       string `json:"name,omitempty"`
	Status     string `json:"status"` // idle, busy or waiting
	WaitingFor string `json:"waitingFor,omitempty"`
}

func newRegistry(a *Agent) *registry {
	return &registry{
		agent: a, path: filepath.Join(a.configDir, "sessions", strconv.Itoa(a.PID)+".json"),
		entry: registryEntry{
			PID: a.PID, CWD: a.Dir, Name: a.opt.Name, StartedAt: time.Now().UnixMilli(),
			Version: Version, Kind: "interactive", Entrypoint: "cli",
		},
	}
}

// set changes the entry and writes it. The first call creates the file. If the file cannot be written, the agent goes
// on, as Claude Code does.
func (r *registry) set(change func(*registryEntry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.entry)
	r.write()
}

func (r *registry) write() {
	r.entry.UpdatedAt = time.Now().UnixMilli()
	text, err := json.Marshal(r.entry)
	if err != nil || r.agent.alive.Err() != nil || os.MkdirAll(filepath.Dir(r.path), 0o700) != nil {
		return
	}
	if os.WriteFile(r.path+".tmp", text, 0o600) == nil && os.Rename(r.path+".tmp", r.path) == nil {
		r.agent.wrote(r.path)
	}
}

func (r *registry) remove() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent.alive.Err() == nil {
		_ = os.Remove(r.path)
	}
}
