package hooks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Events are the events that get a hook, all of which every version knows that [CheckVersion] accepts. For an event that a
// settings file names and the CLI does not know, the CLI opens a blocking dialog at its start.
//
// The list does not contain PostToolUse: its hook would run a process for every
// tool call, and would report only facts that the CLI's registry file also has.
var Events = []string{SessionStart, UserPromptSubmit, Stop, SessionEnd, Notification, PreCompact, PermissionRequest, StopFailure}

// oldest is the first version of Claude Code that passes the id of its process to its hooks (CLAUDE_PID). An agent with
// an older version starts but never registers. Measured with 2.1.200, 211, 212, 213, 214, 217, 223 and 250.
var oldest = [3]int{2, 1, 213}

// CheckVersion returns an error if a version of Claude Code, as the CLI prints it, is too old: its agents would never
// register. If the text is not a version, CheckVersion returns nil.
func CheckVersion(version string) error {
	v, ok := parseVersion(version)
	if !ok || slices.Compare(v[:], oldest[:]) >= 0 {
		return nil
	}
	return fmt.Errorf("claude %d.%d.%d is too old to register: the oldest that does is %d.%d.%d; update it, as with `claude update`",
		v[0], v[1], v[2], oldest[0], oldest[1], oldest[2])
}

func parseVersion(text string) (v [3]int, ok bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-") // without a pre-release suffix
	parts := strings.Split(text, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return v, false
		}
		v[i] = int(n)
	}
	return v, true
}
