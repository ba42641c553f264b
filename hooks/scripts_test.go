package hooks

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runScript runs a shipped script, which must exit 0.
func runScript(t *testing.T, path string, env ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = env
	cmd.Stdin = strings.NewReader("{}")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v, %s", path, err, &complaint)
	}
	return out.String(), complaint.String()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	entries := value(fs.ReadDir(Scripts, "scripts"))(t)
	var shipped []string
	bin := filepath.Join(t.TempDir(), "with blank")
	mkdir(t, bin)
	// Link the program instead of writing it: one that was just written may be
	// "busy" when another test forks meanwhile.
	fake := value(filepath.Abs("testdata/bin/understudy"))(t)
	link(t, fake, filepath.Join(bin, "understudy"))
	write(t, filepath.Join(bin, "no-program"), "#!/bin/sh\n", 0o644)
	system := "/usr/bin:/bin"
	for _, e := range entries {
		event, ok := Canonical(e.Name())
		if !ok || !Known(event) {
			t.Errorf("script %s is named after no event", e.Name())
			continue
		}
		shipped = append(shipped, event)
		path := filepath.Join("scripts", e.Name())
		equal(t, path, value(os.Stat(path))(t).Mode()&0o111, os.FileMode(0o111))
		want := "hook " + event + "\n{}"
		for name, c := range map[string]struct {
			env  []string
			want string
		}{
			"in PATH":           {[]string{"PATH=" + bin + ":" + system}, want},
			"by name":           {[]string{"PATH=" + system, "UNDERSTUDY_BIN=" + filepath.Join(bin, "understudy")}, want},
			"missing":           {[]string{"PATH=" + system}, ""},
			"named, missing":    {[]string{"PATH=" + bin + ":" + system, "UNDERSTUDY_BIN=/nowhere/understudy"}, ""},
			"named, no program": {[]string{"PATH=" + system, "UNDERSTUDY_BIN=" + filepath.Join(bin, "no-program")}, ""},
			"a directory":       {[]string{"PATH=" + system, "UNDERSTUDY_BIN=" + bin}, ""},
		} {
			if out, complaint := runScript(t, path, c.env...); out != c.want || complaint != "" {
				t.Errorf("%s, %s: %q, %q", e.Name(), name, out, complaint)
			}
		}
	}
	equal(t, "events with scripts", sorted(shipped), sorted(Events))
}
