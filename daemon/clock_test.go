package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRowsHaveTheTimeOfTheirClock: the code takes times of rows from [Daemon.now], which simulations can step.
func TestRowsHaveTheTimeOfTheirClock(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && strings.Contains(string(text), "time.Now().UTC()") {
			t.Errorf("%s takes the time of a row from the system: use Daemon.now", name)
		}
	}
}
