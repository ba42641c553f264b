package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/understudyd/understudy/hooks"
)

// statusBarLimit is how long the daemon may take to answer. tmux goes on meanwhile, and shows what it was told last.
const statusBarLimit = time.Second

// BarOptions are the flags of the command statusbar.
type BarOptions struct {
	Data  string // the data directory; "": the default
	Color bool   // with tmux's styles
}

// parseStatusBar reads the flags that the fast way knows. It returns false if there are others.
func parseStatusBar(args []string) (o BarOptions, ok bool) {
	for i := 0; i < len(args); i++ {
		value, inline := strings.CutPrefix(args[i], "--data=")
		switch {
		case args[i] == "--color":
			o.Color = true
		case inline && value != "":
			o.Data = value
		case args[i] == "--data" && i+1 < len(args) && args[i+1] != "":
			i++
			o.Data = args[i]
		default:
			return o, false
		}
	}
	return o, true
}

// barPart is a part of the daemon's answer.
type barPart struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// StatusBar prints the segment of tmux's status line, and returns 0; or, if the daemon does not answer, 1. Then the segment
// says so, because nobody would notice a segment that is empty. tmux shows no error output.
func StatusBar(ctx context.Context, o BarOptions, getenv func(string) string, stdout, stderr io.Writer) int {
	parts, err := askStatusBar(ctx, o, getenv)
	code := 0
	if err != nil {
		code = 1
		parts = []barPart{{"down", "understudy: " + barTrouble(err)}}
		fmt.Fprintln(stderr, "understudy:", err)
	}
	var texts []string
	for _, p := range parts {
		if style := barStyles[p.Kind]; o.Color && style != "" {
			p.Text = "#[" + style + "]" + p.Text + "#[default]"
		}
		texts = append(texts, p.Text)
	}
	if len(texts) > 0 {
		if _, err := io.WriteString(stdout, strings.Join(texts, ", ")+"\n"); err != nil {
			return 1
		}
	}
	return code
}

// barStyles are the tmux styles of the parts that stand out.
var barStyles = map[string]string{
	"waiting": "fg=yellow,bold", "approval": "fg=yellow,bold", "decision": "fg=yellow,bold", "limited": "fg=yellow,bold", "held": "fg=yellow,bold",
	"failed": "fg=red,bold", "died": "fg=red,bold", "stuck": "fg=red,bold", "trouble": "fg=red,bold", "down": "fg=red,bold",
	"full": "fg=yellow", "finished": "fg=cyan",
}

// barTrouble says in two words why there are no counts.
func barTrouble(err error) string {
	switch {
	case errors.Is(err, hooks.ErrNoDaemon):
		return "down"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	}
	return "not ready" // as while its database is away
}

func askStatusBar(ctx context.Context, o BarOptions, getenv func(string) string) ([]barPart, error) {
	socket, err := hooks.MainSocket(o.Data, getenv)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, statusBarLimit)
	defer cancel()
	body, err := hooks.Ask(ctx, socket, "/api/attention/count")
	if err != nil {
		return nil, err
	}
	var count struct {
		Parts []barPart `json:"parts"`
	}
	if err := json.Unmarshal(body, &count); err != nil {
		return nil, fmt.Errorf("the daemon's answer: %w", err)
	}
	return count.Parts, nil
}
