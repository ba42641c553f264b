package proc

import (
	"testing"
)

func TestSettingsGoRunIsKnown(t *testing.T) {
	t.Parallel()
	hash := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for path, want := range map[string]bool{
		"/tmp/go-build123456/b001/exe/understudy":              true,
		"/home/u/.cache/go-build/01/" + hash + "-d/understudy": true,
		"/srv/cache/01/" + hash + "-d/understudy":              true,
		"/home/u/go/bin/understudy":                            false,
		"/home/u/go-builder/understudy":                        false,
		"/tmp/go-build123456/b001/understudy.test":             false,
	} {
		equal(t, path, BuiltByGoRun(path), want)
	}
}
