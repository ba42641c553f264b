package serve

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/data"
)

// LinkPage is the file that leads a browser to a link of the dashboard.
func LinkPage(dir data.Dir) string {
	return filepath.Join(filepath.Dir(dir.Socket()), "dashboard.html")
}

// dropLinkPage removes the file if it leads to the link with a key; "" is the key of any link.
func dropLinkPage(dir data.Dir, key string) {
	page := LinkPage(dir)
	if b, err := os.ReadFile(page); err == nil && bytes.Contains(b, []byte(key)) {
		os.Remove(page) // if that fails, the link in it has ended all the same
	}
}
