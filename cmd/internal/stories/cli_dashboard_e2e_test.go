//go:build e2e

package stories

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/commands"
)

// TestDashboardOpenLeavesNoKey: A file leads the desktop's browser to a link with a key. The file is removed when the
// link is used, when the daemon that made it has ended, and when there is no browser.
func TestDashboardOpenLeavesNoKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.Listen = freeAddress(t)
	r.start()
	bin, page := t.TempDir(), filepath.Join(r.root, "run", "dashboard.html")
	desktop := func(script string) {
		t.Helper()
		for _, name := range []string{"xdg-open", "open"} {
			must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		}
	}
	open := func() (said string) {
		t.Helper()
		var stdout bytes.Buffer
		var stderr bytes.Buffer
		env := func(name string) string { return map[string]string{"PATH": bin}[name] }
		if code := commands.Run(t.Context(), []string{"dashboard", "--open", "--data", r.root}, env, strings.NewReader(""), &stdout, &stderr); code != commands.ExitDone {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		return stdout.String()
	}
	there := func(what string, want bool) {
		t.Helper()
		if _, err := os.Stat(page); err != nil && !errors.Is(err, os.ErrNotExist) || (err == nil) != want {
			t.Errorf("%s: want the file to exist: %t, got %v", what, want, err)
		}
	}

	desktop(`test "$1" = "` + page + `"`)
	holds(t, "the command", open(), "opens in your browser")
	b, err := os.ReadFile(page)
	if info, statErr := os.Stat(page); err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file: %v, %v %v", info, err, statErr)
	}
	other := value(r.client.DashboardLink(t.Context(), api.LinkFor{}))(t)
	signInWith(t, other.URL)
	there("another link was used", true)
	_, url, _ := strings.Cut(string(b), "url=")
	url, _, _ = strings.Cut(url, `"`)
	signInWith(t, url)
	there("its link was used", false)

	open()
	there("opened again", true)
	r.halt()
	r.start()
	there("the daemon was started again", false)

	desktop("exit 3")
	holds(t, "the command", open(), "/login?key=")
	there("no browser", false)
}

// signInWith presses the button of the page that a link opens.
func signInWith(t *testing.T, link string) {
	t.Helper()
	address, key, _ := strings.Cut(link, "?key=")
	res := value(http.Post(address, "application/json", strings.NewReader(`{"key": "`+key+`"}`)))(t)
	res.Body.Close()
	equal(t, link, res.StatusCode, http.StatusCreated)
}

// TestDashboardLoginsCanBeListedAndSignedOut: The command line lists the browsers that are signed in, and signs them
// out.
func TestDashboardLoginsCanBeListedAndSignedOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.Listen = freeAddress(t)
	r.start()
	do := func(args ...string) (code int, out string) {
		var stdout, stderr bytes.Buffer
		code = commands.Run(t.Context(), append([]string{"--data", r.root, "dashboard"}, args...), func(string) string { return "" }, nil, &stdout, &stderr)
		return code, stdout.String() + stderr.String()
	}
	if code, out := do("--logins"); code != commands.ExitDone || !strings.Contains(out, "no browser is signed in") {
		t.Errorf("without a login: exit code %d, %s", code, out)
	}
	for range 2 {
		link := value(r.client.DashboardLink(t.Context(), api.LinkFor{}))(t)
		signInWith(t, link.URL)
	}
	logins, err := r.client.Logins(t.Context())
	if err != nil || len(logins) != 2 {
		t.Fatalf("logins are %v (%v)", logins, err)
	}
	first, second := logins[0].ID, logins[1].ID
	if code, out := do("--logins"); code != commands.ExitDone || !strings.Contains(out, first) || !strings.Contains(out, second) {
		t.Errorf("with two logins: exit code %d, %s", code, out)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{first}, commands.ExitUsage, "one argument too many"},
		{[]string{"--revoke", "nobody"}, commands.ExitFailed, "understudy dashboard --logins"},
		{[]string{"--revoke", first}, commands.ExitDone, "signed out: another browser (" + first + ")"},
		{[]string{"--revoke"}, commands.ExitDone, second},
		{[]string{"--revoke"}, commands.ExitDone, "no browser was signed in"},
	} {
		if code, out := do(c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, out)
		}
	}
}
