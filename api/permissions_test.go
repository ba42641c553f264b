package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/permissions"
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
	if list := value(h.client.Permissions(ctx, daemon.PermissionFilter{Open: true, AgentID: a.ID}))(t); len(list) != 3 || list[0].ID != 3 {
		t.Errorf("open: %+v", list)
	}
	if list := value(h.client.Permissions(ctx, daemon.PermissionFilter{Before: 4, Limit: 1}))(t); len(list) != 1 || list[0].ID != 3 {
		t.Errorf("page: %+v", list)
	}
	if p := value(h.client.Permission(ctx, 2))(t); p.Whole || p.Digest != "d" {
		t.Errorf("%+v", p)
	}
	h.mainDoor().refuses("POST", "/api/permissions/1", 400, map[string]string{
		`{}`: "bad_verdict", `{"verdict": "maybe", "digest": "d"}`: "bad_verdict", `{"verdict": "allow", "digest": "d", "sentence": "no"}`: "bad_sentence",
		`{"verdict": 1}`: "invalid_field", `{"what": 1}`: "unknown_field",
	})
	const allow = `{"verdict": "allow", "digest": "d"}`
	h.mainDoor().do("POST", "/api/permissions/1", `{"verdict": "allow", "digest": "e"}`).wants(t, "another digest", 409, "permission_not_shown")
	h.mainDoor().do("POST", "/api/permissions/2", allow).wants(t, "not shown as a whole", 409, "permission_not_shown")
	h.mainDoor().do("POST", "/api/permissions/3", allow).wants(t, "without its hook", 503, "permission_not_held")
	h.mainDoor().do("POST", "/api/permissions/4", allow).wants(t, "answered in the pane", 409, "permission_answered")
	h.mainDoor().do("POST", "/api/permissions/9", allow).wants(t, "unknown", 404, "permission_not_found")
	h.mainDoor().do("GET", "/api/permissions?state=over", "").wants(t, "a state", 400, "invalid_parameter")
	leave := h.asAgent()
	h.mainDoor().do("POST", "/api/permissions/1", allow).wants(t, "from an agent's process", 403, "permission_by_agent")
	leave()
	got := value(h.client.AnswerPermission(ctx, 1, permissions.Answer{Verdict: daemon.AllowAgent, Digest: "d"}))(t)
	if got.State != daemon.PermissionAnswered || got.Verdict != daemon.AllowAgent || got.From == "" {
		t.Errorf("%+v", got)
	}
	equal(t, "rules", value(h.client.Agent(ctx, a.ID))(t).AllowRules, []string{"Bash(ls)"})
	h.mainDoor().do("POST", "/api/permissions/1", allow).wants(t, "a second answer", 409, "permission_answered")
}

const trustScreen = "────────────────────\n Accessing workspace:\n\n /work\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm · Esc to cancel"

// TestDialogsAndKeysAreTheOperators: who may answer a dialog and who may type keys. No process of an agent may use the
// operator's routes, and the hook socket has none for either.
func TestDialogsAndKeysAreTheOperators(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, func(s *Server) {
		s.Daemon.Reread = func() (engine.Settings, []engine.SettingChange, error) {
			set := *s.Daemon.Settings()
			set.NoKeys = true
			return set, nil, nil
		}
	}), t.Context()
	a := h.launched("mine", "s-1", func(a *daemon.Agent) { a.Host = "here" })
	h.mainDoor().do("GET", at("agents", a.ID, "/dialog"), "").wants(t, "an empty pane", 404, "no_dialog")
	h.tmux.SetScreen(a.Ref(), trustScreen)
	d := value(h.client.Dialog(ctx, a.ID))(t)
	if len(d.Choices) != 2 || d.Choices[1].Label != "Yes, I trust this folder" || !strings.Contains(d.Text, "/work") {
		t.Errorf("%+v", d)
	}
	yes := `{"dialog": "` + d.ID + `", "choice": 2}`
	h.mainDoor().refuses("POST", at("agents", a.ID, "/dialog"), 400, map[string]string{
		`{"dialog": 1}`: "invalid_field", `{"what": 1}`: "unknown_field", `{"dialog": "` + d.ID + `", "choice": 3}`: "bad_choice",
	})
	h.mainDoor().do("POST", at("agents", a.ID, "/dialog"), `{"dialog": "x", "choice": 2}`).wants(t, "another dialog", 409, "dialog_changed")
	leave := h.asAgent()
	h.mainDoor().do("POST", at("agents", a.ID, "/dialog"), yes).wants(t, "from an agent's process", 403, "dialog_by_agent")
	h.mainDoor().do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys from an agent's process", 403, "keys_forbidden")
	h.mainDoor().do("DELETE", at("agents", a.ID, "/keys"), `{"session": "x"}`).wants(t, "the end of keys from an agent's process", 403, "keys_forbidden")
	leave()
	h.mainDoor().do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys over the machine's socket", 403, "keys_forbidden")
	h.tcpDoor().with("Authorization", "Bearer wrong").do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys without the token", 401, "token_required")
	raw := h.tcpDoor().do("PUT", at("agents", a.ID, "/keys"), "")
	if row := value(h.store.Agent(ctx, a.ID))(t); raw.status != 200 || row.Keys == nil || row.Keys.From != "token, from 127.0.0.1" || time.Since(row.Keys.Since) > time.Minute {
		t.Errorf("%d %s: %+v", raw.status, raw.body, row.Keys)
	}
	h.tcpDoor().refuses("POST", at("agents", a.ID, "/keys"), 400, map[string]string{
		`{"keys": [{"text": "a", "key": "Enter"}]}`: "bad_keys", `{"keys": [{"key": "C-c"}]}`: "bad_keys", `{"keys": [{"key": "kill-server"}]}`: "bad_keys",
		`{"keys": [{"text": "a\nb"}]}`: "bad_keys", `{"keys": [{}]}`: "bad_keys", `{"keys": "Enter"}`: "invalid_field",
	})
	h.tcpDoor().do("POST", at("agents", a.ID, "/keys"), `{"session": "another", "seq": 1, "keys": [{"text": "a"}]}`).wants(t, "another session", 409, "keys_off")
	if typed := h.tmux.Inputs(a.Ref()); len(typed) > 0 {
		t.Errorf("typed %+v", typed)
	}
	var taken daemon.KeysTaken
	must(t, json.Unmarshal(raw.body, &taken))
	batch := `{"session": "` + taken.Session + `", "seq": 1, "keys": [{"text": "a"}, {"key": "Enter"}]}`
	for range 2 { // the page may send a batch again whose answer was lost
		h.tcpDoor().ok("POST", at("agents", a.ID, "/keys"), batch)
	}
	equal(t, "typed", len(h.tmux.Inputs(a.Ref())), 2)
	h.tcpDoor().ok("DELETE", at("agents", a.ID, "/keys"), `{"session": "`+taken.Session+`"}`)
	value(h.client.ReloadSettings(ctx))(t)
	h.tcpDoor().do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys that the settings forbid", 403, "keys_forbidden")
	h.mainDoor().ok("POST", at("agents", a.ID, "/dialog"), yes, "Yes, I trust this folder")
}
