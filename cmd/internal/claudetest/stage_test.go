//go:build e2e

package claudetest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

// TestScreens: want.json says what ReadScreen reads from each scene, and the golden test of daemon/runtimes compares it with the
// recorded screens. With -update the scenes are played with the real CLI, recorded, and the version of the CLI is noted.
// TestRecordedVersions of daemon/runtimes wants them of the pinned version.
func TestScreens(t *testing.T) {
	t.Parallel()
	withStatusLine := append(withStatus(scenes(), "_status", "con, 12% of the context used", statusScenes...),
		withStatus(scenes(), "_odd_status", oddStatus, statusScenes...)...)
	for name, all := range map[string][]scene{"running": scenes(), "first starts": firstScenes(), "status line": withStatusLine} {
		t.Run(name, func(t *testing.T) { recordAll(t, all) })
	}
	if *update && !t.Failed() {
		must(t, os.WriteFile(filepath.Join(screensDir, "version"), []byte(claudetest.Version+"\n"), 0o644))
	}
}

// recordAll records scenes in the given order. Without -update it only holds them against want.json.
func recordAll(t *testing.T, all []scene) {
	raw := value(os.ReadFile(filepath.Join(screensDir, "want.json")))(t)
	wants := map[string]runtimes.Screen{}
	must(t, json.Unmarshal(raw, &wants))
	s := &stage{t: t}
	for _, sc := range all {
		want, ok := wants[sc.name]
		switch {
		case !ok:
			t.Errorf("%s is not in want.json", sc.name)
		case *update:
			t.Run(sc.name, func(t *testing.T) { s.record(t, sc, want) })
		}
	}
}

// stage plays scenes, each in a session of the CLI of its own, or in that of the scene from which it goes on.
type stage struct {
	t    *testing.T // test of all scenes
	x    *terminal  // the session; nil if there is none
	api  *claudetest.FakeAPI
	home claudetest.Home
}

func (s *stage) record(t *testing.T, sc scene, want runtimes.Screen) {
	size := [2]int{120, 40}
	if sc.narrow {
		size = [2]int{80, 24}
	}
	switch {
	case !sc.follows:
		if s.x != nil {
			s.x.end()
		}
		s.open(t, sc, size)
	case s.x == nil:
		t.Fatal("the scene before, from which this one goes on, has failed")
	default:
		s.x.tmux("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
	}
	s.x.t = t
	defer func() {
		s.x.t = s.t
		if t.Failed() {
			s.x.end()
			s.x = nil
		}
	}()
	if sc.script != nil {
		s.api.SetScript(sc.script)
	}
	if sc.play != nil {
		sc.play(s.x)
	}
	screen := strings.ReplaceAll(s.x.settled(want), filepath.Dir(s.home.Workdir), "/home/dev")
	must(t, os.WriteFile(filepath.Join(screensDir, sc.name+".txt"), []byte(screen), 0o644))
}

// open starts the CLI for a scene.
func (s *stage) open(t *testing.T, sc scene, size [2]int) {
	s.api = claudetest.NewFakeAPI(s.t, sc.script)
	s.home = claudetest.Env(s.t, s.api)
	if sc.setup != nil {
		sc.setup(t, s.home)
	}
	args := append([]string{"--name", "developer-con-1"}, sc.args...)
	if len(sc.args) == 0 || sc.args[0] != "--dangerously-skip-permissions" {
		args = append(args, "--permission-mode", "manual")
	}
	if sc.status != "" {
		must(t, os.WriteFile(statusFile(s.home), []byte(sc.status+"\n"), 0o600))
		args = append(args, "--settings", statusSettings(s.home))
	}
	s.x = start(s.t, s.home, size, sc.env, args...)
	s.x.api = s.api
}

// shows waits for a text on the screen.
func (x *terminal) shows(text string) {
	x.t.Helper()
	text, _, _ = strings.Cut(text, "\n")
	x.until("the text "+text, func(_ runtimes.Screen, screen string) bool { return strings.Contains(screen, text) })
}

// settles is how long a screen must stay the same before a test believes it.
const settles = 200 * time.Millisecond

// settled waits until ReadScreen has read the same for a while, and compares that with want.
func (x *terminal) settled(want runtimes.Screen) string {
	x.t.Helper()
	var got runtimes.Screen
	var screen string
	same, deadline := time.Now(), time.Now().Add(time.Minute)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for time.Since(same) < settles || got != want {
		if time.Now().After(deadline) {
			x.t.Errorf("screen says %+v, want %+v", got, want)
			break
		}
		<-tick.C
		screen = x.screen()
		now := claude.Runtime.ReadScreen(runtimes.View{Text: screen})
		now.Row = "" // not compared: the row of an empty composer shows changing proposals
		if now != got {
			got, same = now, time.Now()
		}
	}
	return screen
}
