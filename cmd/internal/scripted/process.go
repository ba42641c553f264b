package scripted

import (
	"context"
	"io"
	"os"

	"github.com/understudyd/understudy/daemon/actor"
)

// Process is everything outside an agent that the agent uses. [Main] makes a Process of the operating system.
type Process struct {
	Args     []string // after the program's name
	Environ  []string
	Dir      string // the working directory
	PID      int
	Stdin    io.Reader // holds the prompt of -p, unless Args hold it
	Stdout   io.Writer // gets the answer of -p
	Stderr   io.Writer
	Terminal Terminal

	// Signals returns a channel that gets the named signals from now on. Other signals end the process.
	Signals func(...os.Signal) <-chan os.Signal

	// Run runs a command until the command or ctx ends. It only starts a detached command, and does not wait for it.
	Run func(ctx context.Context, c Command) Result

	// Wrote is called after the agent has written a file. It may be nil.
	Wrote func(path string)
}

// Terminal is the terminal on which an interactive agent draws and in which a person types.
type Terminal interface {
	// Open takes over the terminal. The channel gets the typed bytes. It is closed when the terminal is gone.
	Open() (keys <-chan []byte, err error)

	Size() (width, height int)

	// Draw replaces the frame on the screen. Only one goroutine calls it at any time.
	Draw(Frame)

	// Suspend handles Ctrl-Z. It returns when a shell has brought the agent back to the foreground.
	Suspend()

	// Close is called after a session that has ended without a crash.
	Close()
}

// Frame is one picture of the screen.
type Frame struct {
	Width    int
	Lines    []actor.Line
	Row, Col int  // of the cursor
	Cursor   bool // the cursor is shown
	Title    string
	Anew     bool // draw the frame even if it equals the previous frame
}

// Rows returns the texts of the frame's lines.
func (f Frame) Rows() []string {
	rows := make([]string, len(f.Lines))
	for i, l := range f.Lines {
		rows[i] = l.Text
	}
	return rows
}

// Command is another program that an agent runs, in its own working directory.
type Command struct {
	Argv    []string
	Environ []string
	Stdin   []byte
}

// Result says how a command ended.
type Result struct {
	Stdout, Stderr []byte
	Code           int   // -1: it was not started, or a signal ended it
	Err            error // why Code is not 0
}

// Run runs an agent until its session ends, and returns its exit status. If ctx ends, the agent is killed: it does
// nothing more, and Run returns when all its goroutines have ended.
func Run(ctx context.Context, p Process, script Script) int {
	life, kill := context.WithCancel(ctx)
	defer kill()
	a := &Agent{Process: p, script: script, alive: life, kill: kill}
	return a.main()
}
