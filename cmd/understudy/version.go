package main

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// versionLine is what --version prints.
const versionLine = "understudy %s\n"

// buildInfo is what is known of this program.
type buildInfo struct {
	Version  string     `json:"version"`  // a release, or the one before it with time and commit, or "dev"
	Revision string     `json:"revision"` // the commit; empty: not known
	Time     *time.Time `json:"time"`     // when that was made
	Modified bool       `json:"modified"` // the tree had changes that were not committed
	Go       string     `json:"go"`
}

// version is this program's in a word.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return readBuild(info).Version
}

// readBuild reads what Go notes in each program. It notes no commit in tests and under `go run`.
func readBuild(info *debug.BuildInfo) buildInfo {
	b := buildInfo{Version: info.Main.Version, Go: info.GoVersion}
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

func (a *app) versionCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:     "version",
		Short:   "Print which understudy this is, and of which commit",
		Example: "  understudy version",
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			b := buildInfo{Version: version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				b = readBuild(info)
			}
			if a.json {
				return a.printJSON(b)
			}
			_, err := fmt.Fprintln(a.stdout, b)
			return err
		},
	})
}

// String is the build in a line.
func (b buildInfo) String() string {
	line := "understudy " + b.Version
	if b.Revision != "" {
		line += ", commit " + b.Revision
	}
	if b.Time != nil {
		line += " of " + stamp(b.Time)
	}
	if b.Modified {
		line += ", with changes that are not committed"
	}
	return line + ", " + b.Go
}
