package catalog

import (
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestOneShot: a runtime of which Can says that a new session answers a question makes the command for that.
func TestOneShot(t *testing.T) {
	t.Parallel()
	for _, rt := range All() {
		if rt.Can.OneShot == "" {
			continue
		}
		if rt.Fork == nil || rt.ForkAnswer == nil {
			t.Errorf("%s: %q, but no command", rt.Name, rt.Can.OneShot)
			continue
		}
		cmd, err := rt.Fork(runtimes.ForkSpec{Command: []string{"cli"}, Dir: "/launch", Prompt: "write it"})
		if err != nil || len(cmd.Argv) == 0 || string(cmd.Stdin) != "write it" {
			t.Errorf("%s: %+v, %v", rt.Name, cmd, err)
		}
	}
}

// TestCopies: a runtime of which Can says that a copy of its session writes a document can make the copy.
func TestCopies(t *testing.T) {
	t.Parallel()
	for _, rt := range append(All(), generic()) {
		can := rt.Can.Registers == runtimes.RegistersByServer
		if rt.Fork != nil {
			_, err := rt.Fork(runtimes.ForkSpec{Command: []string{"cli"}, SessionID: "01997b6e-5f9e-7c50-9a5b-3c1f0f6e2d11", Transcript: "/t/s.jsonl", Dir: "/launch", Prompt: "write it"})
			can = can || err == nil
		}
		equal(t, rt.Name+": Can says", rt.Can.Copies(), can)
	}
}
