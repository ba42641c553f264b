package inside

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

const (
	maxStatus     = 1 << 20          // bytes of the runtime's JSON; it has about 2,000
	statusRead    = time.Second      // for the runtime to write its JSON
	statusReport  = time.Second      // for the report to the daemon, on a busy machine
	statusLineMax = 30 * time.Second // for the user's own command
	statusLineEnv = "UNDERSTUDY_STATUSLINE"
)

// runStatusLine runs `understudy statusline` with the streams and the environment of this process.
func runStatusLine() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	defer stop()
	return StatusLine(ctx, hooks.Tell, os.Environ(), os.Stdin, os.Stdout, os.Stderr)
}

// Tell sends a report to the daemon at a socket, as [hooks.Tell] does.
type Tell func(ctx context.Context, socket, launch, path string, body []byte) error

// StatusLine reports to the daemon how full the context window is. At the same time it runs the user's own status line
// with the same input, environment and output, and returns the exit code of that command. It does not print an error of
// the report, since its output is the user's screen. When ctx ends, the user's command ends as well.
func StatusLine(ctx context.Context, tell Tell, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	getenv := func(name string) string { return child.Getenv(environ, name) }
	if getenv(statusLineEnv) != "" { // the user's own status line is this same command: do not run it without end
		return 0
	}
	input, ok := readStatus(ctx, stdin)
	if !ok {
		return 0
	}
	var status runtimeStatus
	if err := json.Unmarshal(input, &status); err != nil {
		status.Window.Usage = nil // report no numbers that could not be parsed
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { reportContext(ctx, tell, getenv, status) })
	command := userStatusLine(status.projectDir(), getenv)
	if command == "" {
		_, _ = io.WriteString(stdout, ownStatusLine(status, getenv))
		return 0
	}
	return runStatusCommand(ctx, command, environ, input, stdout, stderr)
}

// readStatus reads the runtime's JSON. It returns false if the JSON is too long or does not end within statusRead.
func readStatus(ctx context.Context, stdin io.Reader) ([]byte, bool) {
	read := make(chan []byte, 1)
	go func() { // a read can't be cancelled; it ends with the process
		b, _ := io.ReadAll(io.LimitReader(stdin, maxStatus+1))
		read <- b
	}()
	limit := time.NewTimer(statusRead)
	defer limit.Stop()
	select {
	case b := <-read:
		return b, len(b) <= maxStatus
	case <-limit.C:
	case <-ctx.Done():
	}
	return nil, false
}

// runStatusCommand runs the user's command as the runtime would. As under the runtime, children of the command may
// outlive it: they may fill a cache for the next run.
func runStatusCommand(ctx context.Context, command string, environ []string, input []byte, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithTimeout(ctx, statusLineMax)
	defer cancel()
	runtime.LockOSThread() // see child.Tie
	defer runtime.UnlockOSThread()
	cmd := child.InGroup(ctx, "/bin/sh", "-c", command)
	child.Tie(cmd.SysProcAttr)
	cmd.Env = append(environ[:len(environ):len(environ)], statusLineEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	if err := cmd.Start(); err != nil {
		return 1
	}
	_ = cmd.Wait() // only the exit code is used
	if ctx.Err() != nil {
		child.SignalGroup(cmd.Process, syscall.SIGKILL)
	}
	return child.ExitCode(cmd.ProcessState)
}

// runtimeStatus has the fields that understudy uses of the JSON that Claude Code (2.1.329) gives its status line.
type runtimeStatus struct {
	SessionID string `json:"session_id"`
	Cwd       string `json:"cwd"`
	Workspace struct {
		ProjectDir string `json:"project_dir"`
	} `json:"workspace"`
	Window struct {
		Size  int64 `json:"context_window_size"` // tokens
		Usage *struct {
			Input    int64 `json:"input_tokens"`
			Creation int64 `json:"cache_creation_input_tokens"`
			Read     int64 `json:"cache_read_input_tokens"`
		} `json:"current_usage"` // null before the first turn and after /clear
	} `json:"context_window"`
	Cost struct {
		USD *float64 `json:"total_cost_usd"` // of the session so far
	} `json:"cost"`
}

// projectDir returns the folder in which the runtime looks for the project's settings.
func (s runtimeStatus) projectDir() string {
	return cmp.Or(s.Workspace.ProjectDir, s.Cwd)
}

// ownStatusLine returns the status line for users who have none of their own. Without it the runtime would show a blank
// row.
func ownStatusLine(s runtimeStatus, getenv func(string) string) string {
	id, err := strconv.ParseInt(getenv("UNDERSTUDY_AGENT_ID"), 10, 64)
	if err != nil {
		return "" // not an agent that understudy started
	}
	who := cmp.Or(getenv("UNDERSTUDY_PERSONA"), fmt.Sprintf("agent %d", id))
	use, ok := s.use()
	if !ok {
		return who + "\n"
	}
	return fmt.Sprintf("%s, %s of the context used\n", who, words.Percent(100*float64(use.Tokens)/float64(use.Limit)))
}

// contextUse is the body of the report to the daemon.
type contextUse struct {
	SessionID string `json:"session_id"`
	Tokens    int64  `json:"tokens"` // in the window, without output tokens, as in the runtime's percentage
	Limit     int64  `json:"limit"`  // the window's size
	// CostUSD is what the session has cost so far.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

func (s runtimeStatus) use() (contextUse, bool) {
	u := s.Window.Usage
	if u == nil || s.Window.Size <= 0 || s.SessionID == "" {
		return contextUse{}, false
	}
	return contextUse{SessionID: s.SessionID, Tokens: u.Input + u.Creation + u.Read, Limit: s.Window.Size, CostUSD: s.Cost.USD}, true
}

// reportContext reports the use of the context window to the daemon. The daemon ignores a number that it already has. If
// a report takes longer than statusReport, reportContext drops it, since the next turn reports again.
func reportContext(ctx context.Context, tell Tell, getenv func(string) string, status runtimeStatus) {
	use, ok := status.use()
	agent, err := strconv.ParseInt(getenv("UNDERSTUDY_AGENT_ID"), 10, 64)
	socket, launch := getenv("UNDERSTUDY_SOCKET"), getenv("UNDERSTUDY_LAUNCH")
	if !ok || err != nil || socket == "" || launch == "" || strings.ContainsAny(launch, "\r\n") || getenv("UNDERSTUDY_ONESHOT") != "" {
		return
	}
	body, err := json.Marshal(use)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, statusReport)
	defer cancel()
	_ = tell(ctx, socket, launch, fmt.Sprintf("/api/agents/%d/context", agent), body)
}

// userStatusLine returns the command of the user's own status line, or "". The runtime's settings files are read in the
// runtime's order, and the first command counts. The runtime does not run that command itself, because understudy's
// command, given by --settings, has priority over these files.
func userStatusLine(project string, getenv func(string) string) string {
	config := getenv("CLAUDE_CONFIG_DIR")
	if home := getenv("HOME"); config == "" && home != "" {
		config = filepath.Join(home, ".claude")
	}
	var files []string
	if project != "" {
		files = append(files, filepath.Join(project, ".claude", "settings.local.json"), filepath.Join(project, ".claude", "settings.json"))
	}
	if config != "" {
		files = append(files, filepath.Join(config, "settings.json"))
	}
	for _, path := range files {
		var file struct {
			StatusLine struct {
				Type    string `json:"type"`
				Command string `json:"command"`
			} `json:"statusLine"`
		}
		b, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(hooks.WithoutMark(b), &file) != nil {
			continue // the runtime itself reports an invalid settings file
		}
		if s := file.StatusLine; s.Type == "command" && strings.TrimSpace(s.Command) != "" {
			return s.Command
		}
	}
	return ""
}
