package hooks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type options struct {
	installed          bool
	holds              bool // the CLI gives the hook the time of [HoldTimeout]
	data, socket, made string
	runtime            string // whose hook it is; "": Claude Code's
	event              string
}

var errHelp = errors.New("help wanted")

func parseArgs(args []string) (options, error) {
	var o options
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		var to *string
		switch {
		case name == "-h" || name == "--help":
			return o, errHelp
		case args[i] == "--installed":
			o.installed = true
			continue
		case args[i] == holdsFlag:
			o.holds = true
			continue
		case name == "--data":
			to = &o.data
		case name == "--socket":
			to = &o.socket
		case name == "--runtime":
			to = &o.runtime
		case name == madeFlag:
			to = &o.made // only uninstall uses the value
		case strings.HasPrefix(name, "-"):
			return o, fmt.Errorf("hook: flag %.80q is not known; see understudy hook --help", name)
		case o.event != "":
			return o, fmt.Errorf("hook: %.80q after the event; one event is expected", args[i])
		default:
			event, ok := Canonical(args[i])
			if !ok {
				return o, fmt.Errorf("hook: %.80q is not an event like SessionStart or session-start", args[i])
			}
			o.event = event
			continue
		}
		if !inline {
			if i++; i == len(args) {
				return o, fmt.Errorf("hook: flag %s needs a value", name)
			}
			value = args[i]
		}
		*to = value
	}
	if o.event == "" {
		return o, errors.New("hook: no event; name one, as in: understudy hook SessionStart")
	}
	return o, nil
}

func (o options) socketPath(env func(string) string) (string, error) {
	socket := env("UNDERSTUDY_SOCKET")
	if socket == "" {
		socket = o.socket
	}
	if socket != "" {
		return filepath.Abs(socket)
	}
	return runPath(o.data, env, "hook.sock")
}

// MainSocket returns the socket of the whole API of the daemon. dir is its data directory; "": UNDERSTUDY_DATA names it, or
// it is the default one.
func MainSocket(dir string, env func(string) string) (string, error) {
	return runPath(dir, env, "understudy.sock")
}

func runPath(dir string, env func(string) string, name string) (string, error) {
	if dir == "" {
		dir = env("UNDERSTUDY_DATA")
	}
	if dir == "" {
		dir = defaultData(env)
	}
	if dir == "" {
		return "", errors.New("no data directory, because HOME is not set; set UNDERSTUDY_DATA")
	}
	return filepath.Abs(filepath.Join(dir, "run", name))
}

// defaultData returns the daemon's default data directory, or "" if HOME is not
// set. The daemon has the same rule. It is repeated here because this package
// imports none of our packages.
func defaultData(env func(string) string) string {
	share := env("XDG_DATA_HOME")
	switch home := env("HOME"); {
	case os.Geteuid() == 0:
		return "/var/lib/understudy/data"
	case filepath.IsAbs(share): // the XDG specification says that a relative path must be ignored
		return filepath.Join(share, "understudy", "data")
	case home != "":
		return filepath.Join(home, ".local", "share", "understudy", "data")
	}
	return ""
}
