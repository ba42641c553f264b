// Package runtimes owns the differences between the CLI coding agents: how to launch an agent, how to
// read its screen and its transcript, how it treats a typed text, and which files hold its state.
//
// Every function here is pure: it reads and writes no file, starts no process and asks no clock. The
// daemon does these things, and passes the bytes to this package. Several goroutines may call all
// functions at once. A crash leaves nothing behind.
package runtimes

import "fmt"

// Spec is one launch of an agent.
type Spec struct {
	AgentID      int64
	Name         string   // shown in the pane's title and in the CLI's own list of sessions
	SessionID    string   // a new UUID; ignored with Resume
	Cwd          string   // working directory of the process; not part of the argument list
	Command      []string // the program and its fixed arguments, as configured
	Options      []string // flags kept from a predecessor, as InheritOptions returns them
	Model        string   // overrides the model in Options; "" keeps the model in Options
	Mode         string   // overrides the permission mode in Options; "" keeps the mode in Options
	SkillText    string   // the persona's skill and experience, added to the system prompt
	SettingsJSON []byte   // the CLI's settings for this launch: hooks and permissions
	Dir          string   // absolute path of this launch's own folder, for Launch.Files
	Prompt       string   // first prompt; with "" the agent waits in its composer
	Resume       string   // id of the session to open again; "" starts a new one
}

// File is a file that must exist, with mode 0600, before the launch.
type File struct {
	Path    string
	Content []byte
}

// Launch is the command that starts the agent, and the files to write before it.
type Launch struct {
	Argv      []string
	Files     []File
	SessionID string // id of the session that will register
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
	// Busy is true if the screen shows a running turn. If Busy is false, a turn may still be running: Claude
	// Code shows no sign of a turn while an answer streams under a draft. The registry and the hooks know.
	Busy bool
}

// Runtime is one kind of CLI.
type Runtime interface {
	// Name is the runtime's name in settings, in the API and in persona files.
	Name() string
	// Launch makes an argument list and files from a spec. Its error names the field of the spec that it
	// refuses.
	Launch(Spec) (Launch, error)
	// ReadScreen reads a screen as tmux captures it: plain text, one line per row, wrapped lines not
	// joined.
	ReadScreen(screen string) Screen
	// Fork returns the command that asks a copy of a session a question. ForkAnswer reads the command's output.
	Fork(ForkSpec) (argv []string, stdin []byte, err error)
	ForkAnswer(stdout []byte) ([]string, error)
}

// For returns the runtime of that name.
func For(name string) (Runtime, error) {
	if name == claudeName {
		return Claude(), nil
	}
	return nil, fmt.Errorf("unknown runtime %q: known is %s", name, claudeName)
}
