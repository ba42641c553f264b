package runtimes

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// Status is the state that a session writes into the registry.
type Status string

// The statuses of Claude Code's session registry.
const (
	StatusUnknown Status = ""
	StatusIdle    Status = "idle"
	StatusBusy    Status = "busy"
	StatusWaiting Status = "waiting" // a dialog is open, see Registry.WaitingFor
)

// Registry is one session's entry in Claude Code's session registry. Only the registry shows that a turn
// was interrupted (Esc) or that the CLI retries a request to the API: for these, Claude Code calls no hook.
type Registry struct {
	PID        int
	SessionID  string
	Status     Status
	WaitingFor string // such as "permission prompt"; "" unless Status is StatusWaiting
	Cwd        string
	Tmux       string // "session:@window.%pane"; "" outside tmux
	Name       string
	// ParkedJob is the job in which the session of this process goes on, because a person opened the agents view: the
	// process only shows that job from then on, or the view. "": the session is in this process.
	ParkedJob string
	Kind      string // "interactive", or KindBackground
	Job       string // the job of a session in the background; "": it is in a terminal
}

// KindBackground is the kind of a session that Claude Code runs in the background, without a terminal of a person's.
const KindBackground = "bg"

// RegistryPath returns the path of the file in which the Claude Code process pid keeps its entry.
func RegistryPath(configDir string, pid int) string {
	return filepath.Join(configDir, "sessions", strconv.Itoa(pid)+".json")
}

// statusShell is the status of a session without a turn while one of its commands runs in the background (seen
// with Claude Code 2.1.329).
const statusShell Status = "shell"

// ParseRegistry reads an entry. If only commands in the background run, Status is StatusIdle, because no turn
// runs. For a status that we do not know, Status is StatusUnknown. ParseRegistry fails if the file is only
// half written, or is not an entry.
func ParseRegistry(b []byte) (Registry, error) {
	var f struct {
		PID        int    `json:"pid"`
		SessionID  string `json:"sessionId"`
		Status     Status `json:"status"`
		WaitingFor string `json:"waitingFor"`
		Cwd        string `json:"cwd"`
		Tmux       string `json:"tmux"`
		Name       string `json:"name"`
		ParkedJob  string `json:"parkedJobId"`
		Kind       string `json:"kind"`
		Job        string `json:"jobId"`
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

// ConfigDir returns the directory of Claude Code's files. getenv reads the environment with which Claude Code
// was started. ConfigDir returns "" if that environment has neither CLAUDE_CONFIG_DIR nor HOME.
func ConfigDir(getenv func(string) string) string {
	return FolderOf(getenv, "CLAUDE_CONFIG_DIR", ".claude")
}

// ConfigDirOfTranscript returns DIR for a transcript at DIR/projects/PROJECT/SESSION.jsonl, and "" for any
// other path.
func ConfigDirOfTranscript(path string) string {
	projects := filepath.Dir(filepath.Dir(path))
	if !filepath.IsAbs(path) || filepath.Ext(path) != ".jsonl" || filepath.Base(projects) != "projects" {
		return ""
	}
	return filepath.Dir(projects)
}
