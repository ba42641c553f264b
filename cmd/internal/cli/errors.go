package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// Hint is what to do about an answer of the daemon's that is fixed by its contract and does not
// say so itself.
func Hint(err error) string {
	var told *daemon.Error
	if !errors.As(err, &told) {
		return ""
	}
	switch told.Code {
	case "agent_not_found":
		return ": `understudy agent list --all` shows those that there are"
	case "agent_not_active":
		return ": `understudy agent resume` opens its session again"
	case "agent_no_pane":
		return ": only an agent in tmux can be typed to"
	case "handoff_not_found":
		return ": `understudy handoff list` shows those that there are"
	case "handoff_in_progress":
		return ": `understudy handoff list` shows how it stands"
	case "pipeline_not_found":
		return ": `understudy pipeline list` shows those that there are"
	case "persona_not_found":
		return ": `understudy persona list` shows those that there are"
	}
	return ""
}

// Sentence is an error on one line: without the cause that is for the log, and without the full
// stop that the prefix and the hint around it do not go with.
func Sentence(err error) string {
	msg := err.Error()
	var told *daemon.Error
	if errors.As(err, &told) && told.Cause != nil {
		msg = strings.TrimSuffix(msg, ": "+told.Cause.Error())
	}
	return words.TrimDot(words.Line(msg))
}

// HasCode reports whether an error is the daemon's answer with that code.
func HasCode(err error, code daemon.Code) bool {
	var told *daemon.Error
	return errors.As(err, &told) && told.Code == code
}

// ownCommand matches a command of ours in a sentence.
var ownCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`understudy [^`]+`") })

// WithData makes the commands that a sentence names go to the data directory of this one, when it
// was named by a flag: the environment goes to them by itself.
func (a *App) WithData(sentence string) string {
	if a.DataFlag == "" {
		return sentence
	}
	root, err := a.DataRoot()
	if err != nil {
		return sentence
	}
	return ownCommand().ReplaceAllStringFunc(sentence, func(command string) string {
		if strings.Contains(command, "--data") {
			return command
		}
		return strings.TrimSuffix(command, "`") + " --data " + proc.ShellQuote(root) + "`"
	})
}

// Say prints a sentence.
func (a *App) Say(format string, args ...any) error {
	_, err := fmt.Fprintln(a.Stdout, a.WithData(fmt.Sprintf(format, args...)))
	return err
}

// UnknownCommand returns the word of the library's error for a command that is not there.
func UnknownCommand(err error) (string, bool) {
	if err == nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(err.Error(), "unknown command ")
	if !ok {
		return "", false
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", false
	}
	word, err := strconv.Unquote(quoted)
	return word, err == nil
}

// NoCommand says that there is no such command below c, and which one may be meant.
func NoCommand(c *cobra.Command, word string) error {
	if like := likely(c, word); len(like) > 0 {
		return Usagef("there is no command %q: did you mean %s?", c.CommandPath()+" "+word, strings.Join(like, " or "))
	}
	return Usagef("there is no command %q", c.CommandPath()+" "+word)
}

// likely returns the commands that may be meant by a word that is none below c.
func likely(c *cobra.Command, word string) []string {
	if !c.HasParent() {
		switch word {
		case "status", "ps":
			return []string{"agent list", "top", "doctor"}
		case "log", "logs", "history":
			return []string{"events", "audit"}
		case "kill", "end":
			return []string{"agent stop"}
		}
	}
	var like []string
	for _, group := range c.Commands() { // what is a command one word further down
		for _, below := range group.Commands() {
			if below.Name() == word && !forAgents(group) {
				like = append(like, group.Name()+" "+word)
			}
		}
	}
	if len(like) > 0 {
		return like
	}
	c.SuggestionsMinimumDistance = 2
	return slices.DeleteFunc(c.SuggestionsFor(word), func(name string) bool {
		found, _, err := c.Find([]string{name})
		return err == nil && forAgents(found)
	})
}

// forAgents are the commands that agents run, and no person.
func forAgents(c *cobra.Command) bool {
	return slices.Contains([]string{"hook", "mcp", "statusline"}, c.Name()) && !c.Parent().HasParent()
}
