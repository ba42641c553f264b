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
func settingsOf(r *rig, agentID int64) string {
	r.t.Helper()
	argv := launchFile(r, agentID).Argv
	i := slices.Index(argv, "--settings")
	if i < 0 {
		r.t.Fatalf("agent %d launched by %q", agentID, argv)
	}
	return r.readFile(argv[i+1])
}

// TestSeveralHeirs: An agent hands over to a tester and to another developer, and stays. The document is asked for what both need. The tester is
// launched with its own skill and model and may read the developer's files. The command tells of each, and the agents' lines branch.
func TestSeveralHeirs(t *testing.T) {
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
		s := sit(r, false, "handoff", fmt.Sprint(a.ID), "--to", kit, "--to", con, "--permission-mode", "plan", "--keep", "--force", "--wait")
		s.wantExit(commands.ExitDone)
		h := r.latestHandoff(a.ID)
		if len(h.Heirs) != 2 || !h.Keep {
			t.Fatalf("handoff %+v\n%s", h, s.shown())
		}
		one, two := *h.Heirs[0].AgentID, *h.Heirs[1].AgentID
		s.awaitPrinted(fmt.Sprintf(`✓ heir 1 of 2 .* %s \(agent %d\) took the prompt`, kit, one), 1)
		s.awaitPrinted(fmt.Sprintf(`✓ heir 2 of 2 .* %s \(agent %d\) took the prompt`, con, two), 1)
		s.awaitPrinted(fmt.Sprintf(`agent %d handed over to agents %d, %d`, a.ID, one, two), 1)
		for _, id := range []int64{one, two} {
			r.wantTold(id, h.FilePath)
			if next := r.getAgent(id); next.Generation != 2 || *next.PreviousAgentID != a.ID {
				t.Errorf("heir %+v", next)
			}
		}
		if asked := r.readFile(strings.TrimSuffix(h.FilePath, ".md") + ".request.md"); !strings.Contains(asked, "## Coverage Config") || !strings.Contains(asked, "## Code Patterns") {
			t.Errorf("the agent is not asked for what a tester and a developer require:\n%s", asked)
		}
		for _, path := range []string{h.FilePath, *h.ContextPath} {
			if rule := "Read(/" + path + ")"; !strings.Contains(settingsOf(r, one), rule) {
				t.Errorf("the tester may not read %s without asking", path)
			}
		}
		tester := r.getAgent(one)
		if argv := strings.Join(launchFile(r, one).Argv, " "); !strings.Contains(argv, "--model opus") || !strings.Contains(argv, "--permission-mode plan") {
			t.Errorf("the tester is launched by %s", argv)
		}
		if said := launchText(r, tester); tester.Name != kit || !strings.Contains(said, "persona "+kit) || strings.Contains(said, "Sheds are blue") {
			t.Errorf("%s starts with:\n%s", tester.Name, said)
		}
		if kept := r.getAgent(a.ID); !kept.Active() {
			t.Error("the agent did not stay")
		}
		show := sit(r, false, "handoff", "show", fmt.Sprint(h.ID))
		show.awaitPrinted(`keep +the agent lives on`, 1)
		show.awaitPrinted(fmt.Sprintf(`heir +%s \(agent %d\), has its briefing, claude, opus, plan`, kit, one), 1)
		show.awaitPrinted(fmt.Sprintf(`(?m)2 +%d +%d +%s`, one, a.ID, kit), 1)
		show.awaitPrinted(fmt.Sprintf(`(?m)2 +%d +%d +%s`, two, a.ID, con), 1)

		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed) // it was kept, so it can be handed over again, and ends then
		r.awaitState(a.ID, daemon.Ended)
	})
}
