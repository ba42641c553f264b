//go:build e2e

package stories

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/tmux"
)

// touches is a model that runs a command when a prompt says "run: COMMAND".
func touches(next claudetest.Script) claudetest.Script {
	return func(req claudetest.Request) claudetest.Reply {
		for _, text := range req.NewTexts() {
			if _, command, ok := strings.Cut(text, "run: "); ok && strings.Contains(command, "touch") && !answered(req) {
				return claudetest.Bash(strings.TrimSpace(strings.Split(command, "\n")[0]), false)
			}
		}
		return next(req)
	}
}

// answersPermissions: Claude Code asks whether it may run commands. The answer comes from the seat, from the pane, from a
// rule or not at all, also while the daemon is away.
func answersPermissions(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(touches(claudetest.Says("Done.")))
	r.personSets(nil) // no status line that asks, too
	for _, story := range []struct {
		name string
		run  func(*testing.T, *claudeRig, daemon.Agent)
	}{
		{"answered from the seat", answersFromTheSeat},
		{"answered in the pane first", answersInThePane},
		{"denied with a sentence", deniesWithASentence},
		{"daemon away meanwhile", asksWithoutADaemon},
		{"allowed for the agent", allowsForTheAgent},
	} {
		t.Logf("story: %s", story.name)
		story.run(t, r, a)
	}
	return a.ID
}

// askToTouch has the agent ask for a file, and returns the permission as a reader of the API sees it.
func (r *claudeRig) askToTouch(agentID int64, name string) (p daemon.Permission, path string) {
	r.t.Helper()
	path = filepath.Join(r.work, name)
	r.sendMessage(agentID, "run: touch "+path)
	r.await("the permission for "+name, func() (bool, string) {
		list, err := r.client.Permissions(r.t.Context(), daemon.PermissionFilter{AgentID: agentID, Open: true})
		if err != nil || len(list) != 1 || list[0].State != daemon.PermissionOpen || !strings.Contains(list[0].Shown, path) {
			return false, fmt.Sprintf("%+v %v", list, err)
		}
		p = list[0]
		return true, ""
	})
	return p, path
}

func (r *claudeRig) awaitFile(path string) {
	r.t.Helper()
	r.await(path, func() (bool, string) {
		_, err := os.Stat(path)
		return err == nil, fmt.Sprint(err)
	})
}

func (r *claudeRig) awaitPermission(id int64, state daemon.PermissionState) daemon.Permission {
	r.t.Helper()
	var p daemon.Permission
	r.await(fmt.Sprintf("permission %d %s", id, state), func() (bool, string) {
		var err error
		p, err = r.client.Permission(r.t.Context(), id)
		return err == nil && p.State == state, fmt.Sprintf("%+v %v", p, err)
	})
	return p
}

func isCode(err error, code daemon.Code) bool {
	told, ok := errors.AsType[*daemon.Error](err)
	return ok && told.Code == code
}

func answersFromTheSeat(t *testing.T, r *claudeRig, a daemon.Agent) {
	p, path := r.askToTouch(a.ID, "seat")
	r.awaitShown(a.ID, "Do you want to proceed?") // the dialog stands in the pane all the same
	r.awaitState(a.ID, daemon.Waiting)
	if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Allow, Digest: p.Digest}); err != nil {
		t.Fatal(err)
	}
	r.awaitPermission(p.ID, daemon.PermissionGiven)
	r.awaitFile(path)
	r.awaitState(a.ID, daemon.Idle)
	if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Deny, Digest: p.Digest}); !isCode(err, daemon.CodePermissionAnswered) {
		t.Errorf("second answer: %v", err)
	}
}

func answersInThePane(t *testing.T, r *claudeRig, a daemon.Agent) {
	p, path := r.askToTouch(a.ID, "pane")
	r.awaitShown(a.ID, "Do you want to proceed?")
	r.awaitState(a.ID, daemon.Waiting)
	r.wantStays(3*time.Second, "the permission did not stay open", func() bool {
		now, err := r.client.Permission(t.Context(), p.ID)
		return err == nil && now.State == daemon.PermissionOpen && r.getAgent(a.ID).State == daemon.Waiting
	})
	r.personPresses(a.ID, tmux.Enter)
	r.awaitFile(path)
	r.awaitPermission(p.ID, daemon.PermissionPane)
	r.awaitState(a.ID, daemon.Idle)
	r.awaitNoHook()
}

// awaitNoHook waits until no process of a PermissionRequest is left.
func (r *claudeRig) awaitNoHook() {
	r.t.Helper()
	r.await("the end of the hook's process", func() (bool, string) {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return false, err.Error()
		}
		for _, file := range files {
			b, _ := os.ReadFile(file) // the process may have ended
			if line := strings.ReplaceAll(string(b), "\x00", " "); strings.Contains(line, "hook PermissionRequest") {
				if env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ")); strings.Contains(string(env), r.root) {
					return false, line
				}
			}
		}
		return true, ""
	})
}

func deniesWithASentence(t *testing.T, r *claudeRig, a daemon.Agent) {
	p, path := r.askToTouch(a.ID, "denied")
	if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Deny, Digest: "another", Sentence: "no"}); !isCode(err, daemon.CodePermissionNotShown) {
		t.Errorf("an answer to what was not shown: %v", err)
	}
	if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Deny, Digest: p.Digest, Sentence: "Leave that file alone."}); err != nil {
		t.Fatal(err)
	}
	r.await("the sentence at the model", func() (bool, string) {
		reqs := r.requests(a.ID)
		got := results(reqs[len(reqs)-1])
		return len(got) > 0 && strings.Contains(got[len(got)-1], "Leave that file alone."), fmt.Sprintf("%q", got)
	})
	r.awaitState(a.ID, daemon.Idle)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the command ran: %v", err)
	}
}

func asksWithoutADaemon(t *testing.T, r *claudeRig, a daemon.Agent) {
	p, path := r.askToTouch(a.ID, "away")
	r.halt()
	r.awaitShown(a.ID, "Do you want to proceed?")
	r.cfg.Settings.Handoff.AckTimeout = serve.DefaultSettings().Handoff.AckTimeout
	r.start()
	r.await("the hook is back", func() (bool, string) {
		_, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Allow, Digest: p.Digest})
		return err == nil, fmt.Sprint(err)
	})
	r.awaitFile(path)
	r.awaitState(a.ID, daemon.Idle)

	p, path = r.askToTouch(a.ID, "away-pane")
	r.awaitShown(a.ID, "away-pane")
	r.awaitShown(a.ID, "Do you want to proceed?")
	r.awaitState(a.ID, daemon.Waiting)
	r.halt()
	r.awaitEvery(tickOfScreens, path, func() (bool, string) { // the CLI drops a key right after the dialog has opened
		r.personPresses(a.ID, tmux.Enter)
		_, err := os.Stat(path)
		return err == nil, r.shown(a.ID)
	})
	r.start()
	r.awaitPermission(p.ID, daemon.PermissionPane)
	r.awaitState(a.ID, daemon.Idle)
}

func allowsForTheAgent(t *testing.T, r *claudeRig, a daemon.Agent) {
	p, path := r.askToTouch(a.ID, "again")
	if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.AllowAgent, Digest: p.Digest}); err != nil {
		t.Fatal(err)
	}
	r.awaitFile(path)
	r.awaitState(a.ID, daemon.Idle)
	must(t, os.Remove(path))
	r.talk(a.ID, "run: touch "+path)
	r.awaitFile(path)
	list, err := r.client.Permissions(t.Context(), daemon.PermissionFilter{AgentID: a.ID, Limit: 1})
	if err != nil || list[0].AnsweredBy != daemon.PermissionByRule || list[0].Sentence != "rule Bash(touch "+path+")" {
		t.Errorf("%+v %v", list, err)
	}
}
