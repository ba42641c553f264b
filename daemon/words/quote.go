package words

import "strings"

// Quote puts a line of a pane into a sentence, between the marks by which [Log] finds it.
func Quote(line string) string {
	return "‹" + strings.ReplaceAll(Clip(Line(line), 200), "›", ">") + "›"
}

// Log words a sentence for the process's log: it leaves out what the sentence quotes of a pane. The operator may see
// that, but it may contain secrets, and secrets must not enter a log.
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
