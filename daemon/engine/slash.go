package engine

import (
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// slash says whose command /handoff a session has without one that its launch brings along.
type slash int

const (
	slashNone      slash = iota // nobody's: the launch brings ours along
	slashInstalled              // ours, by hooks install
	slashTheirs                 // a project's or a person's own
)

// slashAt says whose command /handoff is in a session. cwd is the directory of the session, and config is the directory in which the
// session's runtime keeps its files.
func slashAt(config, cwd string) slash {
	if config == "" {
		return slashTheirs
	}
	for _, other := range []string{
		filepath.Join(cwd, ".claude", "commands", "handoff.md"), filepath.Join(cwd, ".claude", "skills", "handoff"),
		filepath.Join(config, "skills", "handoff"),
	} {
		if _, err := os.Lstat(other); err == nil {
			return slashTheirs
		}
	}
	file, err := hooks.ReadSlash(filepath.Join(config, "settings.json"))
	switch {
	case err == nil && file.Ours():
		return slashInstalled
	case err == nil && file.Text == nil:
		return slashNone
	}
	return slashTheirs
}

// bringSlash has a launch bring the command /handoff along, unless the session has one already: another one stays as it is. program
// is the program that the command runs.
func bringSlash(spec *runtimes.Spec, config, program string) (err error) {
	whose := slashAt(config, spec.Cwd)
	spec.MayHandOver = whose != slashTheirs
	if whose == slashNone && program != "" {
		spec.Slash, err = hooks.LaunchSlash(program)
	}
	return err
}
