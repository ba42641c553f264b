package commands

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
)

// answers is a daemon that gives one answer to each call, by its method and path.
type answers map[string]any

func (s answers) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	answer, known := s[req.Method+" "+req.URL.Path]
	if told, ok := answer.(*daemon.Error); ok {
		w.WriteHeader(http.StatusConflict)
		answer = map[string]any{"error": told.Message, "code": told.Code}
	} else if !known {
		w.WriteHeader(http.StatusNotFound)
	}
	err := json.NewEncoder(w).Encode(answer)
	return w.Result(), err
}

// TestCommandsOfASeat: what the commands about one agent print of the daemon's answers, and what a person is led to next.
func TestCommandsOfASeat(t *testing.T) {
	t.Parallel()
	north := daemon.Agent{ID: 7, Name: "con", Host: "north", State: daemon.Idle, AgentPane: daemon.AgentPane{Pane: new("%1")}}
	ended := north
	ended.EndedAt, ended.State = new(north.CreatedAt), daemon.Ended
	verdict := daemon.NotSubmitted
	texts := []daemon.Delivery{
		{ID: 2, AgentID: 7, Kind: daemon.KindMessage, State: daemon.DeliveryQueued, Text: "mend the roof"},
		{ID: 1, AgentID: 7, Kind: daemon.KindMessage, State: daemon.DeliveryDone, Verdict: &verdict, Evidence: "cancelled by the operator", Text: "mend the fence"},
	}
	asks := sight.Dialog{AgentID: 7, ID: "d", Name: "trust", Text: "Accessing workspace:", Choices: []sight.DialogChoice{{Number: 1, Label: "No, exit", Selected: true}, {Number: 2, Label: "Yes"}}}
	for name, c := range map[string]struct {
		agent  daemon.Agent
		answer answers
		args   []string
		code   int
		said   string
	}{
		"an agent of another host": {north, answers{"GET /api/agents/7/screen": daemon.Errorf(daemon.KindConflict, daemon.CodeOtherHost, "x")},
			[]string{"attach", "7"}, ExitFailed, "agent 7 is on host north: run `understudy agent attach 7` there"},
		"an agent that has ended": {ended, nil, []string{"attach", "7"}, ExitFailed, "agent 7 has ended: open its session again with `understudy agent resume 7`"},
		"messages":                {north, answers{"GET /api/agents/7/messages": texts}, []string{"messages", "7"}, ExitDone, "1 text queued: `understudy agent messages 7 --cancel ID` cancels one"},
		"the verdict of a message": {north, answers{"GET /api/agents/7/messages": texts}, []string{"messages", "7"}, ExitDone,
			"not submitted (cancelled by the operator)  mend the fence"},
		"a message is cancelled": {north, answers{"DELETE /api/agents/7/messages": texts[:1]}, []string{"messages", "7", "--cancel", "2"}, ExitDone, "delivery 2 to agent 7 is cancelled: mend the roof"},
		"nothing is cancelled":   {north, answers{"DELETE /api/agents/7/messages": []daemon.Delivery{}}, []string{"messages", "7", "--cancel", "all"}, ExitDone, "nothing is queued for agent 7"},
		"a dialog": {north, answers{"GET /api/agents/7/dialog": asks}, []string{"dialog", "7"}, ExitDone,
			"› 1. No, exit\n  2. Yes\n\ntake one: `understudy agent dialog 7 --choose N`"},
		"a choice that was taken": {north, answers{"GET /api/agents/7/dialog": asks, "POST /api/agents/7/dialog": daemon.DialogAnswer{State: daemon.DialogGone, Choice: 2, Label: "Yes"}},
			[]string{"dialog", "7", "--choose", "2"}, ExitDone, "agent 7, choice 2, ‹Yes›"},
		"a choice that was not taken": {north, answers{"POST /api/agents/7/dialog": daemon.DialogAnswer{State: daemon.DialogNotPressed, Note: "the dialog has changed"}},
			[]string{"dialog", "7", "--choose", "2", "--dialog", "d"}, ExitFailed, "the dialog of agent 7 is not answered: the dialog has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := answers{"GET /api/agents/7": c.agent}
			maps.Copy(served, c.answer)
			var out bytes.Buffer
			a := &cli.App{Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
				Connect: func(string) *api.Client { return api.NewClientOver(served) }}
			if code := RunIn(t.Context(), a, append([]string{"agent"}, c.args...)); code != c.code || !strings.Contains(out.String(), c.said) {
				t.Errorf("exit code %d, want %d:\n%s\nwant %q", code, c.code, &out, c.said)
			}
		})
	}
}
