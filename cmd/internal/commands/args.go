package commands

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/cli"

	"github.com/understudyd/understudy/data/yamlfile"
)

// parseID reads an id from the command line.
func parseID(what, word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id <= 0 {
		return 0, cli.Usagef("%q is no id of %s %s: it must be a number such as 7", word, article(what), what)
	}
	return id, nil
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}

// textOrStdin returns s. If s is a dash, it returns the text on stdin.
func textOrStdin(a *cli.App, s string) (string, error) {
	if s != "-" {
		return s, nil
	}
	const most = 1 << 20 // the daemon's own limit is lower, and its error names it
	b, err := io.ReadAll(io.LimitReader(a.Stdin, most))
	if err != nil {
		return "", fmt.Errorf("text from stdin: %w", err)
	}
	if err := yamlfile.CheckText(b); err != nil {
		return "", fmt.Errorf("text from stdin, %w", err)
	}
	return strings.TrimRight(string(b), "\n"), nil
}
