package runtimes

import (
	"strings"
	"testing"
)

func TestCommandReads(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"cat NAME": true, "sed -n '1,200p' /a b/NAME": true, "head -100 <NAME": true, "nl -ba x/NAME | head": true,
		"for f in a NAME; do cat \"$f\"; done": true, "/usr/bin/cat NAME": true,
		"ls -l NAME": false, "wc -c NAME": false, "cat other.md": false, "echo x > NAME; cat other": false, "cat x >>/a/NAME": false, "rm NAME": false, "": false,
	} {
		equal(t, command, commandReads(strings.ReplaceAll(command, "NAME", "20261120T141500-00000007.md"), "20261120T141500-00000007.md"), want)
	}
	if commandReads("cat 20261120T141500-00000007.context.md", "20261120T141500-00000007.md") {
		t.Error("the context counts as the document")
	}
}
