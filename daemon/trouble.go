package daemon

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// Trouble is an error that an agent's runtime reports instead of the end of a turn, for example that the API refuses its
// requests. It begins with a turn that ends with an error, and ends with the next turn that ends well. It also begins with a
// request that the runtime sends again by itself, and then ends as soon as the API answers.
type Trouble struct {
	Code    string    `json:"code"`    // one of [TroubleCodes]
	Message string    `json:"message"` // the runtime's own text in one line; "": it gave none
	Since   time.Time `json:"since"`
	// Retrying says that a turn runs and that the runtime sends its request again and again.
	Retrying bool `json:"retrying"`
}

const MaxTrouble = 300 // runes of a trouble's message

// TroubleCodes returns the codes of all kinds of trouble.
func TroubleCodes() []string { return runtimes.TroubleCodes() }

// Words returns the code and the runtime's text. All reports of trouble use these words.
func (t *Trouble) Words() string {
	if t.Message == "" {
		return t.Code
	}
	return t.Code + ": " + t.Message
}

// InTrouble returns the trouble of an active agent whose turns fail; nil: it is in none, or a turn runs, which may end the
// trouble.
func (a *Agent) InTrouble() *Trouble {
	if !a.Active() || a.State == Working {
		return nil
	}
	return a.Trouble
}

// TroubleHint says what to do about an agent's trouble, without a full stop; "": it is in none.
func (a *Agent) TroubleHint() string {
	if a.Trouble == nil {
		return ""
	}
	if hint := a.LimitWords(); hint != "" {
		return hint
	}
	if a.Trouble.Retrying {
		return "its runtime tries again by itself"
	}
	switch a.Trouble.Code {
	case runtimes.UsageLimit:
		return fmt.Sprintf("after the reset Claude Code may go on by itself: look with `understudy agent attach %d`, else `understudy agent send %[1]d \"Go on\"`", a.ID)
	case runtimes.Unauthenticated:
		return fmt.Sprintf("log in with /login in its pane: `understudy agent attach %d`", a.ID)
	case runtimes.Billing:
		return fmt.Sprintf("put the account's billing right, then `understudy agent send %d \"Go on\"`", a.ID)
	case runtimes.UnknownModel:
		return fmt.Sprintf("choose another model with /model in its pane: `understudy agent attach %d`", a.ID)
	case runtimes.InvalidRequest, runtimes.OutputLimit:
		return fmt.Sprintf("the same again would fail again: look at it with `understudy agent attach %d`", a.ID)
	}
	return fmt.Sprintf("have it try again in a while: `understudy agent send %d \"Go on\"`", a.ID)
}

// TroubleWords returns the sentence of the event about an agent's trouble.
func (a *Agent) TroubleWords() string {
	text := ""
	if a.Trouble.Message != "" {
		text = " " + words.Quote(a.Trouble.Message)
	}
	if a.State == Limited {
		return fmt.Sprintf("Agent %d (%s) %s%s.", a.ID, a.Name, a.Limit.What(), text)
	}
	return fmt.Sprintf("Agent %d (%s) is in trouble, %s%s: %s.", a.ID, a.Name, words.Of(a.Trouble.Code), text, a.TroubleHint())
}
