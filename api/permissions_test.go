package api

import (
	"os"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/tmux"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a := h.launched("mine", "s-1", nil)
	asked := func(id int64, change func(*daemon.Permission)) {
		p := &daemon.Permission{
			ID: id, AgentID: a.ID, Host: "another", Tool: "Bash", Subject: "ls", Shown: "ls", Whole: true, Digest: "d", Rule: "Bash(ls)",
			State: daemon.PermissionOpen, AskedAt: time.Now().UTC(),
		}
		if change != nil {
			change(p)
		}
		h.commit(&daemon.Change{NewPermissions: []*daemon.Permission{p}})
	}
	asked(1, nil)
	asked(2, func(p *daemon.Permission) { p.Whole = false })
	asked(3, func(p *daemon.Permission) { p.Host = h.daemon.Host })
	asked(4, func(p *daemon.Permission) { p.State = daemon.PermissionPane })
	if list := must(h.client.Permissions(ctx, daemon.PermissionFilter{Open: true, AgentID: a.ID}))(t); len(list) != 3 || list[0].ID != 3 {
		t.Errorf("open: %+v", list)
	}
	if list := must(h.client.Permissions(ctx, daemon.PermissionFilter{Before: 4, Limit: 1}))(t); len(list) != 1 || list[0].ID != 3 {
		t.Errorf("page: %+v", list)
	}
	if p := must(h.client.Permission(ctx, 2))(t); p.Whole || p.Digest != "d" {
		t.Errorf("%+v", p)
	}
	for body, code := range map[string]string{
		`{}`: "bad_verdict", `{"verdict": "maybe", "digest": "d"}`: "bad_verdict", `{"verdict": "allow", "digest": "d", "sentence": "no"}`: "bad_sentence",
		`{"verdict": 1}`: "invalid_field", `{"what": 1}`: "unknown_field",
	} {
		h.mainDoor().do("POST", "/api/permissions/1", body).wants(t, body, 400, code)
	}
	const allow = `{"verdict": "allow", "digest": "d"}`
	h.mainDoor().do("POST", "/api/permissions/1", `{"verdict": "allow", "digest": "e"}`).wants(t, "another digest", 409, "permission_not_shown")
	h.mainDoor().do("POST", "/api/permissions/2", allow).wants(t, "not shown as a whole", 409, "permission_not_shown")
	h.mainDoor().do("POST", "/api/permissions/3", allow).wants(t, "without its hook", 503, "permission_not_held")
	h.mainDoor().do("POST", "/api/permissions/4", allow).wants(t, "answered in the pane", 409, "permission_answered")
	h.mainDoor().do("POST", "/api/permissions/9", allow).wants(t, "unknown", 404, "permission_not_found")
	h.mainDoor().do("GET", "/api/permissions?state=over", "").wants(t, "a state", 400, "invalid_parameter")
	for _, method := range []string{"GET", "POST"} { // an agent has the hook socket only
		h.hookDoor().with(launchHeader, "mine").do(method, "/api/permissions/1", allow).wants(t, "by the agent itself", 404, "not_found")
	}
	own := must(tmux.FindProcess(os.Getpid()))(t)
	agent := h.launched("this process", "s-2", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart = "here", own.PID, own.Start })
	h.mainDoor().do("POST", "/api/permissions/1", allow).wants(t, "from an agent's process", 403, "permission_by_agent")
	now := must(h.store.Agent(ctx, agent.ID))(t)
	now.PID, now.PIDStart = 0, 0
	h.commit(&daemon.Change{Agents: []*daemon.Agent{&now}})
	got := must(h.client.AnswerPermission(ctx, 1, permissions.Answer{Verdict: daemon.AllowAgent, Digest: "d"}))(t)
	if got.State != daemon.PermissionAnswered || got.Verdict != daemon.AllowAgent || got.From == "" {
		t.Errorf("%+v", got)
	}
	if rules := must(h.client.Agent(ctx, a.ID))(t).AllowRules; len(rules) != 1 || rules[0] != "Bash(ls)" {
		t.Errorf("rules %q", rules)
	}
	h.mainDoor().do("POST", "/api/permissions/1", allow).wants(t, "a second answer", 409, "permission_answered")
}
