// Package service has systemd or launchd run the daemon. It writes the unit, and has the command that installs, removes and
// describes the service. It does not touch a file that it did not write.
//
// A command runs one thing after the other. A command that is killed half-way may leave the file without the service or the
// service without the file; status says which, and install or uninstall mends it.
package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
)

// service is the daemon as the machine's init runs it: the file that describes the daemon to init, and the commands by which
// init takes up the file or drops it.
type service struct {
	path    string // of the file
	content string // of the file
	mark    string // begins every file that this package wrote
	root    string // data directory
	log     string // a command that shows the daemon's log

	// rootIn reads the data directory out of a file that this package wrote; "": the file names none.
	rootIn func(content string) string

	active proc.CommandLine   // succeeds while init runs the daemon
	start  []proc.CommandLine // init does not run the daemon: take up the file and start the daemon
	renew  []proc.CommandLine // init runs it by an older file: take up the new file and restart the daemon
	keep   []proc.CommandLine // init runs it by this file: have it started at the next boot as well
	stop   []proc.CommandLine // init runs it: end the daemon for good
	drop   []proc.CommandLine // init does not run it: keep init from starting it
	forget []proc.CommandLine // the file is gone: have init forget it

	lingers  string        // the command that lets the daemon run on after log-out; empty: none is needed
	away     string        // what to do where init does not answer
	patience time.Duration // how long the daemon may take to answer
}

// serviceSpec is what a service is made of.
type serviceSpec struct {
	goos   string
	uid    int
	binary string   // absolute
	root   string   // data directory, absolute
	env    []string // NAME=value, for the daemon and its agents
	getenv func(string) string
}

// newService describes the daemon to the init of an operating system. Root gets a service of the machine, other users get a
// service of their own.
func newService(spec serviceSpec) (*service, error) {
	for _, word := range append([]string{spec.binary, spec.root}, spec.env...) {
		if !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl) {
			return nil, fmt.Errorf("%q cannot stand in a service's file: rename it to a text without control characters", word)
		}
	}
	home := spec.getenv("HOME")
	if spec.uid != 0 && !filepath.IsAbs(home) {
		return nil, errors.New("HOME is not set, and the service's file goes there: set it")
	}
	switch spec.goos {
	case "linux":
		if strings.ContainsAny(spec.binary, `"'\\`) {
			return nil, fmt.Errorf("systemd runs no program whose path has quotes or backslashes: move %s", spec.binary)
		}
		return systemdService(spec, home), nil
	case "darwin":
		return launchdService(spec, home), nil
	}
	return nil, fmt.Errorf("there is no service for %s: have what starts your programs run `understudy serve`", spec.goos)
}

// serviceBinary is the path by which init starts this program. It is the path in PATH, if that leads to this program: an update
// may put the program itself elsewhere and keep that path.
func serviceBinary(path string) (string, error) {
	own, err := proc.OwnBinary()
	if err != nil {
		return "", err
	}
	if proc.BuiltByGoRun(own) {
		return "", errors.New("`go run` removes this binary when it ends: install one with `go install ./cmd/...` and run that")
	}
	for _, dir := range filepath.SplitList(path) {
		named := filepath.Join(dir, "understudy")
		if real, err := filepath.EvalSymlinks(named); err == nil && real == own && filepath.IsAbs(named) {
			return named, nil
		}
	}
	return own, nil
}

// servicePasses are the variables that the service takes from whoever installs it. The daemon passes them on to its agents.
// Init itself sets HOME, USER, SHELL and the session's bus.
var servicePasses = []string{
	"PATH", "LANG", "LC_ALL", "LC_CTYPE", "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// serviceEnv is the environment of the service: the variables of servicePasses and those that --env names. left names the
// variables that the service does not get although a person may expect it: settings, and what agents log in with.
func serviceEnv(environ, asked []string) (env, left []string, err error) {
	for _, name := range asked {
		if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") }) || name == "" {
			return nil, nil, cli.Usagef("--env %s: there is no such variable here", name)
		}
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		secret := strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")
		switch {
		case slices.Contains(asked, name), slices.Contains(servicePasses, name) && value != "" && !secret:
			env = append(env, name+"="+passedValue(name, value))
		case value != "" && (secret || missed(name)):
			left = append(left, name)
		}
	}
	slices.Sort(env)
	slices.Sort(left)
	return env, left, nil
}

// passedValue is the value of a variable for the service. It drops relative folders from PATH, which would be other folders
// there.
func passedValue(name, value string) string {
	if name != "PATH" {
		return value
	}
	dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// missed reports whether a variable that is not passed on would matter to the daemon or its agents.
func missed(name string) bool {
	switch name {
	case "UNDERSTUDY_DATA": // the service's command line names the directory
		return false
	case "UNDERSTUDY_AGENT_ID", "UNDERSTUDY_LAUNCH", "UNDERSTUDY_SOCKET", "UNDERSTUDY_PERSONA", "UNDERSTUDY_PREVIOUS_AGENT_ID":
		return false // they belong to the agent that runs this command
	}
	return strings.HasPrefix(name, "UNDERSTUDY_") || strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_CODE_USE_") ||
		name == "CLAUDE_CODE_OAUTH_TOKEN"
}

// The states of a service's file.
const (
	serviceAbsent  = "absent"
	serviceForeign = "foreign" // another program or person wrote it
	serviceOther   = "other"   // this package wrote it, with another content
	serviceSame    = "same"
)

// state looks at the service's file. root is the data directory that the file names; "" if it names none.
func (s *service) state() (state, root string, err error) {
	b, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return serviceAbsent, "", nil
	case err != nil:
		return "", "", fmt.Errorf("service: %w", err)
	case string(b) == s.content:
		return serviceSame, s.root, nil
	case strings.HasPrefix(string(b), s.mark):
		return serviceOther, s.rootIn(string(b)), nil
	}
	return serviceForeign, "", nil
}

// errAnother refuses to replace a service for another data directory, which would end the daemon there.
func (s *service) errAnother(root string) error {
	return fmt.Errorf("the service serves %s and not %s: run `understudy service uninstall --data %s` first; its agents go on",
		root, s.root, proc.ShellQuote(root))
}

// errForeign refuses to touch a file that this package did not write.
func (s *service) errForeign() error {
	return fmt.Errorf("%s was not written by `understudy service install`: move it away and run this again", s.path)
}

// lingerHint is the command that lets a user's services run on after log-out; "" if they do already.
func lingerHint(user string) string {
	if user == "" {
		return "loginctl enable-linger"
	}
	if _, err := os.Stat(filepath.Join("/var/lib/systemd/linger", filepath.Base(user))); err == nil {
		return ""
	}
	return "loginctl enable-linger " + proc.ShellQuote(user)
}
