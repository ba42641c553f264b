package stories

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// TestClearedSessionIsPassedOn: a person clears the session and hands the agent over. The successor is given what was said
// before, under a heading of its own, and everybody is told where it is.
func TestClearedSessionIsPassedOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "the wall is blue")
		first := *r.getAgent(a.ID).TranscriptPath
		r.personTypes(a.ID, "/clear", tmux.Enter)
		r.await("another session", func() (bool, string) { return *r.getAgent(a.ID).TranscriptPath != first, first })
		h, c, next := r.handOver(a.ID)
		_, earlier, found := strings.Cut(c.text, "## "+data.EarlierSessions)
		if !found || !strings.Contains(earlier, "> the wall is blue") {
			t.Errorf("the context lacks what was said before /clear:\n%s", c.text)
		}
		r.wantWarned(h, c, filepath.Base(first))
		if rec := r.recordOf(h.ID); len(rec.Messages) > 0 {
			t.Errorf("recorded as this session's: %+v", rec.Messages)
		}
		h, c, _ = r.handOver(next.ID)
		if strings.Contains(c.text, data.EarlierSessions) || slices.ContainsFunc(h.Warnings, func(w string) bool { return strings.Contains(w, "began a new session") }) {
			t.Errorf("an agent with one session:\n%s", c.text)
		}
	})
}

// TestFilesOfEarlierGenerationsArePassedOn: what the first generation touched is among the files of the third one's context.
func TestFilesOfEarlierGenerationsArePassedOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "@edit roof.txt")
		_, _, second := r.handOver(a.ID)
		r.talk(second.ID, "@edit wall.txt")
		h, c, _ := r.handOver(second.ID)
		if want := []string{"`wall.txt`: edited", "`roof.txt`: before, by " + a.Name}; !slices.Equal(c.files, want) {
			t.Errorf("files %q, want %q", c.files, want)
		}
		if rec := r.recordOf(h.ID); len(rec.References) != 1 || rec.References[0].Path != "wall.txt" {
			t.Errorf("recorded files %+v, want the second generation's", rec.References)
		}
	})
}

// TestFilesOfEarlierStepsArePassedOn: the third step's agent is told which files both steps before it touched.
func TestFilesOfEarlierStepsArePassedOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		hold, release := r.newHoldFile()
		defer release()
		r.writeTemplate("three", "developer | prompt: "+quoted("Work.\n@edit roof.txt\n@say "+structured), "developer | prompt: "+quoted("Work.\n@edit wall.txt\n@say "+structured),
			"tester | prompt: "+quoted("@hold "+hold))
		r.start()
		id := r.startPipeline("three", "Mend the house.").ID
		got := r.contextFile(r.awaitWorkingAgent(id, 3))
		for _, file := range []string{"`wall.txt`", "`roof.txt`: before, by "} {
			if !strings.Contains(got, "- "+file) {
				t.Errorf("the context lacks %s:\n%s", file, got)
			}
		}
		release()
		r.awaitPipeline(id, daemon.PipelineDone)
	})
}
