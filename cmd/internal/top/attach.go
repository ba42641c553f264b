package top

import (
	"strings"
)

// head keeps the beginning of a command's error output.
type head struct{ b strings.Builder }

// maxHead is how many bytes head keeps.
const maxHead = 2000

// Write implements [io.Writer].
func (h *head) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), maxHead-h.b.Len())])
	return len(p), nil
}

// sentence is the first line of the command's error output; without output, it is the error itself.
func (h *head) sentence(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(h.b.String()), "\n")
	if line = strings.TrimPrefix(line, "understudy: "); line == "" {
		return err.Error()
	}
	return line
}
