package catalog

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/daemon/runtimes/omp"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

func TestMayCarry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rt                    *runtimes.Runtime
		mode, launched, began string
		want                  bool
	}{
		{claude.Runtime, "plan", "", "default", true},
		{claude.Runtime, "default", "", "auto", true},
		{claude.Runtime, "acceptEdits", "", "auto", false}, // nobody knows what the user's settings allow
		{claude.Runtime, "acceptEdits", "auto", "auto", true},
		{claude.Runtime, "acceptEdits", "auto", "default", false},
		{claude.Runtime, "bypassPermissions", "acceptEdits", "bypassPermissions", false}, // the transcript alone proves nothing
		{claude.Runtime, "bypassPermissions", "bypassPermissions", "bypassPermissions", true},
		{claude.Runtime, "manual", "dontAsk", "dontAsk", false},
		{claude.Runtime, "newest", "auto", "auto", false},
		{claude.Runtime, "plan", "newest", "auto", false},
		{claude.Runtime, "plan", "auto", "", false},
		{claude.Runtime, "", "auto", "auto", false},
		{codex.Runtime, "read-only", "", "workspace-write", true},
		{codex.Runtime, "danger-full-access", "", "workspace-write", false},
		{codex.Runtime, "never", "edits", "workspace-write", false},
		{opencode.Runtime, "plan", "ask", "build", false},
	} {
		equal(t, fmt.Sprintf("%s: %q of an agent launched with %q that began in %q", tt.rt.Name, tt.mode, tt.launched, tt.began), tt.rt.MayCarry(tt.mode, tt.launched, tt.began), tt.want)
	}
}

func TestNarrowMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from *runtimes.Runtime
		mode string
		to   *runtimes.Runtime
		want string
	}{
		{claude.Runtime, "plan", codex.Runtime, "ask"},
		{claude.Runtime, "plan", gemini.Runtime, "plan"},
		{claude.Runtime, "manual", omp.Runtime, "ask"},
		{claude.Runtime, "dontAsk", opencode.Runtime, "ask"},
		{claude.Runtime, "acceptEdits", codex.Runtime, ""},
		{claude.Runtime, "bypassPermissions", codex.Runtime, ""},
		{claude.Runtime, "", codex.Runtime, ""},
		{claude.Runtime, "newest", codex.Runtime, ""},
		{codex.Runtime, "read-only", claude.Runtime, "default"},
		{gemini.Runtime, "plan", claude.Runtime, "plan"},
		{codex.Runtime, "edits", claude.Runtime, ""},
		{claude.Runtime, "plan", generic(), ""},
	} {
		equal(t, tt.from.Name+"'s "+tt.mode+" on "+tt.to.Name, tt.to.NarrowMode(tt.from, tt.mode), tt.want)
	}
}

// Each mode that a request can name is one that the launch takes, and has a width or is known to have none.
func TestModesAreThoseOfTheLaunch(t *testing.T) {
	t.Parallel()
	for _, rt := range All() {
		for _, mode := range rt.Modes {
			if _, err := rt.Launch(launchSpec(rt, mode)); err != nil {
				t.Errorf("%s: %v", rt.Name, err)
			}
			if rt.Widths[mode] == 0 && !(rt == opencode.Runtime && opencode.AgentOf(mode) != "") {
				t.Errorf("%s: the mode %q has no width", rt.Name, mode)
			}
		}
		if len(rt.Modes) == 0 || rt.Widths[""] == 0 {
			t.Errorf("%s: modes %q, width without one %d", rt.Name, rt.Modes, rt.Widths[""])
		}
	}
}

func launchSpec(rt *runtimes.Runtime, mode string) runtimes.Spec {
	return runtimes.Spec{
		AgentID: 1, SessionID: "0a273dc6-ef5e-4e72-92d8-ad9bb55f6f1a", Command: []string{rt.Name}, Dir: "/d", Mode: mode,
		Server: runtimes.Server{Port: 1, Password: "x"}, User: runtimes.UserHome{Path: "/d"},
	}
}

// The lines are as the CLIs of the tested versions wrote them, without the fields that nobody reads.
func TestEntriesTellModelAndMode(t *testing.T) {
	t.Parallel()
	context := func(approval, sandbox, more string) string {
		return `{"type":"turn_context","payload":{"turn_id":"1","approval_policy":"` + approval + `","approvals_reviewer":"user"` + more + `,"model":"gpt-5.5","sandbox_policy":{"type":"` + sandbox + `"}}}`
	}
	for _, tt := range []struct {
		rt   *runtimes.Runtime
		line string
		want runtimes.Entry // without other fields
	}{
		{claude.Runtime, `{"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"permissionMode":"acceptEdits"}`, runtimes.Entry{Mode: "acceptEdits"}},
		{claude.Runtime, `{"isSidechain":true,"type":"user","message":{"role":"user","content":"go on"},"permissionMode":"acceptEdits"}`, runtimes.Entry{}},
		{claude.Runtime, `{"type":"permission-mode","permissionMode":"default"}`, runtimes.Entry{}},
		{claude.Runtime, `{"type":"assistant","message":{"role":"assistant","model":"claude-haiku-5-5","content":[]}}`, runtimes.Entry{Answered: "claude-haiku-5-5"}},
		{claude.Runtime, `{"type":"assistant","message":{"role":"assistant","model":"<synthetic>","content":[]}}`, runtimes.Entry{}},
		{claude.Runtime, `{"isSidechain":true,"type":"assistant","message":{"role":"assistant","model":"claude-haiku-5-5","content":[]}}`, runtimes.Entry{}},
		{claude.Runtime, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"<local-command-stdout>Set model to `Haiku 5.5` and saved as your default for new sessions</local-command-stdout>\"}}", runtimes.Entry{Switched: true}},
		{claude.Runtime, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"<local-command-stdout>Set model to `Opus 5.5 (1M context)`</local-command-stdout>\"}}", runtimes.Entry{Switched: true, Suffix: "[1m]"}},
		{claude.Runtime, `{"type":"user","message":{"role":"user","content":"<local-command-stdout>Model 'nonsense' not found</local-command-stdout>"}}`, runtimes.Entry{}},
		{codex.Runtime, context("on-request", "read-only", ""), runtimes.Entry{Model: "gpt-5.5", Mode: "read-only"}},
		{codex.Runtime, context("on-request", "workspace-write", ""), runtimes.Entry{Model: "gpt-5.5", Mode: "workspace-write"}},
		{codex.Runtime, context("never", "workspace-write", ""), runtimes.Entry{Model: "gpt-5.5", Mode: "never"}},
		{codex.Runtime, context("never", "danger-full-access", ""), runtimes.Entry{Model: "gpt-5.5", Mode: "danger-full-access"}},
		{codex.Runtime, context("untrusted", "workspace-write", ""), runtimes.Entry{Model: "gpt-5.5"}},
		{codex.Runtime, context("on-request", "workspace-write", `,"approvals_reviewer":"guardian"`), runtimes.Entry{Model: "gpt-5.5"}},
		{codex.Runtime, `{"type":"session_meta","payload":{"model":"gpt-5.5"}}`, runtimes.Entry{}},
		{omp.Runtime, `{"type":"model_change","id":"1","model":"fake/fake-1","resolvedModelIsFallback":false}`, runtimes.Entry{Model: "fake/fake-1"}},
		{omp.Runtime, `{"type":"model_change","id":"1","model":"fake/fake-1","role":"temporary"}`, runtimes.Entry{Model: "fake/fake-1"}},
		{omp.Runtime, `{"type":"model_change","id":"1","model":"fake/fake-1","role":"fallback"}`, runtimes.Entry{}},
		{omp.Runtime, `{"type":"model_change","id":"1","model":"fake/fake-1","resolvedModelIsFallback":true}`, runtimes.Entry{}},
		{gemini.Runtime, `{"id":"a","type":"gemini","content":"x","model":"gemini-2.5-pro"}`, runtimes.Entry{}},
	} {
		e, err := tt.rt.ParseEntry([]byte(tt.line))
		got := runtimes.Entry{Model: e.Model, Mode: e.Mode, Switched: e.Switched, Suffix: e.Suffix, Answered: e.Answered}
		if err != nil || !equalChoices(got, tt.want) {
			t.Errorf("%s: %s\n%+v, %v", tt.rt.Name, tt.line, got, err)
		}
	}
}

func equalChoices(a, b runtimes.Entry) bool {
	return a.Model == b.Model && a.Mode == b.Mode && a.Switched == b.Switched && a.Suffix == b.Suffix && a.Answered == b.Answered
}
