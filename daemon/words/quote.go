package words

import "strings"

// Quote puts a line of a pane into a sentence, between the marks by which [Log] finds it.
func Quote(line string) string {
	return "‹" + strings.ReplaceAll(Clip(Line(line), 200), "›", ">") + "›"
}

// Log is a sentence for the process's log: what it quotes of a pane is left out. That is for the operator's eyes, and
// secrets that it may contain must not enter a log.
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
