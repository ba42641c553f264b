// Package runtimes says in what CLI coding agents differ, and holds what they share: how to launch an agent, how to
// read its screen and its transcript, how it takes a text, what its hooks say in its own words, and which files hold its
// state. A runtime is a [Runtime]: what it can do, as data ([Can]), and functions for how.
//
// Each CLI has a package below this one, and package catalog lists them.
//
// Every function here and there is pure: it reads and writes no file, starts no process and asks no clock. The
// daemon does these things, and passes the bytes to this package. Several goroutines may call all
// functions at once. A crash leaves nothing behind.
package runtimes

import (
	"path/filepath"
	"regexp"
	"time"
)

// Inbox returns the folder from which our extension in a runtime with [ByInbox] reads what the daemon wants of it. launchDir
// is [Spec.Dir].
func Inbox(launchDir string) string { return filepath.Join(launchDir, "inbox") }

// Mirror returns the file in which the daemon keeps the conversation of a runtime that keeps none in a file.
func Mirror(launchDir string) string { return filepath.Join(launchDir, "transcript.jsonl") }

// SkillFile returns the file in which the launch of a runtime that reads the skill from a file puts it.
func SkillFile(launchDir string) string { return filepath.Join(launchDir, "system-prompt.md") }

// View is what a pane shows: plain text, one line per row, wrapped lines not joined; and the title that its program set.
type View struct {
	Text  string
	Title string // "": not known
}

// Screen is the state of a CLI as its captured screen shows it. The zero value means that the screen shows no
// state that we know: the CLI is starting, has ended, or is another program.
type Screen struct {
	// Composer is true if a text that is pasted now goes into the composer, and Enter submits it. Even so, a
	// turn may be running (see Busy).
	Composer bool
	// Draft is the text in the composer. It has a line break wherever the screen breaks the text, so use Holds
	// to look for a text.
	Draft string
	// Row is the composer's first row, exactly as the screen shows it.
	Row string
	// Stashed is true if the CLI keeps a stashed draft beside the composer. Do not press StashKey then: with an
	// empty composer it would bring the stashed draft back, and with another draft in the composer it would
	// lose the stashed one.
	Stashed bool
	// Dialog names in one line the dialog that is open in place of the composer; "" if none is open. A text
	// that is typed now would answer that dialog.
	Dialog string
	// Limit is true if the dialog says that a usage limit is reached, and can be left so that the limit alone remains. Row is the
	// chosen answer then.
	Limit bool
	// Stops is true if the chosen answer of the dialog about a usage limit leaves it.
	Stops bool
	// Held is true if the screen says that hooks of the session's start run. What was typed waits for their end.
	Held bool
	// Busy is true if the screen shows a running turn. If Busy is false, a turn may still be running: Claude
	// Code shows no sign of a turn while an answer streams under a draft. The registry and the hooks know.
	Busy bool
}

// Runtime is one kind of CLI. A function that is nil stands for something that the runtime cannot do, or that needs no
// doing; the comment says which.
type Runtime struct {
	Name    string   // in settings, in the API and in persona files
	Title   string   // for people
	Command []string // what starts it if config.yaml says nothing; nil: config.yaml must say
	Can     Can
	OwnHome *OwnHome     // nil: it is launched in the user's own home
	Account []AccountVar // the variables by which it knows its account, handed on from a session that a person started
	Modes   []string     // the permission modes that [Spec.Mode] can name; nil: none
	// Widths compares the modes. The width of "" is the most that a successor may be given if nobody has chosen a mode.
	Widths map[string]Width
	// Build adds to a launch what follows from its spec, for [Runtime.Launch]. nil: the runtime is not known.
	Build func(*Launch, Spec) error
	// CheckVersion returns an error, for people, if the CLI of that version cannot be supervised. A text that is not a
	// version is not refused. nil: every version may be tried.
	CheckVersion func(version string) error
	// Session matches the ids of its sessions; nil: they are UUIDs.
	Session func() *regexp.Regexp
	// ReadScreen reads a screen as tmux captures it.
	ReadScreen func(View) Screen
	// Report puts what a hook of the runtime says into the words of the daemon. nil: the runtime's hooks use these words.
	Report func(event string, body []byte) (Report, error)
	// Answer puts the daemon's answer to a hook, in Claude Code's form, into the form that the runtime takes. nil: it
	// takes that form.
	Answer func(answer []byte) []byte
	// Tail reads a line of the transcript that tells what no hook reports; ok is false for all other lines. session is the
	// agent's session. nil: hooks report everything.
	Tail func(session string, line []byte) (report Report, ok bool)
	// Refusal reads from the screen why a hook has refused the newest prompt; "": the screen does not show it. nil: the transcript
	// tells it.
	Refusal func(View) string
	// Fork returns the command that asks a copy of a session a question, or a new session: Can says what of that it can. Its
	// error is for people. ForkAnswer reads the command's output. nil: it can do neither, or the runtime's server does it.
	Fork       func(ForkSpec) (ForkCommand, error)
	ForkAnswer func(stdout []byte) ([]string, error)
	// Queue returns a command that gives a text to a session without its pane. nil: there is none.
	Queue func(command []string, session, text string) []string
	// Registry returns the path of the file in which a session's process keeps its state; see [ParseRegistry]. nil: there
	// is none.
	Registry func(configDir string, pid int) string

	// Places returns what of the user's files the CLI changes, the folders of it with a slash at their ends, and what of those, or beside them, says what it runs and is told; getenv reads
	// the environment with which it is started. nil: that is not known, so that it cannot run in a sandbox.
	Places func(getenv func(string) string) (changes, fixed []string)

	// dialogs is how it draws its dialogs. The zero value: nothing of them is read but their names.
	Dialogs DialogLook
	// args are the flags that the launch needs for itself; nil: every argument may be added.
	OwnArgs *OwnArgs
	// line reads a line of the transcript, and clean removes what the CLI added to a user's text.
	ReadLine func([]byte) (Line, error)
	Clean    func(text string) string
	// switched reads a user's text by which the CLI notes that a person has changed the model. nil: a line of the transcript
	// names the chosen model.
	Switched func(text string) (suffix string, ok bool)
}

// Report is something that happened to an agent, in the words of Claude Code's hooks, which are the daemon's. The zero
// value reports nothing.
type Report struct {
	Event string
	Body  []byte // as [github.com/understudyd/understudy/hooks.Parse] reads it
	// Key is the same each time that the same thing is read from a transcript or a server again, and different for
	// everything else of the agent. Reports of hooks have none.
	Key string
	At  time.Time // when it happened; the zero time: now
}

// Rest is since when a session rests, as far as the daemon knows.
type Rest struct {
	Prompt string    // the id of the last turn's prompt; "": there was none
	Since  time.Time // the earliest time that the clock has shown since then; it may have been set back
}
