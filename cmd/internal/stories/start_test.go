package stories

import (
	"slices"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// TestImpossibleStartIsRefused: There is neither a row nor a pane.
func TestImpossibleStartIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		for _, name := range []string{"7", "self", "list", "show", "--help", " x", "x "} {
			_, err := r.client.CreateAgent(t.Context(), agents.NewAgent{Persona: "developer-con-1", Cwd: r.work, Name: name})
			wantCode(t, err, "bad_name")
		}
		for _, size := range [][2]int{{79, 40}, {501, 40}, {100, 23}, {100, 201}, {-1, 0}, {0, -1}} {
			_, err := r.client.CreateAgent(t.Context(), agents.NewAgent{Cwd: r.work, Columns: size[0], Rows: size[1]})
			wantCode(t, err, "bad_size")
		}
		a := r.startAgent("developer-con-1")
		_, err := r.client.ArchivePersona(t.Context(), "developer-con-1")
		wantCode(t, err, "persona_played")
		if got := r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle }); got.PersonaSlug() != "developer-con-1" {
			t.Errorf("agent %+v lost its persona", got)
		}
	})
}

// TestStartedAsChosen: the model, the mode and the arguments that a person chooses at the start are on the command line of the agent,
// of its successor and of the agent that opens its session again. Arguments that the launch depends on are refused.
func TestStartedAsChosen(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		for _, wrong := range []struct {
			change func(*agents.NewAgent)
			code   daemon.Code
		}{
			{func(in *agents.NewAgent) { in.PermissionMode = "yolo" }, "bad_permission_mode"},
			{func(in *agents.NewAgent) { in.Model = "-p" }, "bad_model"},
			{func(in *agents.NewAgent) { in.Args = []string{"--verbose", "--settings=/tmp/x"} }, "bad_args"},
			{func(in *agents.NewAgent) { in.Args = []string{"--resume", "x"} }, "bad_args"},
		} {
			in := agents.NewAgent{Persona: con, Cwd: r.work}
			wrong.change(&in)
			_, err := r.client.CreateAgent(t.Context(), in)
			wantCode(t, err, wrong.code)
		}
		a, err := r.client.CreateAgent(t.Context(), agents.NewAgent{
			Persona: con, Cwd: r.work, Model: "opus", PermissionMode: "plan", Args: []string{"--add-dir", "/tmp", "--verbose"},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := func(a daemon.Agent) {
			t.Helper()
			r.awaitState(a.ID, daemon.Idle)
			argv := launchFile(r, a.ID).Argv
			at := slices.Index(argv, "--add-dir")
			if at < 0 || !slices.Equal(argv[at:at+3], []string{"--add-dir", "/tmp", "--verbose"}) || at > slices.Index(argv, "--settings") {
				t.Errorf("agent %d was launched with %q, want the arguments before the launch's own", a.ID, argv)
			}
			for flag, value := range map[string]string{"--model": "opus", "--permission-mode": "plan"} {
				if at := slices.Index(argv, flag); at < 0 || argv[at+1] != value {
					t.Errorf("agent %d was launched with %q, want %s %s", a.ID, argv, flag, value)
				}
			}
		}
		want(a)
		doTurn(r, a.ID, "Find out why the tests are slow")
		_, _, next := handOver(r, a.ID)
		want(next)
		r.stopAgent(next.ID, false)
		r.awaitState(next.ID, daemon.Ended)
		again, err := r.client.ResumeAgent(t.Context(), next.ID)
		if err != nil {
			t.Fatal(err)
		}
		want(again)
	})
}
