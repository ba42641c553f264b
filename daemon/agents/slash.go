package agents

import (
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// Slash says whose command /handoff a session has without one that its launch brings along.
type Slash int

const (
	SlashNone      Slash = iota // nobody's: the launch brings ours along
	SlashInstalled              // ours, by hooks install
	SlashTheirs                 // a project's or a person's own
)

// SlashAt says whose command /handoff is in a session. cwd is the directory of the session, and config is the directory in which the
// session's runtime keeps its files.
func SlashAt(config, cwd string) Slash {
	if config == "" {
		return SlashTheirs
	}
	for _, other := range []string{
		filepath.Join(cwd, ".claude", "commands", "handoff.md"), filepath.Join(cwd, ".claude", "skills", "handoff"),
		filepath.Join(config, "skills", "handoff"),
	} {
		if _, err := os.Lstat(other); err == nil {
			return SlashTheirs
		}
	}
	file, err := hooks.ReadSlash(filepath.Join(config, "settings.json"))
	switch {
	case err == nil && file.Ours():
		return SlashInstalled
	case err == nil && file.Text == nil:
		return SlashNone
	}
	return SlashTheirs
}

// BringSlash has a launch bring the command /handoff along, unless the session has one already: another one stays as it is. program
// is the program that the command runs.
func BringSlash(spec *runtimes.Spec, config, program string) (err error) {
	whose := SlashAt(config, spec.Cwd)
	spec.MayHandOver = whose != SlashTheirs
	if whose == SlashNone && program != "" {
		spec.Slash, err = hooks.LaunchSlash(program)
	}
	return err
}
