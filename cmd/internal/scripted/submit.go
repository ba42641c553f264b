package scripted

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/understudyd/understudy/daemon/actor"
)

// exitWords end the session if the whole text is one of them.
var exitWords = []string{"exit", "quit", ":q", ":q!", ":wq", ":wq!"}

// slash matches a command. It does not match a path, because a path has another slash.
var slash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/([A-Za-z][\w:-]*)(?:\s+((?s:.*)))?$`) })

// submit handles Enter in a composer that is not empty.
func (l *loop) submit(ctx context.Context, prompt string) {
	text := strings.TrimSpace(prompt)
	switch command := slash().FindStringSubmatch(text); {
	case slices.Contains(exitWords, text):
		l.exit()
	case command != nil:
		l.command(command[1], strings.TrimSpace(command[2]))
	case strings.HasPrefix(text, "!"):
		l.screen.print(actor.BlockUser, text)
		l.screen.print(actor.BlockNote, "The scripted agent runs no shell commands.")
	case l.busy():
		l.queue(ctx, prompt)
	default:
		l.enqueue(job{turn: true, run: func(ctx context.Context) { l.turn(ctx, prompt, typed) }})
	}
}

// begin submits the prompt of the command line when the session has started, byte for byte as it was given. Measured: a
// command may stand behind blanks and characters that a terminal does not show. If a text begins with a slash and has
// such characters in it, it stays in the composer. `!command` and paths are prompts.
func (l *loop) begin(ctx context.Context, prompt string) {
	text := strings.TrimSpace(prompt)
	shown := strings.TrimSpace(strings.Map(dropHidden, prompt))
	command := slash().FindStringSubmatch(shown)
	if command != nil {
		if _, err := os.Stat("/" + command[1]); err == nil {
			command = nil
		}
	}
	switch {
	case shown == "":
	case shown[0] == '/' && shown != text:
		l.composer.Text = shown
		l.screen.setComposer(l.composer)
	case command != nil || slices.Contains(exitWords, shown):
		l.enqueue(job{run: func(context.Context) { l.submit(ctx, shown) }})
	case shown == "/" || strings.HasPrefix(shown, "/ "):
		l.enqueue(job{run: func(context.Context) {
			l.screen.print(actor.BlockNote, "Commands are in the form `/command [args]`")
		}})
	default:
		l.enqueue(job{turn: true, run: func(ctx context.Context) { l.turn(ctx, prompt, typed) }})
	}
}

// dropHidden drops the runes that a terminal does not show.
func dropHidden(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || unicode.IsControl(r) && !unicode.IsSpace(r) {
		return -1
	}
	return r
}
