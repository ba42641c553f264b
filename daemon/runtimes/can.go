package runtimes

import "time"

// Can says how a runtime does what the flow needs. The flow asks for these values and never for a runtime's name. Their
// texts are what people read in the table of runtimes.
type Can struct {
	Tested      string // the version that our tests run, and the only place where it is pinned
	Skill       Skill
	Registers   Registers
	Ways        []Way  // how a text gets to the agent: the first way that is free
	Exit        Way    // how the agent is asked to exit
	ExitText    string // with Exit [ByTyping]: the command
	StashKey    string // tmux's name of the key that puts a draft in the composer aside, or brings it back; "": none
	Escapes     int    // how often Escape must be pressed to interrupt a turn
	WatchScreen bool   // something is shown on the screen only, so that the screen must be looked at all the time
	ScreenTurns bool   // the screen without its title shows every running turn; if the hook of its end is lost, the screen tells
	ChoosesID   bool   // the daemon may choose the session's id
	Continues   bool   // it goes on by itself when a usage limit ends
	Compacts    bool   // it makes room by itself when its context window is full
	KnowsWindow bool   // it tells the size of its context window
	// AnswerInTranscript says that the hook at the end of a turn does not have the answer, and that the transcript has it by then.
	AnswerInTranscript bool
	Transcript         bool // there is a file with the conversation
	OpensFile          bool // that file is what the CLI opens again with the session; without it there is no conversation
	SubagentFiles      bool // sub-agents have transcripts of their own, in a folder beside it
	// TellsRefusals says that the transcript shows that a hook has refused a prompt, and so also that none has. With ReturnsRefused the
	// refused text stands in the composer again.
	TellsRefusals, ReturnsRefused bool
	// QuietAfter is how long the screen must not change until a turn counts as ended; 0: the runtime tells when a turn begins
	// and ends.
	QuietAfter time.Duration
	// EnterAfter is how long Enter must come after a paste, because the CLI drops an earlier one; it also drops one while its screen
	// shows a turn or a hook. 0: Enter may come as soon as the text is shown.
	EnterAfter time.Duration
	// LosesPastes says that a pasted text is lost if the CLI is just drawing its composer anew. It is pasted again if the composer is
	// empty and Enter was not pressed for it.
	LosesPastes bool
	HoldsTurn   bool // the end of a turn can be answered with a further instruction
	// AnswersPermission says that the answer to the hook of a permission decides about it. With HoldsPermission the dialog stands in
	// the pane while the hook runs, and whoever answers first decides.
	AnswersPermission, HoldsPermission bool
	// Reads says which calls in the transcript prove that the model has read a file.
	Reads Reads

	// Todos is how the transcript shows the session's list of todos; "": it does not.
	Todos string
	// Efforts are the thinking levels with which a session can be launched, if the transcript shows the level of each
	// answer; nil: a successor has the CLI's own level.
	Efforts []string
	// Model is how the transcript shows that a person has changed the model, and Mode how it shows the permission mode; "": it
	// does not.
	Model, Mode string

	Turns       string   // where the beginning and the end of a turn are read
	Refusals    string   // where it is read that a hook of somebody else has refused a prompt; "": none can
	Errors      string   // where errors of the API are read
	Limits      string   // where a usage limit is read
	Usage       string   // where the use of the context window is read
	Tokens      string   // where the tokens of each answer are read; "": nowhere
	Cost        string   // where their cost is read; "": the runtime reports none
	Permissions string   // how a dialog about a permission is noticed
	Document    string   // how a copy of the session writes a document; "": no copy can be made
	OneShot     string   // how a new session answers one question without a pane; "": it cannot
	Cannot      []string // sentences: what the runtime cannot do, or does worse
}

// Copies reports whether a copy of a session can be asked a question, so that it writes a document.
func (c *Can) Copies() bool { return c.Document != "" }

// Way is how a text gets from the daemon to an agent.
type Way string

// The ways.
const (
	ByTyping Way = "typed"  // pasted into the composer, behind the guard, and submitted with Enter
	ByQueue  Way = "queue"  // by a command of the CLI that does not touch the pane, and is slower
	ByInbox  Way = "inbox"  // as a file in a folder that our extension in the CLI reads
	ByServer Way = "server" // by HTTP to the CLI's own server
	ByEcho   Way = "echo"   // pasted, and submitted when the text is seen on the screen, whatever else that shows
)

// Skill is how a persona's skill gets to the model.
type Skill string

// The ways of a skill. With all but the last, the model has the skill before the first prompt.
const (
	SkillInSystem    Skill = "system prompt"
	SkillAsDeveloper Skill = "developer message"
	SkillAsContext   Skill = "context before the first prompt"
	SkillAsPrompt    Skill = "its first prompt"
)

// Registers is how the daemon learns that an agent is ready for its first text.
type Registers string

// The ways to register.
const (
	RegistersByHook   Registers = "hook at the start"
	RegistersByServer Registers = "the server answers"
	// RegistersByScreen: the runtime reports its session only with the first prompt, so the daemon looks for the composer.
	RegistersByScreen Registers = "the composer is shown"
)
