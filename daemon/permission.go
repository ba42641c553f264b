package daemon

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon/words"
)

// PermissionSettings say how the permissions are asked for that agents need.
type PermissionSettings struct {
	// Hold is how long the daemon holds the hook of a permission, so that it can be answered elsewhere than in the pane. 0:
	// it holds none.
	Hold time.Duration `yaml:"hold"`
}

// DefaultPermissions has the defaults of config.yaml.
var DefaultPermissions = PermissionSettings{Hold: 10 * time.Minute}

// PermissionState says where the answer to a permission stands.
type PermissionState string

// The states of a permission. The last four are final.
const (
	// PermissionOpen: the agent asks, the dialog stands in its pane, and the hook waits for an answer from elsewhere.
	PermissionOpen PermissionState = "open"
	// PermissionAnswered: the answer is committed and on its way to the hook. The hook gets it again if the daemon is killed now.
	PermissionAnswered PermissionState = "answered"
	// PermissionGiven: the hook was given the answer.
	PermissionGiven PermissionState = "given"
	// PermissionPane: the dialog was answered in the pane first, or its turn has ended.
	PermissionPane PermissionState = "pane"
	// PermissionUnanswered: nobody answered while the hook was held. The dialog in the pane stays as it is.
	PermissionUnanswered PermissionState = "unanswered"
	// PermissionLost: it was answered, but its hook had gone. The dialog in the pane stays as it is.
	PermissionLost PermissionState = "lost"
)

// PermissionVerdict is an answer to a permission.
type PermissionVerdict string

// The answers.
const (
	Allow      PermissionVerdict = "allow"       // this call
	AllowAgent PermissionVerdict = "allow_agent" // this call, and from now on every call of this agent that Permission.Rule allows
	Deny       PermissionVerdict = "deny"
)

// Who has answered a permission.
const (
	PermissionByOperator = "operator"
	PermissionByRule     = "rule" // of the agent's persona, or of an earlier allow_agent
)

// Permission is a question of an agent whether it may call a tool.
type Permission struct {
	ID          int64             `json:"id"` // the id of its hook
	AgentID     int64             `json:"agent_id"`
	Host        string            `json:"host"`
	Tool        string            `json:"tool"`
	Subject     string            `json:"subject"`     // the command, the file or the URL, in one line
	Description string            `json:"description"` // what the agent says of the call, in one line
	Shown       string            `json:"shown"`       // all that the call would do: the command, the change, the URL and the other arguments
	Whole       bool              `json:"whole"`       // Shown is all of it; if not, the call can only be allowed in the pane
	Digest      string            `json:"digest"`      // of Tool and Shown: an answer names it, so that nothing else is answered
	Rule        string            `json:"rule"`        // what allow_agent would allow from now on; "": it can't be chosen
	State       PermissionState   `json:"state"`
	Verdict     PermissionVerdict `json:"verdict"`     // "": none
	AnsweredBy  string            `json:"answered_by"` // PermissionByOperator or PermissionByRule; "": nobody
	From        string            `json:"from" db:"answered_from"`
	Sentence    string            `json:"sentence"` // what the agent is told with a refusal; of a rule, the rule
	Note        string            `json:"note"`     // why it ended without an answer
	AskedAt     time.Time         `json:"asked_at"`
	HeldUntil   *time.Time        `json:"held_until"` // null: the hook was not held
	AnsweredAt  *time.Time        `json:"answered_at"`
	EndedAt     *time.Time        `json:"ended_at"`

	Rev int64 `json:"-"` // advances with each write, and guards it
}

// Open reports whether the permission is not in a final state.
func (p *Permission) Open() bool {
	return p.State == PermissionOpen || p.State == PermissionAnswered
}

// Line says in one line what is asked.
func (p *Permission) Line() string {
	return words.Line(words.Join(": ", p.Tool, p.Subject))
}

// NewPermission returns the row of a permission for which an agent asks by the hook with the id.
func NewPermission(id int64, a *Agent, at time.Time) *Permission {
	return &Permission{ID: id, AgentID: a.ID, Host: a.Host, AskedAt: at, State: PermissionOpen}
}

// Answer notes the answer, and who has given it.
func (p *Permission) Answer(v PermissionVerdict, by, sentence string, now time.Time) {
	p.State, p.Verdict, p.AnsweredBy, p.Sentence, p.AnsweredAt = PermissionAnswered, v, by, sentence, &now
}

// End moves the permission to a final state.
func (p *Permission) End(s PermissionState, note string, now time.Time) {
	p.State, p.Note, p.EndedAt = s, note, &now
}

// PermissionFilter narrows a list of permissions. Fields with zero values do not narrow it.
type PermissionFilter struct {
	AgentID int64
	Host    string
	Open    bool
	Before  int64
	Limit   int // 0: 100
}

// PermissionReader reads permissions.
type PermissionReader interface {
	// Permission returns ErrNotFound for an unknown id.
	Permission(ctx context.Context, id int64) (Permission, error)
	// Permissions lists the newest first.
	Permissions(ctx context.Context, f PermissionFilter) ([]Permission, error)
}
