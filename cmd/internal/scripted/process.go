package scripted

import (
	"context"
	"io"
	"os"

	"github.com/understudyd/understudy/daemon/actor"
)

// Process is everything outside an agent that the agent uses. [Main] makes one of the operating system's.
type Process struct {
	Args     []string // after the program's name
	Environ  []string
	Dir      string // the working directory
	PID      int
	Stdin    io.Reader // holds the prompt of -p, unless Args do
	Stdout   io.Writer // -p answers there
	Stderr   io.Writer
	Terminal Terminal

	// Signals returns a channel that gets these signals from now on. Other signals end the process.
	Signals func(...os.Signal) <-chan os.Signal

	// Run runs a command until it ends or ctx does. A detached one is only started.
	Run func(ctx context.Context, c Command) Result

	// Wrote is called after the agent has written a file. It may be nil.
	Wrote func(path string)
}

// Terminal is where an interactive agent shows itself and is typed to.
type Terminal interface {
	// Open takes the terminal. The channel gets the typed bytes, and is closed when the terminal is gone.
	Open() (keys <-chan []byte, err error)

	Size() (width, height int)

	// Draw replaces the frame on the screen. One goroutine at a time calls it.
	Draw(Frame)

	// Suspend is Ctrl-Z: it returns when a shell has brought the agent to the foreground again.
	Suspend()

	// Close is called when the session has ended in order.
	Close()
}

// Frame is what the screen shows.
type Frame struct {
	Width    int
	Lines    []actor.Line
	Row, Col int  // of the cursor
	Cursor   bool // the cursor is shown
	Title    string
	Anew     bool // draw it even if it equals the one before
}

// Rows are the texts of the frame's lines.
func (f Frame) Rows() []string {
	rows := make([]string, len(f.Lines))
	for i, l := range f.Lines {
		rows[i] = l.Text
	}
	return rows
}

// Command is another program that an agent runs, in its own working directory.
type Command struct {
	Argv     []string
	Environ  []string
	Stdin    []byte
	Detached bool // it stays in the agent's group of processes, and nobody waits for its end
}

// Result is how a command ended.
type Result struct {
	Stdout, Stderr []byte
	Code           int   // -1: it was not started, or a signal ended it
	PID            int   // of a detached one
	Err            error // why Code is not 0
}

// Run runs an agent until its session ends and returns its exit status. When ctx ends, the agent has been
// killed: it does nothing more, and Run returns when all its goroutines have ended.
func Run(ctx context.Context, p Process, script Script) int {
	life, kill := context.WithCancel(ctx)
	defer kill()
	a := &Agent{Process: p, script: script, alive: life, kill: kill}
	return a.main()
}
