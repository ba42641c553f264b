//go:build e2e

package realcli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/tmux"
)

var update = flag.Bool("update", false, "record the real CLIs: write their screens and titles to daemon/runtimes/testdata/RUNTIME")

const screensDir = "../../../daemon/runtimes/testdata"

// scene leads a CLI to one screen.
type scene struct {
	name   string
	script claudetest.Script // nil keeps the one before
	play   func(*session)
	// want is what the screen must show, and what the recorded screen must show too: a regular expression for every CLI,
	// or for all under "". A CLI without one does not play the scene. title is the same for the title; none means any.
	want, title map[CLI]string
	moves       bool             // the screen does not come to rest
	after       func(t *session) // leads back to an empty composer
}

var (
	held    = claudetest.Ask("work", claudetest.Reply{Text: "First paragraph.\n\nThe second paragraph is where it holds.", Hold: true}, claudetest.Says("Done."))
	sleeps  = claudetest.Ask("wait", claudetest.Bash("sleep 300", false), claudetest.Says("Done."))
	touches = claudetest.Ask("touch", claudetest.Bash("touch notes.md", false), claudetest.Says("Done."))
	writes  = claudetest.Ask("write", claudetest.Write("notes.md", "# Notes\n\nnone\n"), claudetest.Says("Done."))
)

func all(pattern string) map[CLI]string { return map[CLI]string{"": pattern} }

func submits(text string) func(*session) { return func(s *session) { s.submit(text) } }

// clears empties a composer that holds a draft: on an empty one the key would end the CLI.
func clears(s *session) { s.keys(tmux.CtrlC); s.ready() }

// interrupts ends a turn. OpenCode wants the key twice; another one in oh-my-pi would open a view of its own.
func interrupts(s *session) {
	s.keys(tmux.Escape)
	if s.cli == OpenCode {
		s.shows("again to interrupt")
		s.keys(tmux.Escape)
	}
	s.ready()
}

// scenes are played in this order in one session.
func scenes() []scene {
	working := map[CLI]string{Codex: "^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", Gemini: "✦"}
	return []scene{
		{name: "started", want: all(`.`), title: map[CLI]string{Gemini: "◇"}},
		{name: "draft", play: func(s *session) { s.draft("please look at the parser") }, want: all(`please look at the parser`), after: clears},
		{name: "draft_lines", play: func(s *session) { s.draft("first line\n\nthird line") }, want: all(`first line\s*\n\s*\n\s*third line|Pasted ~3 lines`), after: clears},
		{name: "idle", script: claudetest.Says("Hello."), play: submits("hello"), want: all(`Hello\.`), title: map[CLI]string{Gemini: "◇"}},
		{name: "busy", script: held, play: submits("work"), want: all(`First`), title: working, moves: true},
		{name: "busy_draft", play: func(s *session) { s.draft("a draft meanwhile") }, want: all(`a draft meanwhile`), title: working, moves: true,
			after: func(s *session) { s.api.Release(); s.until("the end of the turn", ended); clears(s) }},
		{name: "busy_tool", script: sleeps, play: submits("wait"), title: working, // Codex shows which command runs only later
			want: map[CLI]string{Codex: `Working \(`, OpenCode: `sleep 300`, Pi: `sleep 300`, Gemini: `sleep 300`}, moves: true, after: interrupts},
		{name: "interrupted", want: map[CLI]string{Codex: "interrupted", OpenCode: "interrupted", Pi: ".", Gemini: "ancelled"}},
		{name: "error", script: claudetest.Fails(400, "no such thing"), play: submits("fail"), want: all(`no such thing`)},
		{name: "error_key", script: claudetest.Fails(401, "no such key"), play: submits("fail"), want: all(`no such key`)},
	}
}

func ended(screen, title string) bool { return !busy(screen, title) }

// askScenes are played in one session of a CLI that asks first.
func askScenes() []scene {
	commands := map[CLI]string{Codex: "Would you like to run", OpenCode: "Permission required", Pi: "Allow tool: bash", Gemini: "Allow execution"}
	edits := map[CLI]string{Codex: "Would you like to make", OpenCode: "Permission required", Pi: "Allow tool: write", Gemini: "Apply this change"}
	title := map[CLI]string{Codex: "Action Required", Gemini: "✋"}
	refuse := func(s *session) { s.keys(tmux.Escape); s.ready() }
	return []scene{
		{name: "dialog_command", script: touches, play: submits("touch"), want: commands, title: title, after: refuse},
		{name: "dialog_write", script: writes, play: submits("write"), want: edits, title: title, after: refuse},
	}
}

// limitScenes are played in a session each.
func limitScenes() []scene {
	limits := map[CLI]string{Codex: "hit your usage limit", OpenCode: "retrying in", Pi: "429", Gemini: "Usage limit reached"}
	return []scene{{name: "limit", script: func(r claudetest.Request) claudetest.Reply {
		return claudetest.Limited(time.Now().Add(2*time.Hour + time.Second))(r)
	}, play: submits("work"), want: limits, moves: true}}
}

// slots limits how many CLIs run at once: one takes up to 600 MB, and one core while it starts.
var slots = make(chan struct{}, 2)

// TestScreens holds the recorded screens against the scenes. With -update it plays the scenes with each real CLI, records
// them, and notes the version of the CLI. TestRecordedVersions of daemon/runtimes wants them of the pinned version.
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, cli := range All() {
		t.Run(string(cli), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			t.Cleanup(func() { <-slots })
			play(t, cli, false, scenes())
			play(t, cli, true, askScenes())
			play(t, cli, false, limitScenes())
			if *update && !t.Failed() {
				writeFile(t, filepath.Join(screensDir, string(cli), "version"), version(cli)+"\n")
			}
		})
	}
}

// play holds the recorded screens of some scenes against what they must show. With -update it records them before, in one
// session of the CLI.
func play(t *testing.T, cli CLI, ask bool, all []scene) {
	all = slices.DeleteFunc(all, func(sc scene) bool { return sc.want[cli]+sc.want[""] == "" })
	if *update {
		record(t, cli, ask, all)
	}
	file := goldens{filepath.Join(screensDir, string(cli))}
	for _, sc := range all {
		want, wantTitle := sc.patterns(cli)
		if screen, title := file.read(t, sc.name); !want.MatchString(screen) || !wantTitle.MatchString(title) {
			t.Errorf("the recorded screen %s lacks %q or its title %q lacks %q: record it with -update", sc.name, want, title, wantTitle)
		}
	}
}

// patterns are what the screen and the title must show.
func (sc scene) patterns(cli CLI) (screen, title *regexp.Regexp) {
	return regexp.MustCompile(sc.want[cli] + sc.want[""]), regexp.MustCompile(sc.title[cli] + sc.title[""])
}

func record(t *testing.T, cli CLI, ask bool, all []scene) {
	api := NewFakeAPI(t, claudetest.Says("OK"))
	home := Env(t, cli, api)
	if ask {
		home.AskFirst(t, cli, api)
	}
	s := start(t, cli, api, home)
	s.ready()
	for _, sc := range all {
		if sc.script != nil {
			api.SetScript(sc.script)
		}
		if sc.play != nil {
			sc.play(s)
		}
		want, wantTitle := sc.patterns(cli)
		var screen, title string
		s.still("the scene "+sc.name+" with "+want.String(), func(nowScreen, nowTitle string) (string, bool) {
			screen, title = nowScreen, nowTitle
			part := screen
			if sc.moves {
				part = ""
			}
			return part, want.MatchString(screen) && wantTitle.MatchString(title)
		})
		goldens{filepath.Join(screensDir, string(cli))}.write(t, sc.name, private(home, screen), private(home, title))
		if sc.after != nil {
			sc.after(s)
		}
	}
}

// private replaces the home's own path, of which oh-my-pi shows only the end.
func private(home Home, text string) string {
	root := filepath.Dir(home.Dir)
	text = strings.ReplaceAll(text, root, "/home/dev")
	if end, err := filepath.Rel(os.TempDir()+"/../..", root); err == nil {
		text = strings.ReplaceAll(text, end, "home/dev")
	}
	return text
}

// goldens is a directory of recorded screens: NAME.txt as tmux captures the pane, and the titles in titles.json.
type goldens struct{ dir string }

func (g goldens) titles(t *testing.T) map[string]string {
	t.Helper()
	titles := map[string]string{}
	b, err := os.ReadFile(filepath.Join(g.dir, "titles.json"))
	if os.IsNotExist(err) {
		return titles
	}
	must(t, err)
	must(t, json.Unmarshal(b, &titles))
	return titles
}

func (g goldens) write(t *testing.T, name, screen, title string) {
	t.Helper()
	titles := g.titles(t)
	titles[name] = strings.TrimRight(title, " ")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	must(t, enc.Encode(titles))
	writeFile(t, filepath.Join(g.dir, "titles.json"), b.String())
	writeFile(t, filepath.Join(g.dir, name+".txt"), screen)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func (g goldens) read(t *testing.T, name string) (screen, title string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name+".txt"))
	if err != nil {
		t.Errorf("%v: record it with -update", err)
	}
	return string(b), g.titles(t)[name]
}
