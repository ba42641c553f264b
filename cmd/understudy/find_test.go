package main

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/daemon"
)

// TestCalled: a name that matches exactly beats a persona, also where the persona is another agent's.
func TestCalled(t *testing.T) {
	t.Parallel()
	persona := "developer-con-1"
	agents := []daemon.Agent{
		{ID: 3, Name: "third", Persona: &persona},
		{ID: 2, Name: persona},
		{ID: 1, Name: "twin"}, {ID: 4, Name: "twin", Persona: new("reviewer-ada-1")},
	}
	for word, want := range map[string][]int64{
		persona: {2}, "third": {3}, "twin": {1, 4}, "reviewer-ada-1": {4}, "nobody": nil,
	} {
		var got []int64
		for _, a := range called(agents, word) {
			got = append(got, a.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: agents %v, want %v", word, got, want)
		}
	}
	if got := called(agents[:1], persona); len(got) != 1 || got[0].ID != 3 {
		t.Errorf("by persona alone: %+v", got)
	}
}

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
		{"(devel)", []debug.BuildSetting{commit, at}, "7fdb8b30f6b3", "understudy 7fdb8b30f6b3, commit " + commit.Value + " of " + stamp(&when) + ", go1.26"},
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
