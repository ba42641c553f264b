package runtimes

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// Status is what a session says of itself.
type Status string

// The statuses of Claude Code's session registry.
const (
	StatusUnknown Status = ""
	StatusIdle    Status = "idle"
	StatusBusy    Status = "busy"
	StatusWaiting Status = "waiting" // a dialog is open, see Registry.WaitingFor
)

// Registry is one session's entry in Claude Code's session registry. It is the only signal of an
// interrupted turn (Esc) and of an API that is being retried: no hook fires for those.
type Registry struct {
	PID        int
	SessionID  string
	Status     Status
	WaitingFor string // such as "permission prompt"; "" unless waiting
	Cwd        string
	Tmux       string // "session:@window.%pane"; "" outside tmux
	Name       string
}

// RegistryPath is the file in which the process keeps its entry.
func RegistryPath(configDir string, pid int) string {
	return filepath.Join(configDir, "sessions", strconv.Itoa(pid)+".json")
}

// statusShell is what an idle session says of itself while one of its commands runs in the background
// (seen with Claude Code 2.1.329).
const statusShell Status = "shell"

// ParseRegistry reads an entry. A session that is idle but for commands in the background is
// StatusIdle: no turn of it runs. A status that is not known is StatusUnknown; an error is a file
// that is being written, or not an entry.
func ParseRegistry(b []byte) (Registry, error) {
	var f struct {
		PID        int    `json:"pid"`
		SessionID  string `json:"sessionId"`
		Status     Status `json:"status"`
		WaitingFor string `json:"waitingFor"`
		Cwd        string `json:"cwd"`
		Tmux       string `json:"tmux"`
		Name       string `json:"name"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return Registry{}, fmt.Errorf("session registry: %w", err)
	}
	if f.PID <= 0 || f.SessionID == "" {
		return Registry{}, errors.New("session registry: no pid or no session id")
	}
	switch f.Status {
	case StatusIdle, StatusBusy, StatusWaiting:
	case statusShell:
		f.Status = StatusIdle
	default:
		f.Status = StatusUnknown
	}
	return Registry(f), nil
}

// ConfigDir is where Claude Code keeps its files, by the environment it was started with; "" if
// that has neither CLAUDE_CONFIG_DIR nor HOME.
func ConfigDir(getenv func(string) string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}

// ConfigDirOfTranscript is the configuration directory to which a transcript belongs, whose path
// is DIR/projects/PROJECT/SESSION.jsonl; "" for any other path.
func ConfigDirOfTranscript(path string) string {
	projects := filepath.Dir(filepath.Dir(path))
	if !filepath.IsAbs(path) || filepath.Ext(path) != ".jsonl" || filepath.Base(projects) != "projects" {
		return ""
	}
	return filepath.Dir(projects)
}
