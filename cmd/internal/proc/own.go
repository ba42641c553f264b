package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// OwnBinary returns the path of this program, with all links resolved.
func OwnBinary() (string, error) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	return path, nil
}

// inBuildCache matches the two places where `go run` puts a program. One is a temporary folder that `go run` removes
// when it ends. The other is the build cache, which has a folder for each checksum, and from which Go removes old
// entries.
var inBuildCache = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/go-build\d*/|/[0-9a-f]{64}-d/`) })

// BuiltByGoRun reports whether `go run` has built a binary, so that the binary will be removed soon. It returns false
// for the binary of a test, although that is in the same place.
func BuiltByGoRun(path string) bool {
	return inBuildCache().MatchString(path) && !strings.HasSuffix(path, ".test")
}
