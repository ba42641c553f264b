package serve

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/data"
)

// LinkPage returns the path of the file that leads a browser to a link of the dashboard.
func LinkPage(dir data.Dir) string {
	return filepath.Join(filepath.Dir(dir.Socket()), "dashboard.html")
}

// dropLinkPage removes the file if its link has the given key. Each link has the key "".
func dropLinkPage(dir data.Dir, key string) {
	page := LinkPage(dir)
	if b, err := os.ReadFile(page); err == nil && bytes.Contains(b, []byte(key)) {
		os.Remove(page) // if this fails, the link is still no longer valid
	}
}
