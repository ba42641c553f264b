package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// Generic says how a CLI that we do not know is supervised by its screen alone.
type Generic struct {
	Command []string // the program and its arguments
	// Ready is a regular expression. One of the last rows of the screen matches it when the CLI takes a prompt.
	Ready string
	// Exit is the text that ends the CLI when it is typed; "": it is ended with SIGTERM.
	Exit string
	// Quiet is how long the screen must not change until a turn counts as ended; 0: [DefaultQuiet].
	Quiet time.Duration
}

// DefaultQuiet is how long the screen of a generic runtime must not change until a turn counts as ended. A CLI that thinks
// without showing anything for so long is taken for idle.
const DefaultQuiet = 15 * time.Second

// readyRows is how many rows from the bottom Ready is looked for. Above them, the agent may have quoted anything.
const readyRows = 8

// NewGeneric returns a runtime for a CLI that we do not know. It fails if Ready is not a regular expression, or is empty.
func NewGeneric(name string, g Generic) (*runtimes.Runtime, error) {
	if strings.TrimSpace(g.Ready) == "" {
		return nil, errors.New("must be a regular expression that a row of the screen matches when the CLI takes a prompt")
	}
	ready, err := regexp.Compile(g.Ready)
	if err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	if g.Quiet == 0 {
		g.Quiet = DefaultQuiet
	}
	rt := unknown(name)
	rt.Command = slices.Clone(g.Command)
	rt.Can = runtimes.Can{
		Skill: runtimes.SkillAsPrompt, Registers: runtimes.RegistersByScreen, Ways: []runtimes.Way{runtimes.ByEcho}, QuietAfter: g.Quiet, Escapes: 1,
		Turns: "the screen: a turn has ended when it has not changed for " + g.Quiet.String(), Errors: "none are noticed",
		Limits: "none are noticed", Usage: "not known", Permissions: "none are noticed",
		Cannot: []string{
			"Only the screen is read: a turn that a person begins in the pane, a dialog, an error and a limit are not noticed.",
			"A draft of a person is submitted together with the text that is typed behind it.",
			"A turn that shows nothing new for " + g.Quiet.String() + " counts as ended.",
			"A screen that stays the same for five minutes without a row that takes a prompt (20 times quiet_after, if that is more) counts as a turn that failed.",
			"Nothing shows whether a successor has read its document and context, so nobody is told if it has not.",
			"The conversation is not passed on: a successor gets the document, the files and the decisions, and the next step of a pipeline no message.",
			"The line breaks of a text become blanks, because a program that reads lines would take each for a prompt.",
			"A document is written by the agent itself, into its file; nothing can copy its session, or open it again.",
		},
	}
	if g.Exit != "" {
		rt.Can.Exit, rt.Can.ExitText = runtimes.ByEcho, g.Exit
	}
	rt.Build = func(l *runtimes.Launch, s runtimes.Spec) error { l.Add(s.Options...); return nil }
	rt.ReadScreen = func(v runtimes.View) runtimes.Screen { return readGenericScreen(v, ready) }
	return rt, nil
}

// readGenericScreen looks for a row that says that the CLI takes a prompt. It knows of no draft, no dialog and no turn.
func readGenericScreen(v runtimes.View, ready *regexp.Regexp) runtimes.Screen {
	lines := runtimes.ScreenLines(v.Text)
	rows := 0
	for i := len(lines) - 1; i >= 0 && rows < readyRows; i-- {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		rows++
		if ready.MatchString(lines[i]) || ready.MatchString(lines[i]+" ") { // tmux drops the blanks at the end of a row
			return runtimes.Screen{Composer: true, Row: lines[i]}
		}
	}
	return runtimes.Screen{}
}
