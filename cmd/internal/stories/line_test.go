package stories

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// TestLineOfAPersona: the line of generations is shown, with how full each was. Each successor knows where the last three documents of its
// persona are; a handoff that was never recorded has nothing to read.
func TestLineOfAPersona(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		var documents []string // the newest first
		for n := range int64(4) {
			if n == 2 {
				r.misbehave("no-document")
				r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
				r.misbehave("")
			}
			fillContext(r, a.ID, 100_000*(n+1))
			h, _, next := handOver(r, a.ID)
			documents = append([]string{h.FilePath}, documents...)
			last := documents[:min(3, len(documents))]
			text := strings.TrimSpace(systemPrompt(r, next.ID))
			if want := "\n\n- " + strings.Join(last, "\n- "); !strings.HasSuffix(text, want) || strings.Count(text, "/handoffs/") != len(last) {
				t.Errorf("the system prompt of agent %d does not end with %q:\n%s", next.ID, want, text)
			}
			a = next
		}
		shown := sit(r, false, "handoff", "show", "4")
		shown.awaitPrinted(`(?m)^   1 +\d+ .*\b10 %`, 1)
		shown.awaitPrinted(`(?m)^▸  3 +\d+ .*\b30 %`, 1)
		shown.awaitPrinted(`(?m)^   5 +\d+ +idle `, 1)
		sit(r, false, "handoff", "list", "--persona", con, "--json").awaitPrinted(`"generation": *4`, 1)
	})
}

// TestRenamedPersona: the session of an agent goes on under the new name of its persona, and a new agent is pointed to the documents
// that the persona had under the old one.
func TestRenamedPersona(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		h, _, old := handOver(r, startWorked(r, con).ID)
		const to = "developer-connie-1"
		if _, err := r.client.RenamePersona(t.Context(), con, to); err == nil {
			t.Fatal("a persona that is played was renamed")
		}
		r.stopAgent(old.ID, false)
		r.awaitState(old.ID, daemon.Ended)
		if _, err := r.client.RenamePersona(t.Context(), con, to); err != nil {
			t.Fatal(err)
		}
		document := filepath.Join(r.dir.Handoffs(to), filepath.Base(h.FilePath))
		r.readFile(document)
		resumed, err := r.client.ResumeAgent(t.Context(), old.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []daemon.Agent{r.awaitState(resumed.ID, daemon.Idle), r.startAgent(to)} {
			if a.PersonaSlug() != to {
				t.Errorf("agent %d plays %q", a.ID, a.PersonaSlug())
			}
			if text := launchText(r, a); !strings.HasPrefix(text, "# You play the persona "+to+"\n") || !strings.Contains(text, "\n- "+document+"\n") {
				t.Errorf("agent %d is launched with\n%s", a.ID, text)
			}
		}
	})
}

// launchText is the skill with which the agent is launched.
func launchText(r *rig, a daemon.Agent) string {
	r.t.Helper()
	argv := launchFile(r, a.ID).Argv
	i := slices.Index(argv, "--append-system-prompt-file")
	if i < 0 {
		r.t.Fatalf("agent %d launched by %q", a.ID, argv)
	}
	return r.readFile(argv[i+1])
}
