// Package runtimes owns what differs between the CLI coding agents: how one is launched, what its
// screen says, what it makes of a text that is typed, which files tell its state.
//
// Everything here is a pure function of its arguments: no file is read or written, nothing is
// run, no clock is asked. The daemon does the reading, writing and typing and brings the bytes
// here; a crash leaves nothing. All functions may be called from several goroutines.
package runtimes

import "fmt"

// Spec is one launch of an agent.
type Spec struct {
	AgentID      int64
	Name         string   // shown in the pane's title and in the CLI's own list of sessions
	SessionID    string   // a new UUID; ignored with Resume
	Cwd          string   // where the process is to be started; not part of the argument list
	Command      []string // the program and its fixed arguments, as configured
	Options      []string // flags kept from a predecessor, as InheritOptions returns them
	Model        string   // overrides the model in Options; "" keeps it
	Mode         string   // permission mode, overrides the one in Options; "" keeps it
	SkillText    string   // the persona's skill and experience, added to the system prompt
	SettingsJSON []byte   // the CLI's settings for this launch: hooks and permissions
	Dir          string   // absolute; private to this launch, the files go here
	Prompt       string   // first prompt; "" waits in the composer
	Resume       string   // session to open again; "" starts a new one
}

// File is a file that must exist, with mode 0600, before the launch.
type File struct {
	Path    string
	Content []byte
}

// Launch is what to run and what to write before.
type Launch struct {
	Argv      []string
	Files     []File
	SessionID string // the session that will report itself
}

// Screen is what a captured screen says about the CLI. The zero value is a screen that says
// nothing: the CLI is starting, has ended, or is not the one that was expected.
type Screen struct {
	// Composer: a text that is pasted now lands in the composer, and Enter submits it. A turn
	// may be running all the same (see Busy).
	Composer bool
	// Draft is the text in the composer, one line per screen line: a text that was too wide is
	// broken where the screen broke it. Use Holds to look for a text.
	Draft string
	// Row is the composer's first row as it stands on the screen.
	Row string
	// Stashed: the composer keeps a draft aside. The stash key would swap it back in, so it must
	// not be pressed over an empty composer, and over a draft it would lose what is aside.
	Stashed bool
	// Dialog names in one line what is open instead of the composer; "" is none. Whatever is
	// typed now would answer it.
	Dialog string
	// Busy: a turn is running. False proves nothing: while an answer streams under a draft, Claude
	// Code shows no sign of it. The registry and the hooks know.
	Busy bool
}

// Runtime is one kind of CLI.
type Runtime interface {
	// Name is the runtime's name in settings, in the API and in persona files.
	Name() string
	// Launch turns a spec into an argument list and files. Its errors say what in the spec
	// cannot be launched.
	Launch(Spec) (Launch, error)
	// ReadScreen reads a screen as tmux captures it: plain text, one line per row, without
	// joining wrapped lines.
	ReadScreen(screen string) Screen
	// Fork returns what to run to ask a copy of a session, and ForkAnswer reads what that printed.
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
