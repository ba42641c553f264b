package inside

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestALaunchFileThatOthersMayWriteIsNotRun: the file says what runs in the pane.
func TestALaunchFileThatOthersMayWriteIsNotRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "launch.json")
	must(t, os.WriteFile(path, []byte(`{"argv":["true"]}`), 0o600))
	must(t, os.Chmod(path, 0o622))
	var said bytes.Buffer
	if code := launchAgent([]string{path}, nil, &said); code != 127 || !strings.Contains(said.String(), "run chmod go-w "+path) {
		t.Errorf("exit %d, said %s", code, &said)
	}
}
