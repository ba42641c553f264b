package hooks

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// Envelope is one hook on its way to the daemon.
type Envelope struct {
	Key    string `json:"key"`              // unique; see [NewKey]
	Event  string `json:"event"`            // canonical
	Launch string `json:"launch,omitempty"` // the launch secret; empty for agents that we did not start
	// Runtime is the runtime whose hook it is, in whose words Event and Body are. Empty means Claude Code, whose words are
	// the daemon's.
	Runtime  string `json:"runtime,omitempty"`
	Tmux     string `json:"tmux,omitempty"` // $TMUX: socket, server pid, session
	Pane     string `json:"pane,omitempty"` // $TMUX_PANE
	AgentPID int    `json:"agent_pid,omitempty"`
	// AgentStart and Boot distinguish the agent's process from a later process with the same id. AgentStart is
	// the start time of the agent's process, in clock ticks since the boot Boot. Outside Linux both are empty.
	AgentStart uint64 `json:"agent_start,omitempty"`
	Boot       string `json:"boot,omitempty"`
	// Holds says that the hook's command waits for the answer as long as [HoldTimeout], once the daemon says that it holds it.
	Holds bool `json:"-"`
	// Sandbox is the agent in whose own part of the spool the hook was; 0: it was not in one.
	Sandbox int64           `json:"-"`
	At      time.Time       `json:"at"`   // when the hook started
	Body    json.RawMessage `json:"body"` // the CLI's own JSON; empty means {}
}

// NewKey returns a key of 32 hexadecimal digits for a hook that started at the
// given time. The first half is the time, so that keys sort by time. The second
// half is random. The key is unique but not secret.
func NewKey(at time.Time) string {
	return fmt.Sprintf("%016x%016x", at.UnixNano(), rand.Uint64())
}

// check returns an error if the event or the key of e must not be part of a file name and of a request.
func (e Envelope) check() error {
	name, ok := Canonical(e.Event)
	if !ok || name != e.Event {
		return fmt.Errorf("hook event %.80q is not canonical", e.Event)
	}
	if e.Runtime != "" && !validKey(e.Runtime) {
		return fmt.Errorf("hook %s: runtime %.80q is not 1 to 64 letters, digits, - and _", e.Event, e.Runtime)
	}
	if !validKey(e.Key) {
		return fmt.Errorf("hook %s: key %.80q is not 1 to 64 letters, digits, - and _", e.Event, e.Key)
	}
	return nil
}

func validKey(key string) bool {
	for _, c := range []byte(key) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return 0 < len(key) && len(key) <= 64
}

// agent returns a tag that is the same for all hooks of one agent. It is a hash of the launch secret; if that is empty,
// of the process id; if that is empty as well, of the session id. Two agents may have the same tag by chance: the hooks
// of one agent then wait for those of the other.
func (e Envelope) agent() string {
	sum := fnv.New64a()
	switch {
	case e.Launch != "":
		_, _ = io.WriteString(sum, "launch "+e.Launch)
	case e.AgentPID != 0:
		_, _ = io.WriteString(sum, "process "+strconv.Itoa(e.AgentPID))
	default:
		var body struct {
			SessionID string `json:"session_id"`
		}
		_ = json.Unmarshal(e.Body, &body) // ignore the error: the tag is then the hash of an empty session id
		_, _ = io.WriteString(sum, "session "+body.SessionID)
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

// AnswerTimeout returns how long the daemon may take to answer event, while the
// CLI waits. It is longest for events whose answer can change the CLI's
// behaviour. It is short for SessionEnd, because the CLI gives hooks little time
// at a session's end.
func AnswerTimeout(event string) time.Duration {
	switch event {
	case Stop, UserPromptSubmit, SessionStart, PermissionRequest,
		"BeforeAgent", "AfterAgent", // Gemini's
		"PromptTaken", "TurnEnded": // our extension's in oh-my-pi
		return 10 * time.Second
	case SessionEnd:
		return time.Second
	default:
		return 5 * time.Second
	}
}
