package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestReadDialog reads the dialogs of all screens that were recorded from the real CLIs.
func TestReadDialog(t *testing.T) {
	t.Parallel()
	got := map[string]runtimes.Dialog{}
	for _, rt := range All() {
		dirs := []string{rt.Name, rt.Name + "/more"}
		if rt.Name == "claude" {
			dirs = []string{"screens"}
		}
		for _, dir := range dirs {
			files := value(filepath.Glob(filepath.Join("../testdata", dir, "*.txt")))(t)
			for _, file := range files {
				screen := value(os.ReadFile(file))(t)
				if d := rt.ReadDialog(runtimes.View{Text: string(screen)}); d.Name != "" {
					name, _ := filepath.Rel("../testdata", file)
					got[filepath.ToSlash(name)] = d
				}
			}
		}
	}
	if *update {
		b := value(json.MarshalIndent(got, "", "  "))(t)
		must(t, os.WriteFile("../testdata/dialogs.json", append(b, '\n'), 0o644))
	}
	raw := value(os.ReadFile("../testdata/dialogs.json"))(t)
	want := map[string]runtimes.Dialog{}
	must(t, json.Unmarshal(raw, &want))
	for name, d := range got {
		equal(t, name, d, want[name])
	}
	equal(t, "dialogs", len(got), len(want))
}
