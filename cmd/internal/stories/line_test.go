package stories

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// TestLineShowsAllGenerations: The API shows the line of generations from any of its handoffs. Each successor knows
// where the last three documents of its persona are.
func TestLineShowsAllGenerations(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		other, _, _ := r.handOver(r.startAgent("tester-kit-1").ID)
		a := r.startAgent(con)
		if text := r.launchText(a); strings.Contains(text, "handoffs/") {
			t.Errorf("first agent's skill names handoffs:\n%s", text)
		}
		var line []daemon.Handoff // the newest first
		for n := range int64(4) {
			if n == 2 { // A handoff that was never recorded belongs to the line, but has nothing to read.
				r.misbehave("no-document")
				line = append([]daemon.Handoff{r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)}, line...)
				r.misbehave("")
			}
			r.fillContext(a.ID, 100_000*(n+1))
			h, _, next := r.handOver(a.ID)
			r.awaitAgent(next.ID, "read", func(a daemon.Agent) bool { return a.ReadAt != nil })
			h = r.getHandoff(h.ID)
			line = append([]daemon.Handoff{h}, line...)
			if h.Generation != int(n)+1 || next.Generation != int(n)+2 {
				t.Errorf("handoff of generation %d, successor of %d, want %d and %d", h.Generation, next.Generation, n+1, n+2)
			}
			if c := h.ContextUse; c == nil || c.Tokens != 100_000*(n+1) || c.Limit == nil || c.Percent == nil || *c.Percent != float64(10*(n+1)) {
				t.Errorf("handoff %d: context %+v, want %d %%", h.ID, c, 10*(n+1))
			}
			r.wantLastDocuments(next.ID, line)
			a = next
		}
		var ids []int64
		for _, h := range line {
			ids = append(ids, h.ID)
		}
		for _, of := range []int{0, 2, len(line) - 1} {
			got, err := r.client.Line(t.Context(), line[of].ID)
			if err != nil || !reflect.DeepEqual(got, line) {
				t.Errorf("line of handoff %d (%v)\n got %+v\nwant %+v", line[of].ID, err, got, line)
			}
		}
		if got, err := r.client.PersonaHandoffs(t.Context(), con, allRows); err != nil || !reflect.DeepEqual(got, line) {
			t.Errorf("handoffs of %s (%v)\n got %+v\nwant %+v", con, err, got, line)
		}
		if got, err := r.client.Line(t.Context(), other.ID); err != nil || len(got) != 1 || got[0].ID != other.ID {
			t.Errorf("line of another persona: %+v (%v)", got, err)
		}
		shown := r.sit(false, "handoff", "show", fmt.Sprint(ids[1]))
		shown.awaitPrinted(`(?m)^   1 +\d+ .*\b10 %`, 1)
		shown.awaitPrinted(`(?m)^▸  3 +\d+ .*\b30 %`, 1)
		shown.awaitPrinted(`(?m)^   5 +\d+ +idle `, 1)
		r.sit(false, "handoff", "list", "--persona", con, "--json").awaitPrinted(`"generation": *4`, 1)
	})
}

// TestRenamedPersona: the session of an agent goes on under the new name of its persona, and a new agent is pointed to the documents
// that the persona had under the old one.
func TestRenamedPersona(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		h, _, old := r.handOver(r.startWorked(con).ID)
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
			if text := r.launchText(a); !strings.HasPrefix(text, "# You play the persona "+to+"\n") || !strings.Contains(text, "\n- "+document+"\n") {
				t.Errorf("agent %d is launched with\n%s", a.ID, text)
			}
		}
	})
}

// launchText is the skill with which the agent is launched.
func (r *rig) launchText(a daemon.Agent) string {
	r.t.Helper()
	argv := r.launchFile(a.ID).Argv
	i := slices.Index(argv, "--append-system-prompt-file")
	if i < 0 {
		r.t.Fatalf("agent %d launched by %q", a.ID, argv)
	}
	return r.readFile(argv[i+1])
}

// wantLastDocuments fails unless the agent's system prompt ends with the paths of the newest three recorded
// documents. The handoffs come newest first.
func (r *rig) wantLastDocuments(agentID int64, handoffs []daemon.Handoff) {
	r.t.Helper()
	var last []string
	for _, h := range handoffs {
		if h.RecordedAt != nil {
			last = append(last, h.FilePath)
		}
	}
	last = last[:min(3, len(last))]
	text := strings.TrimSpace(r.systemPrompt(agentID))
	if want := "\n\n- " + strings.Join(last, "\n- "); !strings.HasSuffix(text, want) || strings.Count(text, "/handoffs/") != len(last) {
		r.t.Errorf("agent %d: system prompt does not end with %q:\n%s", agentID, want, text)
	}
}
