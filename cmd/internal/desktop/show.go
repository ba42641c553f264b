package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gen2brain/beeep"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/tell"
)

// Command is the command of this program that the daemon runs for each notification. The notification needs a process of
// its own, because the library beeep has no time-out and cannot be stopped. The daemon can end the process and discard its
// output.
const Command = "notify-desktop"

// showOnDesktop shows a message. When ctx ends, it ends the process that shows the message.
func (n *Desktop) showOnDesktop(ctx context.Context, m tell.Notification) error {
	in, err := json.Marshal(m)
	if err != nil {
		return err
	}
	job := engine.OneShot{Argv: []string{n.binary, Command}, Stdin: in, Env: append(os.Environ(), n.session()...)}
	complaint, exit, err := proc.Run(ctx, job, io.Discard)
	if err == nil && exit != 0 {
		err = errors.New(strings.TrimSpace(complaint))
	}
	return err
}

// Main runs [Command]: it reads a message and shows it.
func Main(stdin io.Reader, stderr io.Writer) int {
	var m tell.Notification
	err := json.NewDecoder(stdin).Decode(&m)
	if err == nil {
		err = show(m)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

const appName = "understudy"

// iconOf returns the name of the icon of a message, from the desktop's theme.
func iconOf(m tell.Notification) string {
	if m.Urgent {
		return "dialog-error"
	}
	return "dialog-information"
}

// byLibrary shows a message as the library beeep does. On Linux it is closed after five seconds, whatever its urgency.
func byLibrary(m tell.Notification) error {
	beeep.AppName = appName
	if m.Urgent {
		return beeep.Alert(m.Title, m.Message, iconOf(m))
	}
	return beeep.Notify(m.Title, m.Message, iconOf(m))
}
