package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/tmux"
)

// askToDeploy has an agent ask for the permission to deploy.
func askToDeploy(r *rig, agentID int64) daemon.Permission {
	r.t.Helper()
	r.sendMessage(agentID, "deploy it @ask")
	var asked daemon.Permission
	r.await("a permission", func() (bool, string) {
		list, err := r.client.Permissions(r.t.Context(), daemon.PermissionFilter{AgentID: agentID, Open: true})
		if err == nil && len(list) == 1 {
			asked = list[0]
		}
		return asked.ID != 0 && r.getAgent(agentID).State == daemon.Waiting, fmt.Sprintf("%+v %v", list, err)
	})
	r.awaitShown(agentID, "Do you want to proceed?")
	return asked
}

// awaitOutcome waits until a permission is in a state.
func awaitOutcome(r *rig, id int64, state daemon.PermissionState) daemon.Permission {
	r.t.Helper()
	var p daemon.Permission
	r.await(fmt.Sprintf("permission %d %s", id, state), func() (bool, string) {
		var err error
		p, err = r.client.Permission(r.t.Context(), id)
		return err == nil && p.State == state, fmt.Sprintf("%+v %v", p, err)
	})
	return p
}

// TestPermissionIsAnsweredOnce: the first answer counts, wherever it comes from. The second is told who was first, and an
// answer about something that was not shown is refused.
func TestPermissionIsAnsweredOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Permissions.Hold = 10 * time.Minute
		r.start()
		a := r.startAgent(con)
		p := askToDeploy(r, a.ID)
		if p.Shown != "make deploy" || p.Description != "Deploy" || p.Rule != "Bash(make deploy)" || !p.Whole || p.HeldUntil == nil {
			t.Errorf("%+v", p)
		}
		needs, err := r.client.Attention(t.Context())
		if err != nil || len(needs) != 1 || len(needs[0].Permissions) != 1 || needs[0].Permissions[0].ID != p.ID || !strings.Contains(needs[0].Next, "understudy permission allow") {
			t.Errorf("%+v %v", needs, err)
		}
		answer := func(v daemon.PermissionVerdict, digest, sentence string) error {
			_, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: v, Digest: digest, Sentence: sentence})
			return err
		}
		wantCode(t, answer(daemon.Allow, "", ""), daemon.CodePermissionNotShown)
		wantCode(t, answer("maybe", p.Digest, ""), daemon.CodeBadVerdict)
		wantCode(t, answer(daemon.Allow, p.Digest, "do it"), daemon.CodeBadSentence)
		if err := answer(daemon.Allow, p.Digest, ""); err != nil {
			t.Fatal(err)
		}
		err = answer(daemon.Deny, p.Digest, "")
		wantCode(t, err, daemon.CodePermissionAnswered)
		if err == nil || !strings.Contains(err.Error(), "allowed once (operator, ") {
			t.Errorf("the second answer was told %v", err)
		}
		got := awaitOutcome(r, p.ID, daemon.PermissionGiven)
		if got.From == "" || got.AnsweredAt == nil || got.Verdict != daemon.Allow {
			t.Errorf("%+v", got)
		}
		r.awaitState(a.ID, daemon.Idle)
		for _, e := range []string{"permission_asked", "permission_answered"} {
			if n := len(r.agentEvents(a.ID, e)); n != 1 {
				t.Errorf("%d events %s, want 1", n, e)
			}
		}

		p = askToDeploy(r, a.ID)
		r.personPresses(a.ID, tmux.Enter)
		awaitOutcome(r, p.ID, daemon.PermissionPane)
		wantCode(t, answer(daemon.Allow, p.Digest, ""), daemon.CodePermissionAnswered)
		r.awaitState(a.ID, daemon.Idle)
	})
}

// TestPermissionByRule: the operator's rules of the persona answer before people are asked, and the row says which rule it was.
// What was allowed for an agent is allowed for that agent alone.
func TestPermissionByRule(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Permissions.Hold = 10 * time.Minute
		r.start()
		a := r.startAgent(con)
		p := askToDeploy(r, a.ID)
		if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.AllowAgent, Digest: p.Digest}); err != nil {
			t.Fatal(err)
		}
		r.awaitState(a.ID, daemon.Idle)
		newest := func(agentID int64) daemon.Permission {
			list, err := r.client.Permissions(t.Context(), daemon.PermissionFilter{AgentID: agentID, Limit: 1})
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			return list[0]
		}
		turn := func(agentID int64) {
			stops := len(r.agentEvents(agentID, "agent_idle"))
			r.sendMessage(agentID, "deploy it @ask")
			r.await("the end of the turn", func() (bool, string) { return len(r.agentEvents(agentID, "agent_idle")) > stops, r.report() })
		}
		turn(a.ID)
		if got := newest(a.ID); got.ID == p.ID || got.AnsweredBy != daemon.PermissionByRule || got.Sentence != "rule Bash(make deploy)" {
			t.Errorf("%+v", got)
		}
		skill := filepath.Join(r.dir.Persona(con), "skill.md")
		writeFile(r, skill, strings.Replace(r.readFile(skill), "\ndescription:", "\npermissions: {deny: [\"Bash(make deploy*)\"]}\ndescription:", 1))
		waits := len(r.agentEvents(a.ID, "agent_waiting"))
		turn(a.ID)
		if got := newest(a.ID); got.Verdict != daemon.Deny || got.AnsweredBy != daemon.PermissionByRule || got.Sentence != "rule Bash(make deploy*)" {
			t.Errorf("%+v", got)
		}
		if n := len(r.agentEvents(a.ID, "agent_waiting")); n != waits {
			t.Error("a person was asked")
		}
	})
}

// TestPermissionOutlivesTheDaemon: a daemon that is replaced meanwhile holds the hook again. An answer that comes before the hook has found the
// new daemon waits for it.
func TestPermissionOutlivesTheDaemon(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Permissions.Hold = 10 * time.Minute
		r.start()
		a := r.startAgent(con)
		p := askToDeploy(r, a.ID)
		r.halt()
		r.start()
		if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Allow, Digest: p.Digest}); err != nil {
			t.Fatal(err)
		}
		awaitOutcome(r, p.ID, daemon.PermissionGiven)
		r.awaitState(a.ID, daemon.Idle)
	})
}

// lateRegistry returns an entry of the registry that says that a dialog is open for some time longer than it is.
type lateRegistry struct {
	mu      sync.Mutex
	by      time.Duration
	read    func(path string) ([]byte, error)
	waiting map[string][]byte
	since   map[string]time.Time
}

func (l *lateRegistry) entry(path string) ([]byte, error) {
	b, err := l.read(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
	case strings.Contains(string(b), `"status":"waiting"`):
		l.waiting[path] = b
		delete(l.since, path)
	case l.waiting[path] != nil:
		if l.since[path].IsZero() {
			l.since[path] = time.Now()
		}
		if time.Since(l.since[path]) < l.by {
			return l.waiting[path], nil
		}
		delete(l.waiting, path)
	}
	return b, err
}

// TestAnswerIsNotAskedAgain: the registry says for a moment longer that a dialog is open, after its permission was answered. The
// agent is at work all the same, and the operator is notified once.
func TestAnswerIsNotAskedAgain(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Permissions.Hold = 10 * time.Minute
		r.around(func(cfg *engine.Config) {
			late := &lateRegistry{by: 900 * time.Millisecond, read: os.ReadFile, waiting: map[string][]byte{}, since: map[string]time.Time{}}
			cfg.Registry = late.entry
		})
		r.start()
		r.misbehave("think=5s")
		a := r.startAgent(con)
		p := askToDeploy(r, a.ID)
		r.await("a registry that has said for long that the agent waits", func() (bool, string) { return time.Since(p.AskedAt) > 3*time.Second, "" })
		if _, err := r.client.AnswerPermission(t.Context(), p.ID, permissions.Answer{Verdict: daemon.Allow, Digest: p.Digest}); err != nil {
			t.Fatal(err)
		}
		r.awaitState(a.ID, daemon.Idle)
		if waits := r.agentEvents(a.ID, "agent_waiting"); len(waits) != 1 {
			t.Errorf("it is told %d times that the agent waits: %v", len(waits), waits)
		}
	})
}
