package targets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
)

// Command runs a program for each notification: the notification is its standard input, as JSON, and its environment has
// the fields. Exit code 0 says that the notification was taken.
type Command struct {
	Argv []string // an argument list, never a shell line
	Env  []string // the environment of the daemon
}

// Send implements [tell.Target]. When ctx ends, it ends the program and all processes that the program has started.
func (c *Command) Send(ctx context.Context, m *tell.Message) error {
	in, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	id := func(id *int64) string {
		if id == nil {
			return ""
		}
		return strconv.FormatInt(*id, 10)
	}
	env := append(c.Env[:len(c.Env):len(c.Env)],
		"UNDERSTUDY_KEY="+m.Key, "UNDERSTUDY_TITLE="+m.Title, "UNDERSTUDY_MESSAGE="+m.Text, "UNDERSTUDY_LEVEL="+m.Level,
		"UNDERSTUDY_TYPE="+string(m.Type), "UNDERSTUDY_LINK="+m.Link, "UNDERSTUDY_NOTIFY_HOST="+m.Host,
		"UNDERSTUDY_EVENT_ID="+strconv.FormatInt(m.EventID, 10), "UNDERSTUDY_NOTIFY_AGENT="+id(m.AgentID),
		"UNDERSTUDY_NOTIFY_HANDOFF="+id(m.HandoffID), "UNDERSTUDY_NOTIFY_PIPELINE="+id(m.PipelineID),
		"UNDERSTUDY_MAYBE_TWICE="+strconv.FormatBool(m.MaybeTwice))
	stderr, exit, err := proc.Run(ctx, engine.OneShot{Argv: c.Argv, Env: env, Stdin: append(in, '\n')}, io.Discard)
	switch {
	case err != nil:
		return err
	case exit != 0:
		why := ""
		if stderr = strings.TrimSpace(stderr); stderr != "" {
			why = ": " + words.Quote(stderr)
		}
		return fmt.Errorf("%s ended with exit code %d%s", c.Argv[0], exit, why)
	}
	return nil
}
