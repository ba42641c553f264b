package stories

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// TestChoicesOfTheSessionArePassedOn: A successor begins with the model and the permission mode that a person has chosen in the
// session, unless the request names others. A mode that may be wider than that of the launch is not passed on, and the
// operator is told.
func TestChoicesOfTheSessionArePassedOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		choose := func(a *daemon.Agent, model, mode string) {
			path := *r.getAgent(a.ID).TranscriptPath
			r.appendLine(path, map[string]any{"type": "user", "message": map[string]any{"role": "user",
				"content": "<local-command-stdout>Set model to `" + model + "`</local-command-stdout>"}})
			r.appendLine(path, map[string]any{"type": "user", "permissionMode": mode, "message": map[string]any{"role": "user", "content": "go on"}})
			r.appendLine(path, map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "model": model, "content": []any{}}})
		}
		handOver := func(a *daemon.Agent, heirs ...daemon.Heir) (daemon.Handoff, daemon.Agent, []string) {
			in, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate, Force: true, Heirs: heirs})
			if err != nil {
				t.Fatal(err)
			}
			h := r.awaitPhase(in.HandoffID, daemon.Completed)
			next := r.awaitTakeover(h)
			return h, next, r.launchFile(next.ID).Argv
		}
		has := func(argv []string, flag, value string) bool {
			i := slices.Index(argv, flag)
			return i >= 0 && argv[i+1] == value
		}
		wide := func(h daemon.Handoff) bool {
			return slices.ContainsFunc(h.Warnings, func(w string) bool { return strings.Contains(w, "--permission-mode bypassPermissions") })
		}

		choose(&a, "claude-haiku-5-5", "plan")
		h, next, argv := handOver(&a)
		if !has(argv, "--model", "claude-haiku-5-5") || !has(argv, "--permission-mode", "plan") || wide(h) {
			t.Errorf("the successor is launched by %q, warnings %q", argv, h.Warnings)
		}

		choose(&next, "claude-opus-5-5", "bypassPermissions")
		h, third, argv := handOver(&next)
		if !has(argv, "--model", "claude-opus-5-5") || !has(argv, "--permission-mode", "plan") || !wide(h) {
			t.Errorf("the third generation is launched by %q, warnings %q", argv, h.Warnings)
		}

		choose(&third, "claude-haiku-5-5", "plan")
		_, _, argv = handOver(&third, daemon.Heir{Model: "sonnet", PermissionMode: "acceptEdits"})
		if !has(argv, "--model", "sonnet") || !has(argv, "--permission-mode", "acceptEdits") {
			t.Errorf("the heir with other choices is launched by %q", argv)
		}
	})
}
