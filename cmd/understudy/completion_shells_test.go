//go:build e2e

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	c := newCompletion(t)
	c.inShell(t, "autoload -U compinit && compinit -u -D && source <(understudy completion zsh)", "zsh", "-f", "-i")
	wantNoFile(t, filepath.Join(c.r.work, "ran"))
}

func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	c := newCompletion(t)
	fish := exec.Command("fish", "--no-config", "-c", `understudy completion fish | source
		complete -C "understudy agent show "; complete -C "understudy persona show rev"; complete -C "understudy handoff dev"`)
	fish.Env, fish.Dir = append(c.env, "XDG_CONFIG_HOME="+c.r.work, "XDG_DATA_HOME="+c.r.work), c.r.work
	out, err := fish.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (install it: apt-get install fish): %s", err, out)
	}
	for _, want := range []string{fmt.Sprintf("%d\t$(touch ran) `touch ran`; touch ran, ", c.hostile.ID), "1\tdeveloper-con-1, idle\n", "reviewer-ada-1\t", "developer-con-1\tagent 1, idle\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	wantNoFile(t, filepath.Join(c.r.work, "ran"))
}
