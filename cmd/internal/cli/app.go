// Package cli has what the packages that make commands share: the world that a command runs in, helpers that build
// commands, and their errors. A command is one process, and its code here runs in one goroutine. It leaves nothing
// behind except what it printed: the daemon stores its requests in the database.
package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// App is the world that a command runs in, and the flags that all commands share.
type App struct {
	Getenv func(string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Connect makes a client of the daemon at a socket. If it is nil, App uses [api.NewClient].
	Connect func(socket string) *api.Client

	DataFlag string // --data
	JSON     bool   // --json
	Started  bool   // the command line was understood, so no later error is a usage error
}

// DataRoot returns the absolute path of the data directory. The directory need not exist.
func (a *App) DataRoot() (string, error) {
	path := a.DataFlag
	if path == "" {
		path = a.Getenv("UNDERSTUDY_DATA")
	}
	if path == "" {
		return data.Default(a.Getenv, os.Geteuid())
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", path, err)
	}
	return abs, nil
}

// Client returns a client of the daemon of the data directory. Unlike data.Open, it does not make the directory. If it is not known
// which directory that is, each call of the client says so.
func (a *App) Client() *api.Client {
	root, err := a.DataRoot()
	if err != nil {
		return api.NoClient(err)
	}
	connect := api.NewClient
	if a.Connect != nil {
		connect = a.Connect
	}
	return connect(data.At(root).Socket())
}

// PrintJSON prints v, indented.
func (a *App) PrintJSON(v any) error { return a.printJSON(v, "  ") }

// PrintJSONLine prints v in one line.
func (a *App) PrintJSONLine(v any) error { return a.printJSON(v, "") }

func (a *App) printJSON(v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.Stdout.Write(words.JSON(b.Bytes()))
	return err
}

// UI returns a printer to out. It redraws lines and uses colours only where out is a terminal that can do so.
func (a *App) UI(out io.Writer) *term.UI {
	terminal := term.IsTerminal(out) && a.Getenv("TERM") != "dumb"
	return &term.UI{
		Out: out, Terminal: terminal, Colour: terminal && a.Getenv("NO_COLOR") == "",
		Home: a.Getenv("HOME"), WithData: a.WithData,
	}
}

// ownCommand matches a command of understudy in backquotes.
var ownCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`understudy [^`]+`") })

// WithData adds --data to each command of understudy that the sentence names, if this command was given that flag.
// Without the flag it adds nothing, because the named commands find the data directory in the same environment.
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

// Confirm asks a person a question. Only "y" and "yes" mean yes. If ctx ends first, the answer is no.
func (a *App) Confirm(ctx context.Context, question string) bool {
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // this goroutine outlives an interrupted command, because nothing cancels a read of a terminal
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return false
	case line := <-answer:
		return line == "y" || line == "yes"
	}
}
