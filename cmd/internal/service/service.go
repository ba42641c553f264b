// Package service has systemd or launchd run the daemon: the unit that it installs, and the command that installs,
// removes and describes it. What is there by somebody else's hand stays.
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

// service is the daemon as the machine's init runs it: the file that describes it, and the commands
// that have init take the file up and let it go.
type service struct {
	path    string // of the file
	content string // of the file
	mark    string // a file that we wrote begins with it
	root    string // data directory
	log     string // shows what the daemon logs

	// rootIn is the data directory that a file's content names; "": none that we would have written so.
	rootIn func(content string) string

	active proc.CommandLine   // succeeds while init runs the daemon
	start  []proc.CommandLine // it does not: take the file up and start
	renew  []proc.CommandLine // it does, by an older file: take the new one up and start again
	keep   []proc.CommandLine // it does, by this file: see to it that it is started at the next boot, too
	stop   []proc.CommandLine // it does: end the daemon, for good
	drop   []proc.CommandLine // it does not: see to it that it does not start it again
	forget []proc.CommandLine // once the file is gone

	lingers  string        // a command without which the daemon ends at log-out; empty: there is none
	away     string        // what to do where init does not answer
	patience time.Duration // how long the daemon may take until it answers
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

// newService describes the daemon to the init of an operating system. For root it is a service of the
// machine, for others one of the user's own.
func newService(spec serviceSpec) (*service, error) {
	for _, word := range append([]string{spec.binary, spec.root}, spec.env...) {
		if !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl) {
			return nil, fmt.Errorf("%q cannot stand in a service's file: rename it, so that it is text without control characters", word)
		}
	}
	home := spec.getenv("HOME")
	if spec.uid != 0 && !filepath.IsAbs(home) {
		return nil, errors.New("HOME is not set: it is where the service's file goes")
	}
	switch spec.goos {
	case "linux":
		if strings.ContainsAny(spec.binary, `"'\\`) {
			return nil, fmt.Errorf("systemd runs no program whose path has quotes or backslashes: put %s elsewhere", spec.binary)
		}
		return systemdService(spec, home), nil
	case "darwin":
		return launchdService(spec, home), nil
	}
	return nil, fmt.Errorf("there is no service for %s: have what starts your programs run `understudy serve`", spec.goos)
}

// serviceBinary is the path by which init starts this program. The one in PATH is taken if it leads here:
// it stays when an update puts the program itself elsewhere.
func serviceBinary(path string) (string, error) {
	own, err := proc.OwnBinary()
	if err != nil {
		return "", err
	}
	if proc.BuiltByGoRun(own) {
		return "", errors.New("the service would run a binary that goes when `go run` ends: install one with `go install ./cmd/...` and run that")
	}
	for _, dir := range filepath.SplitList(path) {
		named := filepath.Join(dir, "understudy")
		if real, err := filepath.EvalSymlinks(named); err == nil && real == own && filepath.IsAbs(named) {
			return named, nil
		}
	}
	return own, nil
}

// servicePasses are the variables of who installs the service that the daemon gets, and its agents from
// it. Init itself gives HOME, USER, SHELL and the session's bus.
var servicePasses = []string{
	"PATH", "LANG", "LC_ALL", "LC_CTYPE", "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// serviceEnv is the environment for the service: what is always passed on, and what is asked for. Left
// are the names of those that somebody may miss there: settings, and what agents log in with.
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

// passedValue is a variable's value as a service may have it: in a PATH a folder that is not absolute
// would be another one there.
func passedValue(name, value string) string {
	if name != "PATH" {
		return value
	}
	dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// missed says whether the daemon or its agents go by a variable that they are not given unasked.
func missed(name string) bool {
	switch name {
	case "UNDERSTUDY_DATA": // which is in the command line
		return false
	case "UNDERSTUDY_AGENT_ID", "UNDERSTUDY_LAUNCH", "UNDERSTUDY_SOCKET", "UNDERSTUDY_PERSONA", "UNDERSTUDY_PREVIOUS_AGENT_ID":
		return false // of the agent that installs the service
	}
	return strings.HasPrefix(name, "UNDERSTUDY_") || strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_CODE_USE_") ||
		name == "CLAUDE_CODE_OAUTH_TOKEN"
}

// The states of a service's file.
const (
	serviceAbsent  = "absent"
	serviceForeign = "foreign" // somebody else's
	serviceOther   = "other"   // ours, with another content
	serviceSame    = "same"
)

// state looks at the service's file, and at which data directory the daemon that it describes serves; root is
// empty where it does not tell.
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

// errAnother says that the service serves another data directory: replacing it would end the daemon there.
func (s *service) errAnother(root string) error {
	return fmt.Errorf("the service serves %s and not %s: run `understudy service uninstall --data %s` first; its agents go on",
		root, s.root, proc.ShellQuote(root))
}

// errForeign says that the file is not ours to touch.
func (s *service) errForeign() error {
	return fmt.Errorf("%s was not written by `understudy service install`: move it away and run this again", s.path)
}

// lingerHint is the command that lets a user's services run on after log-out, unless they do.
func lingerHint(user string) string {
	if user == "" {
		return "loginctl enable-linger"
	}
	if _, err := os.Stat(filepath.Join("/var/lib/systemd/linger", filepath.Base(user))); err == nil {
		return ""
	}
	return "loginctl enable-linger " + proc.ShellQuote(user)
}
