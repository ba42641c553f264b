// Package service makes systemd or launchd run the daemon. It writes the unit, and has the command that installs,
// removes and describes the service. It does not touch a file that it did not write.
//
// A command makes one change after the other. A command that is killed half-way may leave the file without the service
// or the service without the file. `understudy service status` reports which one is missing, and install or uninstall
// mends it.
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
	"github.com/understudyd/understudy/data"
)

// service is the daemon as the machine's init runs it. It has the file that describes the daemon to init, and the
// commands that make init read the file or forget it.
type service struct {
	path    string // of the file
	content string // of the file
	mark    string // the beginning of every file that this package writes
	root    string // data directory
	secrets string // the content of the file with what --env names; "": there is none
	log     string // a command that shows the daemon's log

	// rootIn returns the data directory that is named in a file of this package, or "" if the file names none.
	rootIn func(content string) string

	active proc.CommandLine   // succeeds while init runs the daemon
	start  []proc.CommandLine // if init does not run the daemon: read the file and start the daemon
	renew  []proc.CommandLine // if init runs the daemon by an older file: read the new file and restart the daemon
	keep   []proc.CommandLine // if init runs the daemon by this file: also start the daemon at the next boot
	stop   []proc.CommandLine // if init runs the daemon: end the daemon for good
	drop   []proc.CommandLine // if init does not run the daemon: keep init from starting it
	forget []proc.CommandLine // if the file is gone: make init forget the file

	lingers  string        // the command that lets the daemon run after log-out; empty if none is needed
	away     string        // what a person can do if init does not answer
	patience time.Duration // how long the daemon may take to answer
}

// serviceSpec is the input of newService.
type serviceSpec struct {
	goos   string
	uid    int
	binary string   // absolute
	root   string   // data directory, absolute
	env    []string // NAME=value, for the daemon and its agents
	asked  []string // as env, what --env names: it may be secret, and init shows the environment of its file to everybody
	getenv func(string) string
}

// newService describes the daemon to the init of an operating system. For root it is a service of the machine, for
// another user a service of that user.
func newService(spec serviceSpec) (*service, error) {
	for _, word := range slices.Concat([]string{spec.binary, spec.root}, spec.env, spec.asked) {
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

// words returns the daemon's command line. The daemon itself reads the variables that may be secret.
func (spec *serviceSpec) words() []string {
	words := []string{spec.binary, "serve", "--data", spec.root}
	if len(spec.asked) > 0 {
		words = append(words, "--env-file", data.At(spec.root).ServiceEnv())
	}
	return words
}

// envText returns the content of the file with the variables that may be secret.
func (spec *serviceSpec) envText() string {
	if len(spec.asked) == 0 {
		return ""
	}
	return strings.Join(spec.asked, "\n") + "\n"
}

// keepSecrets writes the file with the variables that may be secret, if there are any.
func (s *service) keepSecrets() error {
	path := data.At(s.root).ServiceEnv()
	if s.secrets == "" {
		return nil
	}
	if _, err := data.Open(s.root); err != nil {
		return err
	}
	if err := data.WriteFile(path, []byte(s.secrets), 0o600); err != nil {
		return fmt.Errorf("service: %w", err)
	}
	return nil
}

// dropSecrets removes that file of a data directory.
func dropSecrets(root string) error {
	if err := os.Remove(data.At(root).ServiceEnv()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// serviceBinary returns the path by which init starts this program. If a path in PATH leads to this program, it returns
// that path, because an update may move the program and keep the path in PATH.
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

// servicePasses are the variables that the service takes from the person who installs it. The daemon passes them on to
// its agents. Init itself sets HOME, USER, SHELL and the session's bus.
var servicePasses = []string{
	"PATH", "LANG", "LC_ALL", "LC_CTYPE", "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// serviceEnv returns the environment of the service: the variables of servicePasses and the variables that --env names.
// named has the latter. left names the variables that the service does not get, although a person may expect that: settings, and the agents'
// credentials.
func serviceEnv(environ, asked []string) (env, named, left []string, err error) {
	for _, name := range asked {
		if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") }) || name == "" {
			return nil, nil, nil, cli.Usagef("--env %s: there is no such variable here", name)
		}
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		secret := strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")
		switch {
		case slices.Contains(asked, name):
			named = append(named, name+"="+passedValue(name, value))
		case slices.Contains(servicePasses, name) && value != "" && !secret:
			env = append(env, name+"="+passedValue(name, value))
		case value != "" && (secret || missed(name)):
			left = append(left, name)
		}
	}
	slices.Sort(env)
	slices.Sort(named)
	slices.Sort(left)
	return env, named, left, nil
}

// passedValue returns the value that the service gets for a variable. It drops relative folders from PATH, because they
// would mean other folders in the service's working directory.
func passedValue(name, value string) string {
	if name != "PATH" {
		return value
	}
	dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// missed reports whether a variable that the service does not get would matter to the daemon or its agents.
func missed(name string) bool {
	switch name {
	case "UNDERSTUDY_DATA": // the service's command line names the directory
		return false
	case "UNDERSTUDY_AGENT_ID", "UNDERSTUDY_LAUNCH", "UNDERSTUDY_SOCKET", "UNDERSTUDY_PERSONA", "UNDERSTUDY_PREVIOUS_AGENT_ID":
		return false // these variables belong to the agent that runs this command
	}
	return strings.HasPrefix(name, "UNDERSTUDY_") || strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_CODE_USE_") ||
		name == "CLAUDE_CODE_OAUTH_TOKEN"
}

// The states of a service's file.
const (
	serviceAbsent  = "absent"
	serviceForeign = "foreign" // another program or person wrote it
	serviceOther   = "other"   // this package wrote it, with a different content
	serviceSame    = "same"
)

// state compares the service's file with the expected one. root is the data directory that the file names, or "".
func (s *service) state() (state, root string, err error) {
	b, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return serviceAbsent, "", nil
	case err != nil:
		return "", "", fmt.Errorf("service: %w", err)
	case string(b) == s.content:
		if had, _ := os.ReadFile(data.At(s.root).ServiceEnv()); string(had) != s.secrets { // none is like an empty one
			return serviceOther, s.root, nil
		}
		return serviceSame, s.root, nil
	case strings.HasPrefix(string(b), s.mark):
		return serviceOther, s.rootIn(string(b)), nil
	}
	return serviceForeign, "", nil
}

// errAnother refuses to replace the service of another data directory, because that would end the other directory's
// daemon.
func (s *service) errAnother(root string) error {
	return fmt.Errorf("the service serves %s and not %s: run `understudy service uninstall --data %s` first; its agents go on",
		root, s.root, proc.ShellQuote(root))
}

// errForeign refuses to touch a file that this package did not write.
func (s *service) errForeign() error {
	return fmt.Errorf("%s was not written by `understudy service install`: move it away and run this again", s.path)
}

// lingerHint returns the command that lets a user's services run after log-out, or "" if they already do.
func lingerHint(user string) string {
	if user == "" {
		return "loginctl enable-linger"
	}
	if _, err := os.Stat(filepath.Join("/var/lib/systemd/linger", filepath.Base(user))); err == nil {
		return ""
	}
	return "loginctl enable-linger " + proc.ShellQuote(user)
}
