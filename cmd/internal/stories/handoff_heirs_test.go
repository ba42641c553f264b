package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

const kit = "tester-kit-1"

// settingsOf is what the agent's runtime was launched with as its settings.
func (r *rig) settingsOf(agentID int64) string {
	r.t.Helper()
	argv := r.launchFile(agentID).Argv
	i := slices.Index(argv, "--settings")
	if i < 0 {
		r.t.Fatalf("agent %d launched by %q", agentID, argv)
	}
	return r.readFile(argv[i+1])
}

// TestAnotherPersonaTakesOver: A developer hands over to a tester. The document is asked for what a tester needs, the
// tester is launched with its own skill and model, may read the developer's files, and learns the developer's document.
func TestAnotherPersonaTakesOver(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		skill := filepath.Join(r.dir.Persona(kit), "skill.md")
		text := strings.Replace(r.readFile(skill), "\n---\n", "\nmodel: opus\n---\n", 1)
		if err := data.WriteFile(skill, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir.Persona(con), "experience.md"), []byte("Sheds are blue.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a := r.startAgent(con)
		s := r.sit(false, "handoff", fmt.Sprint(a.ID), "--to", kit, "--permission-mode", "plan", "--force", "--wait")
		s.wantExit(commands.ExitDone)
		h, err := r.client.LatestHandoff(t.Context(), a.ID)
		if err != nil || h.Phase != daemon.Completed {
			t.Fatalf("handoff %+v: %v\n%s", h, err, s.shown())
		}
		next := r.awaitTakeover(h)
		if next.PersonaSlug() != kit || next.Name != kit || next.Generation != 2 || h.TargetAgent != kit || h.SourceAgent != con {
			t.Errorf("agent %+v takes over from %s as %s", next, h.SourceAgent, h.TargetAgent)
		}
		r.wantTold(a.ID, "## Coverage Config") // what a tester requires
		if c := r.contextOf(h); sectionOf(t, c.document, "Coverage Config") == "" || !h.ContextValidated {
			t.Errorf("validated %v; the document lacks what a tester requires:\n%s", h.ContextValidated, c.document)
		}
		argv := strings.Join(r.launchFile(next.ID).Argv, " ")
		for _, want := range []string{"--model opus", "--permission-mode plan"} {
			if !strings.Contains(argv, want) {
				t.Errorf("launched without %s: %s", want, argv)
			}
		}
		if said := r.launchText(next); !strings.Contains(said, "persona "+kit) || strings.Contains(said, "Sheds are blue") {
			t.Errorf("the tester starts with:\n%s", said)
		}
		for _, path := range []string{h.FilePath, *h.ContextPath} {
			if rule := "Read(/" + path + ")"; !strings.Contains(r.settingsOf(next.ID), rule) {
				t.Errorf("the tester may not read %s without asking", path)
			}
		}
		show := r.sit(false, "handoff", "show", fmt.Sprint(h.ID))
		show.awaitPrinted(fmt.Sprintf(`heir +%s \(agent %d\), has its briefing, claude, opus, plan`, kit, next.ID), 1)
		show.awaitPrinted(fmt.Sprintf(`(?m)2 +%d +%d +%s`, next.ID, a.ID, kit), 1) // the line shows where it changed hands
	})
}

// TestSeveralHeirs: An agent hands over to a tester and to another developer, and stays. Both get the same document; the
// command tells of each. The agents' lines branch.
func TestSeveralHeirs(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		s := r.sit(false, "handoff", fmt.Sprint(a.ID), "--to", kit, "--to", con, "--keep", "--force", "--wait")
		s.wantExit(commands.ExitDone)
		h, err := r.client.LatestHandoff(t.Context(), a.ID)
		if err != nil || len(h.Heirs) != 2 || !h.Keep {
			t.Fatalf("handoff %+v: %v\n%s", h, err, s.shown())
		}
		one, two := *h.Heirs[0].AgentID, *h.Heirs[1].AgentID
		s.awaitPrinted(fmt.Sprintf(`✓ heir 1 of 2 .* %s \(agent %d\) took the prompt`, kit, one), 1)
		s.awaitPrinted(fmt.Sprintf(`✓ heir 2 of 2 .* %s \(agent %d\) took the prompt`, con, two), 1)
		s.awaitPrinted(fmt.Sprintf(`agent %d handed over to agents %d, %d`, a.ID, one, two), 1)
		for _, id := range []int64{one, two} {
			r.wantTold(id, h.FilePath)
			if next, err := r.client.Agent(t.Context(), id); err != nil || next.Generation != 2 || *next.PreviousAgentID != a.ID {
				t.Errorf("heir %+v: %v", next, err)
			}
		}
		if kept, err := r.client.Agent(t.Context(), a.ID); err != nil || !kept.Active() {
			t.Errorf("the agent did not stay: %+v %v", kept, err)
		}
		show := r.sit(false, "handoff", "show", fmt.Sprint(h.ID))
		show.awaitPrinted(`keep +the agent lives on`, 1)
		show.awaitPrinted(fmt.Sprintf(`(?m)2 +%d +%d +%s`, one, a.ID, kit), 1)
		show.awaitPrinted(fmt.Sprintf(`(?m)2 +%d +%d +%s`, two, a.ID, con), 1)

		// It was kept, so it can be handed over again, and ends then.
		again := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.awaitState(a.ID, daemon.Ended)
		if again.Keep || len(again.Heirs) != 1 || again.Heirs[0].AgentID == nil || *again.Heirs[0].AgentID != *again.SuccessorID {
			t.Errorf("the second handoff: %+v", again)
		}
	})
}
