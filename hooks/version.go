package hooks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// since lists the events that we use, each with the version of Claude Code that
// introduced it, from its changelog. If a settings file names an event that the
// CLI does not know, the CLI opens a blocking dialog at its start.
//
// The list does not contain PostToolUse: its hook would run a process for every
// tool call, and would report only facts that the CLI's registry file also has.
var since = []struct {
	event   string
	version [3]int
}{
	{SessionStart, [3]int{1, 0, 62}},
	{UserPromptSubmit, [3]int{1, 0, 54}},
	{Stop, [3]int{1, 0, 38}},
	{SessionEnd, [3]int{1, 0, 85}},
	{Notification, [3]int{1, 0, 38}},
	{PreCompact, [3]int{1, 0, 48}},
	{PermissionRequest, [3]int{2, 0, 45}},
	{StopFailure, [3]int{2, 1, 78}},
}

// core are the events to use if the version is unknown. All versions since 1.0.85 have them.
var core = []string{SessionStart, UserPromptSubmit, Stop, SessionEnd, Notification}

// KnownEvents returns the events that get a hook in a version of Claude Code.
// version is the output of `claude --version`, such as "2.1.329 (Claude Code)". If
// it is not a version, KnownEvents returns only events that old versions have too.
func KnownEvents(version string) []string {
	v, ok := parseVersion(version)
	if !ok {
		return slices.Clone(core)
	}
	var events []string
	for _, e := range since {
		if slices.Compare(e.version[:], v[:]) <= 0 {
			events = append(events, e.event)
		}
	}
	return events
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

// SupportsExecForm reports whether a version of Claude Code can start a hook
// without a shell, from command and args. An older version would ignore args.
func SupportsExecForm(version string) bool {
	v, ok := parseVersion(version)
	return ok && slices.Compare(v[:], []int{2, 1, 139}) >= 0
}

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
