package top

import (
	"strings"
)

// head keeps the beginning of a command's error output.
type head struct{ b strings.Builder }

// maxHead is the number of bytes that head keeps.
const maxHead = 2000

// Write implements [io.Writer].
func (h *head) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), maxHead-h.b.Len())])
	return len(p), nil
}

// sentence returns the first line of the command's error output. If there is no output, it returns the text of err.
func (h *head) sentence(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(h.b.String()), "\n")
	if line = strings.TrimPrefix(line, "understudy: "); line == "" {
		return err.Error()
	}
	return line
}
