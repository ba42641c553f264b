package main

import (
	"runtime/debug"
	"strings"
)

// versionLine is what --version prints.
const versionLine = "understudy %s\n"

// version is the module's version as built: a release, or the commit, or "dev".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return "dev"
	}
	return strings.ToLower(revision[:min(12, len(revision))]) + dirty
}
