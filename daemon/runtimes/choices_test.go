package runtimes

import (
	"slices"
	"testing"
)

func TestMayCarry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rt                    *Runtime
		mode, launched, began string
		want                  bool
	}{
		{claude, "plan", "", "default", true},
		{claude, "default", "", "auto", true},
		{claude, "acceptEdits", "", "auto", false}, // nobody knows what the user's settings allow
		{claude, "acceptEdits", "auto", "auto", true},
		{claude, "acceptEdits", "auto", "default", false},
		{claude, "bypassPermissions", "acceptEdits", "bypassPermissions", false}, // the transcript alone proves nothing
		{claude, "bypassPermissions", "bypassPermissions", "bypassPermissions", true},
		{claude, "manual", "dontAsk", "dontAsk", false},
		{claude, "newest", "auto", "auto", false},
		{claude, "plan", "newest", "auto", false},
		{claude, "plan", "auto", "", false},
		{claude, "", "auto", "auto", false},
		{codex, "read-only", "", "workspace-write", true},
		{codex, "danger-full-access", "", "workspace-write", false},
		{codex, "never", "edits", "workspace-write", false},
		{opencode, "plan", "ask", "build", false},
	} {
		if got := tt.rt.MayCarry(tt.mode, tt.launched, tt.began); got != tt.want {
			t.Errorf("%s: %q of an agent launched with %q that began in %q: %v", tt.rt.Name, tt.mode, tt.launched, tt.began, got)
		}
	}
}

func TestNarrowMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from *Runtime
		mode string
		to   *Runtime
		want string
	}{
		{claude, "plan", codex, "ask"},
		{claude, "plan", gemini, "plan"},
		{claude, "manual", omp, "ask"},
		{claude, "dontAsk", opencode, "ask"},
		{claude, "acceptEdits", codex, ""},
		{claude, "bypassPermissions", codex, ""},
		{claude, "", codex, ""},
		{claude, "newest", codex, ""},
		{codex, "read-only", claude, "default"},
		{gemini, "plan", claude, "plan"},
		{codex, "edits", claude, ""},
		{claude, "plan", generic(), ""},
	} {
		if got := tt.to.NarrowMode(tt.from, tt.mode); got != tt.want {
			t.Errorf("%s's %q on %s: %q, want %q", tt.from.Name, tt.mode, tt.to.Name, got, tt.want)
		}
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
			if rt.Widths[mode] == 0 && !(rt == opencode && slices.Contains(opencodeAgents, mode)) {
				t.Errorf("%s: the mode %q has no width", rt.Name, mode)
			}
		}
		if len(rt.Modes) == 0 || rt.Widths[""] == 0 {
			t.Errorf("%s: modes %q, width without one %d", rt.Name, rt.Modes, rt.Widths[""])
		}
	}
}

func launchSpec(rt *Runtime, mode string) Spec {
	return Spec{
		AgentID: 1, SessionID: "0a273dc6-ef5e-4e72-92d8-ad9bb55f6f1a", Command: []string{rt.Name}, Dir: "/d", Mode: mode,
		Server: Server{Port: 1, Password: "x"}, User: UserHome{Path: "/d"},
	}
}

func TestOptionMode(t *testing.T) {
	t.Parallel()
	for want, options := range map[string][]string{
		"":                  {"--model", "opus"},
		"plan":              {"--permission-mode", "auto", "--permission-mode=plan"},
		"bypassPermissions": {"--permission-mode", "plan", "--dangerously-skip-permissions"},
	} {
		if got := OptionMode(options); got != want {
			t.Errorf("%q: %q, want %q", options, got, want)
		}
	}
}

// The lines are as the CLIs of the tested versions wrote them, without the fields that nobody reads.
func TestEntriesTellModelAndMode(t *testing.T) {
	t.Parallel()
	context := func(approval, sandbox, more string) string {
		return `{"type":"turn_context","payload":{"turn_id":"1","approval_policy":"` + approval + `","approvals_reviewer":"user"` + more + `,"model":"gpt-5.5","sandbox_policy":{"type":"` + sandbox + `"}}}`
	}
	for _, tt := range []struct {
		rt   *Runtime
		line string
		want Entry // without other fields
	}{
		{claude, `{"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"permissionMode":"acceptEdits"}`, Entry{Mode: "acceptEdits"}},
		{claude, `{"isSidechain":true,"type":"user","message":{"role":"user","content":"go on"},"permissionMode":"acceptEdits"}`, Entry{}},
		{claude, `{"type":"permission-mode","permissionMode":"default"}`, Entry{}},
		{claude, `{"type":"assistant","message":{"role":"assistant","model":"claude-haiku-5-5","content":[]}}`, Entry{Answered: "claude-haiku-5-5"}},
		{claude, `{"type":"assistant","message":{"role":"assistant","model":"<synthetic>","content":[]}}`, Entry{}},
		{claude, `{"isSidechain":true,"type":"assistant","message":{"role":"assistant","model":"claude-haiku-5-5","content":[]}}`, Entry{}},
		{claude, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"<local-command-stdout>Set model to `Haiku 5.5` and saved as your default for new sessions</local-command-stdout>\"}}", Entry{Switched: true}},
		{claude, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"<local-command-stdout>Set model to `Opus 5.5 (1M context)`</local-command-stdout>\"}}", Entry{Switched: true, Suffix: "[1m]"}},
		{claude, `{"type":"user","message":{"role":"user","content":"<local-command-stdout>Model 'nonsense' not found</local-command-stdout>"}}`, Entry{}},
		{codex, context("on-request", "read-only", ""), Entry{Model: "gpt-5.5", Mode: "read-only"}},
		{codex, context("on-request", "workspace-write", ""), Entry{Model: "gpt-5.5", Mode: "workspace-write"}},
		{codex, context("never", "workspace-write", ""), Entry{Model: "gpt-5.5", Mode: "never"}},
		{codex, context("never", "danger-full-access", ""), Entry{Model: "gpt-5.5", Mode: "danger-full-access"}},
		{codex, context("untrusted", "workspace-write", ""), Entry{Model: "gpt-5.5"}},
		{codex, context("on-request", "workspace-write", `,"approvals_reviewer":"guardian"`), Entry{Model: "gpt-5.5"}},
		{codex, `{"type":"session_meta","payload":{"model":"gpt-5.5"}}`, Entry{}},
		{omp, `{"type":"model_change","id":"1","model":"fake/fake-1","resolvedModelIsFallback":false}`, Entry{Model: "fake/fake-1"}},
		{omp, `{"type":"model_change","id":"1","model":"fake/fake-1","role":"temporary"}`, Entry{Model: "fake/fake-1"}},
		{omp, `{"type":"model_change","id":"1","model":"fake/fake-1","role":"fallback"}`, Entry{}},
		{omp, `{"type":"model_change","id":"1","model":"fake/fake-1","resolvedModelIsFallback":true}`, Entry{}},
		{gemini, `{"id":"a","type":"gemini","content":"x","model":"gemini-2.5-pro"}`, Entry{}},
	} {
		e, err := tt.rt.ParseEntry([]byte(tt.line))
		got := Entry{Model: e.Model, Mode: e.Mode, Switched: e.Switched, Suffix: e.Suffix, Answered: e.Answered}
		if err != nil || !equalChoices(got, tt.want) {
			t.Errorf("%s: %s\n%+v, %v", tt.rt.Name, tt.line, got, err)
		}
	}
}

func equalChoices(a, b Entry) bool {
	return a.Model == b.Model && a.Mode == b.Mode && a.Switched == b.Switched && a.Suffix == b.Suffix && a.Answered == b.Answered
}

// OpenCode's mirror names the model that a person has chosen for the answer.
func TestMirrorNamesTheChosenModel(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{
		`{"providerID":"fake","modelID":"fake-1"}`: "fake/fake-1", `{"modelID":"fake-1"}`: "", `"fake-1"`: "", ``: "",
	} {
		m := opencodeAt(100, OpencodeInfo{ID: "a", Role: "user", Choice: []byte(choice)}, says("do it"))
		e, err := opencode.ParseEntry(m.lines("s", true, false))
		if err != nil || e.Model != want || e.Role != "user" {
			t.Errorf("%s: %+v, %v", choice, e, err)
		}
	}
}
