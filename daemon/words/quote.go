package words

import "strings"

// Quote returns a line of a pane between the marks ‹ and ›, for use in a sentence. [Log] finds the line by these marks.
func Quote(line string) string {
	return "‹" + strings.ReplaceAll(Clip(Line(line), 200), "›", ">") + "›"
}

// Log returns a sentence for the process's log. It leaves out the text that [Quote] has marked. The operator may see
// that text, but it may contain secrets, and secrets must not enter a log.
func Log(message string) string {
	var b strings.Builder
	for {
		before, quoted, opens := strings.Cut(message, "‹")
		_, after, closes := strings.Cut(quoted, "›")
		if !opens || !closes {
			b.WriteString(message)
			return b.String()
		}
		b.WriteString(before + "‹…›")
		message = after
	}
}
