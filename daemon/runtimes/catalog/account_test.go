package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

// accountSection is the part of docs/runtimes.md about accounts.
func accountSection() string {
	var b strings.Builder
	b.WriteString(accountIntro)
	kinds := []struct {
		kind runtimes.AccountKind
		what string
	}{{runtimes.AccountPath, "folders and files"}, {runtimes.AccountPlain, "addresses, profiles and models"}, {runtimes.AccountSecret, "secrets"}, {runtimes.AccountOwn, "not carried, because the launch sets its own"}}
	for _, rt := range all {
		for _, k := range kinds {
			var names []string
			for _, v := range rt.Account {
				if v.Kind == k.kind {
					names = append(names, "`"+v.Name+"`")
				}
			}
			if len(names) > 0 {
				fmt.Fprintf(&b, "- %s, %s: %s.\n", rt.Title, k.what, strings.Join(names, ", "))
			}
		}
	}
	return b.String()
}

const accountIntro = `
## Whose account a successor has

The successor of a session that a person started, ` + "`agent resume`" + ` and a copy in mode generate have the account of that session: the
variables below, as the session's process was given them, in place of the daemon's own. They go on from generation to
generation. A variable that is on no list is never carried. See [operating.md](operating.md#whose-account).

`

// TestAccount: what a session's process was given is carried as far as the lists go, and secrets are kept apart.
func TestAccount(t *testing.T) {
	t.Parallel()
	a, secrets := ReadAccount([]string{
		"PATH=/evil", "LD_PRELOAD=/evil.so", "NODE_OPTIONS=--require /evil", "UNDERSTUDY_LAUNCH=x", "HOME=/home/dev", "ANTHROPIC_LOG=debug",
		"CLAUDE_CONFIG_DIR=work", "ANTHROPIC_BASE_URL=https://gateway.example", "ANTHROPIC_AUTH_TOKEN=tok", "ANTHROPIC_API_KEY=",
		"ANTHROPIC_CUSTOM_HEADERS=A: b\nC: d", "ANTHROPIC_VERTEX_BASE_URL=https://me:pass@vertex.example", "ANTHROPIC_MODEL=a\x1b[2J",
		"ANTHROPIC_FOUNDRY_API_KEY=\xff", "AWS_PROFILE=two\nlines", "AWS_REGION=" + strings.Repeat("x", maxAccountValue+1),
		"CODEX_HOME=/home/dev/.codex-work", "OPENAI_API_KEY=sk", "OPENCODE_CONFIG=/home/dev/oc.json", "OPENCODE_CONFIG_CONTENT={}", "CLAUDE_CONFIG_DIR=twice",
	}, "/home/dev/repo")
	want := runtimes.Account{
		Variables: map[string]string{
			"CLAUDE_CONFIG_DIR": "/home/dev/repo/work", "ANTHROPIC_BASE_URL": "https://gateway.example", "CODEX_HOME": "/home/dev/.codex-work",
			"OPENCODE_CONFIG": "/home/dev/oc.json",
		},
		Secrets: []string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_VERTEX_BASE_URL", "OPENAI_API_KEY"},
		Left:    []string{"ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_MODEL", "AWS_PROFILE", "AWS_REGION", "OPENCODE_CONFIG_CONTENT"}, Lost: []string{},
	}
	equal(t, "account", a, want)
	base := []string{"PATH=/bin", "HOME=/root", "ANTHROPIC_API_KEY=the daemon's", "CLAUDE_CONFIG_DIR=/root/.claude", "CODEX_HOME=/root/.codex", "OPENAI_API_KEY=its"}
	for _, c := range []struct {
		rt      *runtimes.Runtime
		secrets []string
		environ string
		lost    string
		left    string
	}{
		{claude.Runtime, secrets, "PATH=/bin HOME=/root CODEX_HOME=/root/.codex OPENAI_API_KEY=its ANTHROPIC_BASE_URL=https://gateway.example CLAUDE_CONFIG_DIR=/home/dev/repo/work " +
			"ANTHROPIC_AUTH_TOKEN=tok ANTHROPIC_CUSTOM_HEADERS=A: b\nC: d ANTHROPIC_VERTEX_BASE_URL=https://me:pass@vertex.example",
			"", "ANTHROPIC_FOUNDRY_API_KEY ANTHROPIC_MODEL AWS_PROFILE AWS_REGION"},
		{claude.Runtime, nil, "PATH=/bin HOME=/root CODEX_HOME=/root/.codex OPENAI_API_KEY=its ANTHROPIC_BASE_URL=https://gateway.example CLAUDE_CONFIG_DIR=/home/dev/repo/work",
			"ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_API_KEY ANTHROPIC_MODEL AWS_PROFILE AWS_REGION"},
		{codex.Runtime, secrets, "PATH=/bin HOME=/root ANTHROPIC_API_KEY=the daemon's CLAUDE_CONFIG_DIR=/root/.claude CODEX_HOME=/home/dev/.codex-work OPENAI_API_KEY=sk", "", ""},
		{generic(), secrets, strings.Join(base, " "), "", ""},
	} {
		environ, lost := c.rt.AccountEnviron(base, &a, c.secrets)
		if got := strings.Join(environ, " "); got != c.environ || strings.Join(lost, " ") != c.lost {
			t.Errorf("%s: environment %q without %q\nwant %q without %q", c.rt.Name, got, lost, c.environ, c.lost)
		}
		equal(t, c.rt.Name+" leaves", strings.Join(c.rt.AccountLeft(&a), " "), c.left)
	}
	if left := opencode.Runtime.AccountLeft(&a); !slices.Contains(left, "OPENCODE_CONFIG_CONTENT") {
		t.Errorf("OpenCode leaves %q: its launch sets OPENCODE_CONFIG_CONTENT", left)
	}
	environ, _ := claude.Runtime.AccountEnviron(base, nil, nil)
	equal(t, "without an account", environ, base)
}

// TestAccountListsNameNoProgram: no variable that decides what is run, or that is understudy's own, may ever come onto a list.
func TestAccountListsNameNoProgram(t *testing.T) {
	t.Parallel()
	bad := []string{"LD_", "DYLD_", "NODE_", "UNDERSTUDY_", "PG", "TMUX", "BASH", "GIT_", "SSH_", "PYTHON", "PERL", "RUBY", "BUN_", "DENO_"}
	for _, rt := range all {
		if len(rt.Account) == 0 {
			t.Errorf("%s has no list", rt.Name)
		}
		seen := map[string]bool{}
		for _, v := range rt.Account {
			if slices.Contains([]string{"PATH", "HOME", "SHELL", "ENV", "IFS", "EDITOR", "PAGER", "BROWSER"}, v.Name) ||
				slices.ContainsFunc(bad, func(p string) bool { return strings.HasPrefix(v.Name, p) }) || strings.Contains(v.Name, "SHELL") || strings.Contains(v.Name, "COMMAND") {
				t.Errorf("%s: %s is on the list", rt.Name, v.Name)
			}
			secret := strings.Contains(v.Name, "KEY") || strings.Contains(v.Name, "TOKEN") || strings.Contains(v.Name, "SECRET") || strings.Contains(v.Name, "HEADERS")
			equal(t, fmt.Sprint(rt.Name, ": ", v.Name, " is of kind ", v.Kind), secret, v.Kind == runtimes.AccountSecret)
			if seen[v.Name] {
				t.Errorf("%s: %s is on the list twice", rt.Name, v.Name)
			}
			seen[v.Name] = true
		}
	}
}
