//go:build e2e

package claudetest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestScreens and the tests after it compare what ReadScreen reads from the real CLI with want.json, which the golden
// test of daemon/runtimes uses as well. With -update they write the golden screens.
func TestScreens(t *testing.T) { performAll(t, inOrder(scenes())) }

func TestScreensOfFirstStarts(t *testing.T) { performAll(t, firstScenes()) }

func TestScreensWithStatusLine(t *testing.T) {
	performAll(t, inOrder(append(withStatus(scenes(), "_status", "con, 12% of the context used", statusScenes...),
		withStatus(scenes(), "_odd_status", oddStatus, statusScenes...)...)))
}

// inOrder orders the scenes so that few sessions are needed.
func inOrder(all []scene) []scene {
	turn := func(sc scene) int {
		switch {
		case sc.last:
			return 2
		case sc.narrow:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b scene) int { return turn(a) - turn(b) })
	return all
}

// performAll performs scenes in the given order.
func performAll(t *testing.T, all []scene) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(screensDir, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]runtimes.Screen{}
	if err := json.Unmarshal(raw, &wants); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t}
	for i, sc := range all {
		want, ok := wants[sc.name]
		if !ok {
			t.Errorf("%s is not in want.json", sc.name)
			continue
		}
		followed := i+1 < len(all) && all[i+1].follows
		t.Run(sc.name, func(t *testing.T) { s.perform(t, sc, followed, want) })
	}
}

// stage performs scenes, one after the other in one session of the CLI. A scene that fails ends the session, so that the
// next scene gets another one.
type stage struct {
	t    *testing.T // test of all scenes
	x    *terminal  // the session; nil if there is none
	api  *claudetest.FakeAPI
	home claudetest.Home
	size [2]int
}

func (s *stage) perform(t *testing.T, sc scene, followed bool, want runtimes.Screen) {
	if s.x != nil && (sc.first || sc.own()) {
		s.close()
	}
	fresh := s.x == nil
	switch {
	case fresh && sc.follows:
		t.Fatal("the scene before, from which this one goes on, has failed")
	case fresh:
		s.open(t, sc)
	}
	s.x.t = t
	defer func() {
		switch {
		case t.Failed(), !followed && (sc.last || sc.own() || sc.follows || *update): // a golden screen must show nothing of an earlier scene
			s.close()
		default:
			s.x.t = s.t
		}
	}()
	if !fresh {
		s.change(sc)
	}
	if sc.script != nil {
		s.api.SetScript(sc.script)
	}
	if sc.play != nil {
		sc.play(s.x)
	}
	screen := s.x.settled(want)
	if *update {
		screen = strings.ReplaceAll(screen, filepath.Dir(s.home.Workdir), "/home/dev")
		if err := os.WriteFile(filepath.Join(screensDir, sc.name+".txt"), []byte(screen), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// open starts the CLI for a scene.
func (s *stage) open(t *testing.T, sc scene) {
	s.api = claudetest.NewFakeAPI(s.t, sc.script)
	s.home = claudetest.Env(s.t, s.api)
	if sc.setup != nil {
		sc.setup(t, s.home)
	}
	args := append([]string{"--name", "developer-con-1"}, sc.args...)
	if len(sc.args) == 0 || sc.args[0] != "--dangerously-skip-permissions" {
		args = append(args, "--permission-mode", "manual")
	}
	s.setStatus(t, sc)
	if sc.status != "" {
		args = append(args, "--settings", statusSettings(s.home))
	}
	s.size = sc.size()
	s.x = start(s.t, s.home, s.size, sc.env, args...)
	s.x.api = s.api
}

// close ends the session.
func (s *stage) close() {
	s.x.end()
	s.x = nil
}

// change gives the session the size and the status line of the scene. Unless the scene follows another one, change empties
// the conversation.
func (s *stage) change(sc scene) {
	s.x.t.Helper()
	if sc.size() != s.size {
		s.size = sc.size()
		s.x.tmux("resize-window", "-x", strconv.Itoa(s.size[0]), "-y", strconv.Itoa(s.size[1]))
	}
	if sc.follows {
		return
	}
	s.setStatus(s.x.t, sc)
	s.clear()
	if sc.status != "" { // the CLI prints it a moment later; each status line has its own end
		const end = len("draft stashed")
		s.x.shows(sc.status[len(sc.status)-end:])
	}
}

func (s *stage) setStatus(t *testing.T, sc scene) {
	t.Helper()
	if err := os.WriteFile(statusFile(s.home), []byte(sc.status+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clear brings the session back to an empty composer in an empty conversation.
func (s *stage) clear() {
	s.x.t.Helper()
	s.api.SetScript(claudetest.Says("OK"))
	pressed, still := "", time.Now()
	var last runtimes.Screen
	s.x.until("the end of the scene before", func(now runtimes.Screen, _ string) bool {
		s.api.Release()
		if now != last {
			last, still = now, time.Now()
		}
		if time.Since(still) < settles { // the screen may be half drawn, and two keys that the CLI reads at once can mean another key
			return false
		}
		r, err := s.x.registry()
		key := ""
		switch {
		case err != nil || r.Status == runtimes.StatusBusy:
			return false
		case now.Dialog != "":
			key = "Escape"
		case now.Draft != "":
			key = "C-c"
		case now.Stashed:
			key = "C-s"
		default:
			return now.Composer
		}
		if key != pressed { // not twice: a second C-c would end the CLI
			s.x.keys(key)
			pressed, still = key, time.Now()
		}
		return false
	})
	before := s.x.sessionID()
	s.x.deliver("/clear")
	poll(s.x.t, "another conversation", func() bool { return s.x.sessionID() != before })
	s.x.untilStatus(runtimes.StatusIdle)
	s.x.until("an empty screen", func(now runtimes.Screen, screen string) bool {
		return now.Composer && now.Draft == "" && strings.Contains(screen, "Claude Code") && strings.Contains(screen, "❯ /clear")
	})
}

// sessionID returns the session id in the registry, "" while the CLI writes the entry.
func (x *terminal) sessionID() string {
	r, err := x.registry()
	if err != nil {
		return ""
	}
	return r.SessionID
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
		now := runtimes.Claude().ReadScreen(runtimes.View{Text: screen})
		now.Row = "" // not compared: the row of an empty composer shows changing proposals
		if now != got {
			got, same = now, time.Now()
		}
	}
	return screen
}
