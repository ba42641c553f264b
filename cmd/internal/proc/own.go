package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// OwnBinary is the path of this program with all links resolved.
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

// inBuildCache matches the two places where `go run` puts a program: a temporary folder that it removes when it ends, and the
// build cache, which has a folder per checksum and is trimmed now and then.
var inBuildCache = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/go-build\d*/|/[0-9a-f]{64}-d/`) })

// BuiltByGoRun reports whether a binary stands where `go run` puts programs, so that it will not last. It is false for the
// binary of a test, which stands there as well.
func BuiltByGoRun(path string) bool {
	return inBuildCache().MatchString(path) && !strings.HasSuffix(path, ".test")
}
