//go:build e2e

package claudetest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript"
)

// TestRewind takes prompts back with /rewind. The transcript is read as the model is given it: with the next prompt, the CLI leaves out
// what was taken back, or sends a summary in its place.
func TestRewind(t *testing.T) {
	t.Parallel()
	s := open(t, sessionConfig{})
	file := s.turn("marker-one: build the importer").Transcript
	s.turn("marker-two: read XML")
	s.rewind("marker-two", 0, func(screen string) bool { return !strings.Contains(screen, "Restore conversation") })
	s.sameAsModel(file, "marker-three: read CSV", []string{"marker-one: ", "marker-three: "})
	s.rewind("marker-three", 1, func(screen string) bool { return strings.Contains(screen, "Summarized conversation") })
	s.sameAsModel(file, "marker-four: read JSON", []string{"marker-one: ", "continued from a previous conversation", "marker-four: "})
}

// rewind goes back to before a prompt; choice counts the choices of the second page from 0. The CLI puts the prompt into the composer.
func (s session) rewind(prompt string, choice int, done func(screen string) bool) {
	s.t.Helper()
	s.idle()
	s.deliver("/rewind")
	s.until("the list of prompts", func(_ runtimes.Screen, screen string) bool { return strings.Contains(screen, "❯ (current)") })
	s.keys("Up")
	s.until("the newest prompt", func(_ runtimes.Screen, screen string) bool { return strings.Contains(screen, "❯ "+prompt) })
	s.keys("Enter")
	s.until("the choices", func(_ runtimes.Screen, screen string) bool {
		return strings.Contains(screen, "❯ 1. Restore conversation")
	})
	for range choice {
		s.keys("Down")
	}
	s.keys("Enter")
	s.until("the end of the rewind", func(sc runtimes.Screen, screen string) bool { return done(screen) && sc.Composer && sc.Draft != "" })
	s.keys("C-u")
}

// sameAsModel submits a prompt and compares what the model is given with what the transcript tells.
func (s session) sameAsModel(file, prompt string, want []string) {
	s.t.Helper()
	marked := regexp.MustCompile(`marker-\w+: |continued from a previous conversation`)
	s.turn(prompt)
	r := s.api.Await(s.t, prompt, func(r claudetest.Request) bool { return strings.Contains(strings.Join(r.UserTexts(), "\n"), prompt) })
	equal(s.t, "the model was given", marked.FindAllString(strings.Join(r.UserTexts(), "\n"), -1), want)
	var told []string
	poll(s.t, "the prompt in the transcript", func() bool { // the CLI writes a moment after its hooks
		got := value(transcript.Read(s.t.Context(), claude.Runtime, file, transcript.Want{All: true}))(s.t)
		told = nil
		for _, m := range got.Messages {
			told = append(told, marked.FindAllString(m.Text, -1)...)
		}
		return slices.Contains(told, want[len(want)-1])
	})
	equal(s.t, "the transcript tells", told, want)
}
