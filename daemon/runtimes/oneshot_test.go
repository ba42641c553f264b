package runtimes

import "testing"

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
		cmd, err := rt.Fork(ForkSpec{Command: []string{"cli"}, Dir: "/launch", Prompt: "write it"})
		if err != nil || len(cmd.Argv) == 0 || string(cmd.Stdin) != "write it" {
			t.Errorf("%s: %+v, %v", rt.Name, cmd, err)
		}
	}
}
