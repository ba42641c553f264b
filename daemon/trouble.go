package daemon

import (
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
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
