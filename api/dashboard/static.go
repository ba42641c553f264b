package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

// File is a file that pages load.
type File struct {
	Type    string // media type
	Body    []byte
	Zipped  []byte // Body, compressed with gzip
	Version string // an entity tag of Body, with its quotes
}

var types = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".webmanifest": "application/manifest+json",
}

// Files returns the files that pages load, by name. It makes them at the first call, because compressing them would take
// longer than everything else at the start of a server. Callers must not change the map.
var Files = sync.OnceValue(zipAll)

func zipAll() map[string]File {
	out := map[string]File{"palette.css": file("palette.css", palette())}
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		panic("dashboard: " + err.Error()) // the pattern is a constant
	}
	for _, name := range names {
		b, err := static.ReadFile(name)
		if err != nil {
			panic("dashboard: " + err.Error()) // the file is embedded
		}
		out[path.Base(name)] = file(name, b)
	}
	return out
}

func file(name string, body []byte) File {
	sum := sha256.Sum256(body)
	return File{Type: types[path.Ext(name)], Body: body, Zipped: zipped(body), Version: `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("dashboard: " + err.Error()) // writing to a buffer cannot fail
	}
	return b.Bytes()
}

// palette makes a class for each of a terminal's 256 colours, with the names that the converter of screens uses.
// style.css defines the first 16, for light and dark pages.
func palette() []byte {
	var b strings.Builder
	rule := func(n int, colour string) {
		fmt.Fprintf(&b, ".f%d{color:%s}.g%d{background:%s}\n", n, colour, n, colour)
	}
	for n := range 16 {
		rule(n, fmt.Sprintf("var(--ansi-%d)", n))
	}
	level := func(n int) int {
		if n == 0 {
			return 0
		}
		return 55 + 40*n
	}
	for n := range 216 { // a cube with six levels of red, green and blue
		rule(16+n, fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6)))
	}
	for n := range 24 {
		rule(232+n, fmt.Sprintf("#%02x%02[1]x%02[1]x", 8+10*n))
	}
	return []byte(b.String())
}
