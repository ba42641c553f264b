package worktree

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestValidBranch(t *testing.T) {
	t.Parallel()
	b := wardentest.Value(os.ReadFile("testdata/branches.txt"))(t)
	n := 0
	for line := range strings.Lines(string(b)) {
		verdict, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
		if verdict == "#" {
			continue
		}
		name, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		equal(t, fmt.Sprintf("%q", name), ValidBranch(name), verdict == "yes")
		n++
	}
	if n < 50 {
		t.Errorf("testdata/branches.txt holds %d names", n)
	}
	if ValidBranch("@") || ValidBranch("a\x00b") { // git can't be asked for these: no command line holds a NUL, and git accepts "@"
		t.Error("another name of HEAD, or NUL, is a valid branch")
	}
}
