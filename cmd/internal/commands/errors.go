package commands

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/daemon"
)

// hint says what to do about an error of the daemon whose exact text is fixed and names no fix.
func hint(err error) string {
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

// hasCode reports whether the daemon answered with an error of that code.
func hasCode(err error, code daemon.Code) bool {
	var told *daemon.Error
	return errors.As(err, &told) && told.Code == code
}

// unknownCommand returns the word that the library takes for an unknown command; false: the error is another one.
func unknownCommand(err error) (string, bool) {
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

// badValue matches the library's error for a value that a flag does not take.
var badValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^invalid argument .* for "(?:-\w, )?--([^"]+)" flag: `)
})

// flagError says which values a flag takes, in place of the library's error.
func flagError(c *cobra.Command, err error) error {
	m := badValue().FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	f := c.Flag(m[1])
	if f != nil && f.Value.Type() == "bool" {
		return fmt.Errorf("--%s must be true or false", f.Name)
	}
	if f == nil || f.Value.Type() != "int" && f.Value.Type() != "int64" {
		return err
	}
	from := 1
	if f.Name == "after" { // 0 is before the first event
		from = 0
	}
	return fmt.Errorf("--%s must be a number from %d", f.Name, from)
}
