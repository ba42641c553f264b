package agents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

func TestStepIsToldItsPlaceInThePipeline(t *testing.T) {
	t.Parallel()
	p := &daemon.Pipeline{ID: 7, Title: "The roof", Steps: []daemon.Step{{Number: 1}, {OrderIndex: 1, Number: 2, Description: " mends it "}}}
	for i, want := range []string{`step 1 of 2 of the pipeline run 7, "The roof".` + "\n", `step 2 of 2 of the pipeline run 7, "The roof". Your part: mends it` + "\n"} {
		text := value(placeInPipeline(p, &p.Steps[i], []string{"Coverage Config"}))(t)
		holds(t, fmt.Sprintf("step %d is told", i+1), text, want)
		last := strings.Contains(text, "It is the result of the run")
		equal(t, fmt.Sprintf("step %d is told that it is the last", i+1), last, i == 1)
		for _, heading := range []string{"What Was Done", "Decisions Made", "Open Questions", "Next Agent Context", "Coverage Config"} {
			holds(t, fmt.Sprintf("step %d is not told of the heading %s", i+1, heading), text, "**## "+heading+"**")
		}
	}
}

func TestFirstPromptIsChangedOnlyIfItWouldBeACommand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Mend it.", "  Mend\tit.\r\n\n", "!ls", "#1", "exit now", "- /exit", "Hello.\n\n## What Was Done\n\nThe roof.\n"} {
		equal(t, "the first prompt", runtimes.FirstPrompt(text), text)
	}
	for _, text := range []string{"/exit", "/clear all of it\nand more", "exit", " quit\n", ":wq!", "\u200b/exit", "exit\u200b", "/home/x \u200b is broken", "\ufeff :q", "\u3164/exit", "\x1b/exit"} {
		equal(t, text+" became", runtimes.FirstPrompt(text), "Request:\n\n"+text)
	}
}
