package commands

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestTopNeedsATerminal(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), []string{"top"}, os.Getenv, strings.NewReader(""), &stdout, &stderr)
	if want := "understudy: top needs a terminal; elsewhere use `understudy agent list`: see `understudy top --help`\n"; code != ExitUsage || stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
