package words

import (
	"regexp"
	"strings"
	"sync"
)

// quoted is what an agent's pane shows, as it stands in a sentence: between these marks.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`‹[^›]*›`) })

// Log takes what a pane shows out of a sentence: it is for the operator's eyes, and what
// it may contain must not enter a log.
func Log(message string) string { return quoted().ReplaceAllString(message, "‹…›") }

// Quote puts a line of a pane between the marks by which [withoutScreen] finds it.
func Quote(line string) string {
	return "‹" + strings.ReplaceAll(Clip(Line(line), 200), "›", ">") + "›"
}
