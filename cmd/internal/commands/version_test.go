package commands

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/term"
)

func TestBuildWords(t *testing.T) {
	t.Parallel()
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "7fdb8b30f6b391f8762d81186df2a85e1ce813f5"}
	at := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T07:24:16Z"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	when := time.Date(2026, 11, 22, 7, 24, 16, 0, time.UTC)
	for _, c := range []struct {
		module   string
		settings []debug.BuildSetting
		version  string
		line     string
	}{
		{"", nil, "dev", "understudy dev, go1.26"},
		{"v1.2.3", nil, "v1.2.3", "understudy v1.2.3, go1.26"},
		{"(devel)", []debug.BuildSetting{commit, at}, "7fdb8b30f6b3", "understudy 7fdb8b30f6b3, commit " + commit.Value + " of " + term.Stamp(&when) + ", go1.26"},
		{"v0.0.1-x+dirty", []debug.BuildSetting{commit, dirty}, "v0.0.1-x+dirty",
			"understudy v0.0.1-x+dirty, commit " + commit.Value + ", with changes that are not committed, go1.26"},
		{"(devel)", []debug.BuildSetting{commit, dirty}, "7fdb8b30f6b3+dirty", "understudy 7fdb8b30f6b3+dirty, commit " + commit.Value + ", with changes that are not committed, go1.26"},
	} {
		b := build.From(&debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: c.module}, Settings: c.settings})
		if b.Version != c.version || buildLine(b) != c.line {
			t.Errorf("%q %v:\n got  %s: %s\n want %s: %s", c.module, c.settings, b.Version, buildLine(b), c.version, c.line)
		}
	}
}
