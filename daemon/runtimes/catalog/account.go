package catalog

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// maxAccountValue is the longest value that is carried, in bytes.
const maxAccountValue = 16 << 10

// ReadAccount takes the account out of the environment of a session's process. dir is the directory in which the process was
// started. The secrets are returned apart, as NAME=value.
func ReadAccount(environ []string, dir string) (a runtimes.Account, secrets []string) {
	a = runtimes.Account{Variables: map[string]string{}, Secrets: []string{}, Left: []string{}, Lost: []string{}}
	listed := accountVars()
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		kind, ok := listed[name]
		_, again := a.Variables[name]
		switch {
		case !ok || value == "" || again || slices.Contains(a.Secrets, name) || slices.Contains(a.Left, name):
		case kind == runtimes.AccountOwn || !cleanAccount(value):
			a.Left = append(a.Left, name)
		case kind == runtimes.AccountSecret || hasCredentials(value):
			a.Secrets, secrets = append(a.Secrets, name), append(secrets, kv)
		case strings.Contains(value, "\n"):
			a.Left = append(a.Left, name)
		case kind == runtimes.AccountPath && !filepath.IsAbs(value):
			a.Variables[name] = filepath.Join(dir, value)
		default:
			a.Variables[name] = value
		}
	}
	slices.Sort(a.Secrets)
	slices.Sort(secrets)
	slices.Sort(a.Left)
	return a, secrets
}

// cleanAccount refuses a value that no account has: too long, or with characters that no terminal or file should get. A list of
// headers has line breaks.
func cleanAccount(value string) bool {
	return len(value) <= maxAccountValue && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' })
}

// hasCredentials reports whether a value is an address with a password or a token in it.
func hasCredentials(value string) bool {
	if !strings.Contains(value, "://") {
		return false
	}
	u, err := url.Parse(value)
	return err != nil || u.User != nil || u.RawQuery != ""
}

// accountVars are the variables of all runtimes: a person's shell may configure several CLIs, and the successor may be another one
// than the session.
var accountVars = sync.OnceValue(func() map[string]runtimes.AccountKind {
	kinds := map[string]runtimes.AccountKind{}
	for _, rt := range all {
		maps.Copy(kinds, rt.AccountKinds())
	}
	return kinds
})
