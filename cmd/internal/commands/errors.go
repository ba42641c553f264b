package commands

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// hints say how to mend errors of the daemon. The texts of these errors are fixed and name no fix.
var hints = map[daemon.Code]string{
	daemon.CodeAgentNotFound:      "`understudy agent list --all` shows those that there are",
	daemon.CodeAgentNotActive:     "`understudy agent show` says who goes on with its work, and `understudy agent resume` opens its session again if nobody does",
	daemon.CodeAgentNoPane:        "only an agent in tmux can be typed to",
	daemon.CodeHandoffNotFound:    "`understudy handoff list` shows those that there are",
	daemon.CodeHandoffInProgress:  "`understudy handoff list` shows how it stands",
	daemon.CodePermissionNotFound: "`understudy permission list --all` shows those that there are",
	daemon.CodePipelineNotFound:   "`understudy pipeline list` shows those that there are",
	api.CodePersonaNotFound:       "`understudy persona list` shows those that there are",
}

// hint returns how to mend an error, for the end of the error's sentence. It returns "" if there is no hint for the
// error.
func hint(err error) string {
	if told, ok := errors.AsType[*daemon.Error](err); ok && hints[told.Code] != "" {
		return ": " + hints[told.Code]
	}
	return ""
}

// hasCode reports whether the daemon answered with an error that has that code.
func hasCode(err error, code daemon.Code) bool {
	told, ok := errors.AsType[*daemon.Error](err)
	return ok && told.Code == code
}

// unknownCommand returns the word that the library reports as an unknown command. It returns false if err is another
// error.
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

// flagError replaces the library's error with one that says which values the flag takes.
func flagError(_ *cobra.Command, err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f := bad.GetFlag()
	switch f.Value.Type() {
	case "bool":
		return fmt.Errorf("--%s must be true or false", f.Name)
	case "int", "int64":
	default:
		return err
	}
	from := 1
	if f.Name == "after" { // 0 is before the first event
		from = 0
	}
	return fmt.Errorf("--%s must be a number from %d", f.Name, from)
}
