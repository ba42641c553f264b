package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// OwnBinary is the path of this program, without links: agents are launched with it.
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

// inBuildCache matches where `go run` puts its programs: a temporary folder that goes with it, or
// the build cache, which has a folder per checksum and is trimmed now and then.
var inBuildCache = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/go-build\d*/|/[0-9a-f]{64}-d/`) })

// BuiltByGoRun reports whether the binary stands where `go run` puts it, so that it will not last.
// That of a test, which stands there as well, is not meant.
func BuiltByGoRun(path string) bool {
	return inBuildCache().MatchString(path) && !strings.HasSuffix(path, ".test")
}
