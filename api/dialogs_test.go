package api

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

const trustScreen = "────────────────────\n Accessing workspace:\n\n /work\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm · Esc to cancel"

// TestDialogsAndKeysAreTheOperators: who may answer a dialog and who may type keys. Agents have no route to either, and no process of
// an agent may use the operator's.
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
	d := must(h.client.Dialog(ctx, a.ID))(t)
	if len(d.Choices) != 2 || d.Choices[1].Label != "Yes, I trust this folder" || !strings.Contains(d.Text, "/work") {
		t.Errorf("%+v", d)
	}
	yes := `{"dialog": "` + d.ID + `", "choice": 2}`
	for body, code := range map[string]string{`{"dialog": 1}`: "invalid_field", `{"what": 1}`: "unknown_field", `{"dialog": "` + d.ID + `", "choice": 3}`: "bad_choice"} {
		h.mainDoor().do("POST", at("agents", a.ID, "/dialog"), body).wants(t, body, 400, code)
	}
	h.mainDoor().do("POST", at("agents", a.ID, "/dialog"), `{"dialog": "x", "choice": 2}`).wants(t, "another dialog", 409, "dialog_changed")
	for _, call := range []string{"GET /dialog", "POST /dialog", "PUT /keys", "POST /keys", "DELETE /keys"} { // an agent has the hook socket only
		method, path, _ := strings.Cut(call, " ")
		h.hookDoor().with(launchHeader, "mine").do(method, at("agents", a.ID, path), yes).wants(t, call+" by the agent itself", 404, "not_found")
	}
	own := must(tmux.FindProcess(os.Getpid()))(t)
	agent := h.launched("this process", "s-2", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart = "here", own.PID, own.Start })
	h.mainDoor().do("POST", at("agents", a.ID, "/dialog"), yes).wants(t, "from an agent's process", 403, "dialog_by_agent")
	h.mainDoor().do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys from an agent's process", 403, "keys_forbidden")
	h.mainDoor().do("DELETE", at("agents", a.ID, "/keys"), `{"session": "x"}`).wants(t, "the end of keys from an agent's process", 403, "keys_forbidden")
	now := must(h.store.Agent(ctx, agent.ID))(t)
	now.PID, now.PIDStart = 0, 0
	h.commit(&daemon.Change{Agents: []*daemon.Agent{&now}})
	h.mainDoor().do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys over the machine's socket", 403, "keys_forbidden")
	h.tcpDoor().with("Authorization", "Bearer wrong").do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys without the token", 401, "token_required")
	raw := h.tcpDoor().do("PUT", at("agents", a.ID, "/keys"), "")
	if row := must(h.store.Agent(ctx, a.ID))(t); raw.status != 200 || row.Keys == nil || row.Keys.From != "token, from 127.0.0.1" || time.Since(row.Keys.Since) > time.Minute {
		t.Errorf("%d %s: %+v", raw.status, raw.body, row.Keys)
	}
	for body, code := range map[string]string{
		`{"keys": [{"text": "a", "key": "Enter"}]}`: "bad_keys", `{"keys": [{"key": "C-c"}]}`: "bad_keys", `{"keys": [{"key": "kill-server"}]}`: "bad_keys",
		`{"keys": [{"text": "a\nb"}]}`: "bad_keys", `{"keys": [{}]}`: "bad_keys", `{"keys": "Enter"}`: "invalid_field",
	} {
		h.tcpDoor().do("POST", at("agents", a.ID, "/keys"), body).wants(t, body, 400, code)
	}
	h.tcpDoor().do("POST", at("agents", a.ID, "/keys"), `{"session": "another", "seq": 1, "keys": [{"text": "a"}]}`).wants(t, "another session", 409, "keys_off")
	if typed := h.tmux.Inputs(a.Ref()); len(typed) > 0 {
		t.Errorf("typed %+v", typed)
	}
	var taken daemon.KeysTaken
	check(t, json.Unmarshal(raw.body, &taken))
	batch := `{"session": "` + taken.Session + `", "seq": 1, "keys": [{"text": "a"}, {"key": "Enter"}]}`
	for range 2 { // the page may send a batch again whose answer was lost
		if got := h.tcpDoor().do("POST", at("agents", a.ID, "/keys"), batch); got.status != 200 {
			t.Errorf("keys: %d %s", got.status, got.body)
		}
	}
	if typed := h.tmux.Inputs(a.Ref()); len(typed) != 2 {
		t.Errorf("typed %+v, want a text and a key, once", typed)
	}
	if got := h.tcpDoor().do("DELETE", at("agents", a.ID, "/keys"), `{"session": "`+taken.Session+`"}`); got.status != 200 {
		t.Errorf("the end of the keys: %d %s", got.status, got.body)
	}
	must(h.client.ReloadSettings(ctx))(t)
	h.tcpDoor().do("PUT", at("agents", a.ID, "/keys"), "").wants(t, "keys that the settings forbid", 403, "keys_forbidden")
	if got := h.mainDoor().do("POST", at("agents", a.ID, "/dialog"), yes); got.status != 200 || !strings.Contains(string(got.body), "Yes, I trust this folder") {
		t.Errorf("the answer to the dialog: %d %s", got.status, got.body)
	}
}
