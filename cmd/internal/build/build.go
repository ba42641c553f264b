// Package build says what the running program was built from: which release or commit, and with which version of Go. Its
// functions are pure, except that Read reads what Go recorded in the program.
package build

import (
	"runtime/debug"
	"time"
)

// Info says what a program was built from.
type Info struct {
	Version  string     `json:"version"`  // a release, the release before it with time and commit, or "dev"
	Revision string     `json:"revision"` // the commit; empty if Go recorded none
	Time     *time.Time `json:"time"`     // of the commit
	Modified bool       `json:"modified"` // the tree had uncommitted changes
	Go       string     `json:"go"`
}

// Version is the version of this program.
func Version() string { return Read().Version }

// Line returns the line that --version prints.
func Line() string { return "understudy " + Version() + "\n" }

// Read returns what Go recorded in this program when it was built.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: "dev"}
	}
	return From(info)
}

// From converts what Go recorded in a program. Go records no commit in tests and under `go run`.
func From(info *debug.BuildInfo) Info {
	b := Info{Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Time = &t
			}
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Version != "" && b.Version != "(devel)" {
		return b
	}
	if b.Version = "dev"; b.Revision == "" {
		return b
	}
	b.Version = b.Revision[:min(12, len(b.Revision))]
	if b.Modified {
		b.Version += "+dirty"
	}
	return b
}
