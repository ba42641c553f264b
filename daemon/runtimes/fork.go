package runtimes

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
)

// ForkSpec is one question to a copy of a session. The session itself does not change.
type ForkSpec struct {
	Command      []string // the program and its fixed arguments, as configured
	SessionID    string   // the session to copy; "": a new session, which knows only the prompt
	Transcript   string   // the path of the session's transcript; "": not known
	Binary       string   // absolute path of our program that runs as the one-shot's hook; "": no hooks
	SettingsJSON string   // settings for this question alone, in place of those that are made of Binary
	Dir          string   // absolute path of a folder for Files
	Effort       string   // the thinking level of the session, one of Can.Efforts; "": not known
	Skill        string   // the path of the file in which the launch gave the skill, [SkillFile]; "": there is none
	User         UserHome // what is in the user's home, if the runtime has an OwnHome
	Prompt       string
}

// ForkCommand is the command that asks the question. It runs with the agent's environment.
type ForkCommand struct {
	Argv  []string
	Stdin []byte
	Env   []string // NAME=value, in addition to the agent's
	Files []File   // to be written before it
	Links []Link   // to be made before it
	Dir   string   // where it runs; "": in the agent's directory
}

// Answer collects what a one-shot prints, one event of JSON on each line.
type Answer struct {
	texts   []string
	message string // the id of the newest text's message
	ended   bool
	err     error
}

// Text adds a text of the model, unless it is blank. Texts of one message are joined by newlines; a message without an id is one by itself.
func (a *Answer) Text(message, text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case message != "" && message == a.message:
		a.texts[len(a.texts)-1] += "\n" + text
	default:
		a.message, a.texts = message, append(a.texts, text)
	}
}

// End says that the output is complete, or no longer.
func (a *Answer) End(whole bool) { a.ended = whole }

// Fail says why there is no answer, in the first of the reasons that says something. Without one, the last failure no longer counts.
func (a *Answer) Fail(reasons ...string) {
	if a.err = nil; len(reasons) > 0 {
		a.err = errors.New(FirstOf(append(reasons, "unknown error")...))
	}
}

// ReadAnswer returns a [Runtime.ForkAnswer] that reads the events of a one-shot with add. The texts may be none. It fails if add said so, or if
// the output ends too early. add skips a line that it cannot read.
func ReadAnswer[E any](add func(*Answer, *E)) func(stdout []byte) ([]string, error) {
	return func(stdout []byte) ([]string, error) {
		var a Answer
		for line := range bytes.Lines(stdout) {
			var e E
			if json.Unmarshal(line, &e) == nil {
				add(&a, &e)
			}
		}
		switch {
		case a.err != nil:
			return nil, a.err
		case !a.ended:
			return nil, errors.New("it ended without a result")
		}
		return a.texts, nil
	}
}
