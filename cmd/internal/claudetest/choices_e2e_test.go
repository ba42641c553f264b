//go:build e2e

package claudetest_test

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript"
)

// TestTranscriptShowsChoices: the CLI's transcript shows the model and the permission mode that a person has chosen in the session.
func TestTranscriptShowsChoices(t *testing.T) {
	t.Parallel()
	s := open(t, sessionConfig{
		script: func(claudetest.Request) claudetest.Reply { return claudetest.Reply{Text: "OK"} },
		change: func(s *runtimes.Spec) { s.Model, s.Mode = "claude-opus-4-5", "manual" },
	})
	path := s.turn("begin").Transcript
	s.idle()
	want := func(want transcript.Choices) {
		t.Helper()
		var got transcript.Found
		poll(t, "the choices in the transcript", func() (is bool) { // the CLI writes its last answer after the Stop
			var err error
			got, err = transcript.Read(t.Context(), claude.Runtime, path, transcript.Want{Choices: true})
			return err == nil && got.Choices == want
		})
	}
	want(transcript.Choices{Mode: "default", Began: "default"})
	s.keys("BTab")
	s.turn("go on")
	s.idle()
	want(transcript.Choices{Mode: "acceptEdits", Began: "default"})
	s.deliver("/model haiku")
	s.until("the question about the model", func(_ runtimes.Screen, text string) bool { return strings.Contains(text, "Switch model?") })
	s.keys("Enter")
	s.until("the new model", func(_ runtimes.Screen, text string) bool { return strings.Contains(text, "Set model") })
	s.turn("go on once more")
	want(transcript.Choices{Model: "claude-haiku-5-5", Mode: "acceptEdits", Began: "default"})
}
