package proc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestFindHookProgram: agents run the program that stands beside ours if both were built together.
func TestFindHookProgram(t *testing.T) {
	t.Parallel()
	goTool := wardentest.Value(exec.LookPath("go"))(t)
	text := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700))
	for name, tt := range map[string]struct {
		beside string
		want   string // in the error; empty: it is found
	}{
		"of the same build": {beside: cmdtest.HookProgram(t)},
		"none":              {want: "is not there"},
		"of another build":  {beside: goTool, want: "is of another build than this program"},
		"no Go program":     {beside: text, want: "can't be read"},
	} {
		own := filepath.Join(t.TempDir(), "understudy")
		path := filepath.Join(filepath.Dir(own), HookName)
		if tt.beside != "" {
			must(t, os.Symlink(tt.beside, path))
		}
		found, err := FindHookProgram(own)
		switch {
		case tt.want == "" && (err != nil || found != path || HookProgramOf(own) != path):
			t.Errorf("%s: %q, %v", name, found, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || HookProgramOf(own) != own):
			t.Errorf("%s: %q, %v; want an error with %q", name, found, err, tt.want)
		}
	}
}

// TestHookProgramIsKept: agents name a copy in the data directory, which is whole at any moment: who
// replaces or removes the installed program takes no hook from them.
func TestHookProgramIsKept(t *testing.T) {
	t.Parallel()
	dir := wardentest.Value(data.Open(filepath.Join(t.TempDir(), "d")))(t)
	installed := filepath.Join(t.TempDir(), HookName)
	program := wardentest.Value(os.ReadFile(cmdtest.HookProgram(t)))(t)
	older := []byte("#!/bin/sh\necho older\n")
	longer := append(bytes.Clone(program), 'x')
	changed := bytes.Clone(program)
	changed[len(changed)-1] ^= 1
	var kept string
	var previous []byte
	for _, version := range [][]byte{older, longer, program, changed, program, program} {
		must(t, os.WriteFile(installed, version, 0o700))
		var before *os.File // as an agent's hook has it that runs at this moment
		if kept != "" {
			before = wardentest.Value(os.Open(kept))(t)
		}
		kept = wardentest.Value(KeepHookProgram(dir, installed))(t)
		if before != nil {
			var still bytes.Buffer
			if _, err := still.ReadFrom(before); err != nil || !bytes.Equal(still.Bytes(), previous) {
				t.Errorf("the program that ran was written over: %d bytes, had %d: %v", still.Len(), len(previous), err)
			}
			_ = before.Close()
		}
		if got, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, version) {
			t.Errorf("kept %d bytes, want %d: %v", len(got), len(version), err)
		}
		previous = version
	}
	must(t, os.Remove(installed))
	cmd := exec.Command(kept, "hook", "Stop")
	cmd.Stdin, cmd.Env = strings.NewReader(`{"session_id":"s-1"}`), []string{"UNDERSTUDY_DATA=" + dir.Root()}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the copy: %v: %s", err, out)
	}
	equal(t, "hooks that are spooled", wardentest.Value(hooks.OpenSpool(dir.Spool()).Len())(t), 1)
	wardentest.Failed(KeepHookProgram(dir, installed))(t, "a program that is gone was kept")
}
