//go:build e2e

package stories

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestAccountOfAPersonGoesOn: a person started the session in a folder of its own, with a token of its own. Its successors have both
// in place of the daemon's, from generation to generation and when a session is opened again. The token is in files of launches alone.
func TestAccountOfAPersonGoesOn(t *testing.T) {
	t.Parallel()
	const token, address = "token-of-the-person-4711", "https://gateway.example"
	r := newRig(t)
	log := keepLog(r)
	theirs := r.cfg.Environ
	r.cfg.Environ = append(slices.Clone(theirs), "ANTHROPIC_API_KEY=the-daemon's", "ANTHROPIC_MODEL=the-daemon's", "CODEX_HOME=/the/daemon's")
	r.start()
	config := filepath.Join(filepath.Dir(r.root), "work-account")
	a, _ := startForeignAgentIn(r, tmuxtest.Server(t), config, "env -u ANTHROPIC_API_KEY -u ANTHROPIC_MODEL -u CODEX_HOME CLAUDE_CONFIG_DIR="+config+" ANTHROPIC_BASE_URL="+address+
		" ANTHROPIC_AUTH_TOKEN="+token+" LD_PRELOAD= NODE_OPTIONS=--no-warnings", "--permission-mode manual")
	r.assignPersona(a.ID, con)
	a = r.awaitAgent(a.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil && a.State == daemon.Idle })

	want := func(id int64) {
		t.Helper()
		env := launchFile(r, id).Env
		for _, v := range []string{"CLAUDE_CONFIG_DIR=" + config, "ANTHROPIC_BASE_URL=" + address, "ANTHROPIC_AUTH_TOKEN=" + token, "CODEX_HOME=/the/daemon's"} {
			if !slices.Contains(env, v) {
				t.Errorf("agent %d was launched without %s: %q", id, v, env)
			}
		}
		for _, v := range env {
			if strings.HasPrefix(v, "ANTHROPIC_API_KEY=") || strings.HasPrefix(v, "ANTHROPIC_MODEL=") || strings.HasPrefix(v, "NODE_OPTIONS=") {
				t.Errorf("agent %d was launched with %s", id, v)
			}
		}
		now := r.getAgent(id)
		if now.Account == nil || now.Account.Variables["CLAUDE_CONFIG_DIR"] != config || !slices.Equal(now.Account.Secrets, []string{"ANTHROPIC_AUTH_TOKEN"}) || len(now.Account.Lost) > 0 {
			t.Errorf("agent %d has the account %+v", id, now.Account)
		}
		if now.TranscriptPath == nil || !strings.HasPrefix(*now.TranscriptPath, config) {
			t.Errorf("agent %d has its transcript in %v, want it in %s", id, now.TranscriptPath, config)
		}
	}
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	if len(h.Warnings) > 0 && strings.Contains(strings.Join(h.Warnings, " "), "account") {
		t.Errorf("warnings %q", h.Warnings)
	}
	second := awaitTakeover(r, h)
	want(second.ID)
	third := awaitTakeover(r, r.awaitPhase(r.requestHandoff(second.ID), daemon.Completed))
	want(third.ID)

	killAgent(r, third.ID)
	r.awaitState(third.ID, daemon.Ended)
	fourth := value(r.client.ResumeAgent(t.Context(), third.ID))(t)
	r.awaitAgent(fourth.ID, "registered", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	want(fourth.ID)

	// The token is in files of launches alone, which only their owner reads.
	wantOnlyInLaunches(r, token)
	if strings.Contains(log.String(), token) {
		t.Errorf("the log has the token: %s", log.String())
	}
	for _, id := range []int64{a.ID, second.ID, third.ID, fourth.ID} {
		if rows, err := json.Marshal([]any{r.getAgent(id), r.eventsWhere(func(event.Event) bool { return true })}); err != nil || bytes.Contains(rows, []byte(token)) {
			t.Errorf("agent %d has the token in its rows: %s, %v", id, rows, err)
		}
	}
	if said := askTmux(r, r.dir.TmuxSocket(), "show-environment", "-g") + askTmux(r, r.dir.TmuxSocket(), "list-panes", "-a", "-F", "#{pane_start_command}"); strings.Contains(said, token) {
		t.Errorf("tmux has the token: %s", said)
	}

	// Without its file, nobody knows the token when the process has gone. The next one is started without it, and that is said.
	killAgent(r, fourth.ID)
	r.awaitState(fourth.ID, daemon.Ended)
	must(t, os.Remove(filepath.Join(r.dir.Launch(fourth.ID), "account.json")))
	fifth := value(r.client.ResumeAgent(t.Context(), fourth.ID))(t)
	fifth = r.awaitAgent(fifth.ID, "registered", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	if fifth.Account == nil || !slices.Equal(fifth.Account.Lost, []string{"ANTHROPIC_AUTH_TOKEN"}) {
		t.Errorf("account %+v, want the token lost", fifth.Account)
	}
	if told := r.agentEvents(fifth.ID, "agent_account_lost"); len(told) != 1 || !told[0].Alert {
		t.Errorf("events %+v, want one alert", told)
	}
	if h = r.awaitPhase(r.requestHandoff(fifth.ID), daemon.Completed); !strings.Contains(strings.Join(h.Warnings, " "), "has no ANTHROPIC_AUTH_TOKEN") {
		t.Errorf("warnings %q, want one about the token", h.Warnings)
	}
	holds(t, "the context", string(value(os.ReadFile(*h.ContextPath))(t)), "has no ANTHROPIC_AUTH_TOKEN")
	wantHooksOfAccount(r, filepath.Join(config, "settings.json"))
}

// wantHooksOfAccount fails unless `hooks status` and `doctor`, in a shell with other settings, name a broken hook in the settings of an
// agent's account.
func wantHooksOfAccount(r *rig, settings string) {
	r.t.Helper()
	writeFile(r, settings, `{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}`)
	env := map[string]string{"HOME": r.work, "UNDERSTUDY_DATA": r.root}
	const broken = "hooks.Stop[0].hooks[0] has no type"
	if code, out, errs := runWith(r, env, "", "hooks", "status"); code != 0 || !strings.Contains(out, settings) || !strings.Contains(out, broken) ||
		!strings.Contains(out, filepath.Join(r.work, ".claude/settings.json")) {
		r.t.Errorf("hooks status: %d\n%s%s", code, out, errs)
	}
	if _, out, _ := runWith(r, env, "", "doctor"); !strings.Contains(out, broken) || !strings.Contains(out, "correct it in "+settings) {
		r.t.Errorf("doctor:\n%s", out)
	}
}

// wantOnlyInLaunches fails if a file of the data directory has the secret that is none of a launch, or that others may read.
func wantOnlyInLaunches(r *rig, secret string) {
	r.t.Helper()
	found := 0
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(r.root, "postgres")) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(secret)) {
			return err
		}
		found++
		info, err := d.Info()
		if err == nil && (info.Mode().Perm() != 0o600 || !strings.HasPrefix(path, filepath.Dir(r.dir.Launch(1))+"/")) {
			r.t.Errorf("%s has the secret, with mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil || found == 0 {
		r.t.Errorf("%d files have the secret: %v", found, err)
	}
}
