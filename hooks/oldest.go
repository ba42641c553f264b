package hooks

import (
	"fmt"
	"slices"
)

// oldest is the first version of Claude Code whose hooks say which process they speak for (CLAUDE_PID): an
// older one starts and never registers. Measured with 2.1.200, 211, 212, 213, 214, 217, 223 and 250.
var oldest = [3]int{2, 1, 213}

// CheckVersion refuses a version of Claude Code, as it prints it itself, that is too old to register. A text
// that is no version is no reason to refuse.
func CheckVersion(version string) error {
	v, ok := parseVersion(version)
	if !ok || slices.Compare(v[:], oldest[:]) >= 0 {
		return nil
	}
	return fmt.Errorf("claude %d.%d.%d is too old to register: the oldest that does is %d.%d.%d; update it, as with `claude update`",
		v[0], v[1], v[2], oldest[0], oldest[1], oldest[2])
}
