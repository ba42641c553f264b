package tmux_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// texts are texts that at least one way of typing into tmux gets wrong.
var texts = []string{
	"x", " ", "\n", "\t", ";", `\;`, "rm x;", "a;b ; kill-server", `"`, `'`, `\`, `\\`, "$HOME", "`id`", "#(id)", "#{pid}",
	"##", "%end 1 2 3", "%begin 1 1 1\n%end 1 1 1", "{}", "~", "-n", "--", "-t %0", "Enter", "C-c", "Escape", "!", "/exit",
	"a\nb", "a\n\nb\n", "\n\na", "tab\there", "é ü ß", "日本語", "👩‍👩‍👧", "e\u0301", "\u200b", "\uFEFF", "\uFFFD", "\U0010FFFF",
	"[201~", "trailing ", "trailing\n", "typed", strings.Repeat("0123456789abcdef", 256), strings.Repeat("y\n", 3000),
	strings.Repeat("日本;'\"\n", 4000),
}

func TestPasteDeliversBytes(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	r := newReader(t, s, "reader")
	for _, text := range texts {
		paste(t, s, r.Ref, text)
		r.expect(t, bracketed(text))
	}
	for text, want := range map[string]string{
		"a\x1b[201~\rrm -rf /\r": "a[201~\nrm -rf /\n",
		"a\x00b":                 "ab",
		"a\xff\xfeb":             "a\uFFFD\uFFFDb",
		"a\u009b201~b":           "a201~b",
	} {
		paste(t, s, r.Ref, text)
		r.expect(t, bracketed(want))
	}
	equal(t, "buffers are left", command(t, r.Socket, "list-buffers"), "")
}

func TestKeysAreKeys(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	r := newReader(t, s, "reader")
	must(t, s.Keys(t.Context(), r.Ref, tmux.Enter, tmux.CtrlC, tmux.CtrlS, tmux.CtrlU, tmux.CtrlD, tmux.Up, tmux.Down, tmux.Escape))
	r.expect(t, "\r\x03\x13\x15\x04\x1b[A\x1b[B\x1b")
	err := s.Paste(t.Context(), r.Ref, "text", tmux.PasteOptions{Before: []tmux.Key{tmux.CtrlS, tmux.CtrlU}, After: []tmux.Key{tmux.Enter, tmux.Up}})
	must(t, err)
	r.expect(t, "\x13\x15"+bracketed("text")+"\r\x1b[A")
}

// TestModesAreLeft: in a mode tmux swallows keys, some keys block the client for ever, and pastes lose their brackets.
func TestModesAreLeft(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	r := newReader(t, s, "reader")
	for _, mode := range []string{"copy-mode", "clock-mode", "choose-tree"} {
		command(t, r.Socket, mode, "-t", r.Pane)
		if pane, err := s.Inspect(t.Context(), r.Ref); err != nil || !pane.InMode {
			t.Fatalf("%s: got %+v, %v, want a pane in a mode", mode, pane, err)
		}
		paste(t, s, r.Ref, "fix q bug")
		r.expect(t, bracketed("fix q bug"))
		command(t, r.Socket, mode, "-t", r.Pane)
		must(t, s.Keys(t.Context(), r.Ref, tmux.Up))
		r.expect(t, "\x1b[A")
	}
}

func TestConcurrentPastesDoNotMix(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	const panes, pastes = 5, 12
	var wg sync.WaitGroup
	for i := range panes {
		r := newReader(t, s, fmt.Sprintf("reader-%d", i))
		wg.Go(func() {
			for j := range pastes {
				text := fmt.Sprintf("pane %d paste %d %s", i, j, strings.Repeat("z", 500))
				if err := s.Paste(t.Context(), r.Ref, text, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
		defer func() {
			for j := range pastes {
				r.expect(t, bracketed(fmt.Sprintf("pane %d paste %d %s", i, j, strings.Repeat("z", 500)))+"\r")
			}
		}()
	}
	wg.Wait()
}

// TestPasteIntoDyingPanes: a paste into a pane that dies at the same moment must not end the server, and
// may fail only with ErrDead or ErrGone.
func TestPasteIntoDyingPanes(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	keep := newReader(t, s, "keep")
	counts := map[string]int{}
	for i := 0; i < 25 || counts["typed"] == 0 && i < 50; i++ {
		life := time.Duration(i) * time.Millisecond
		if i >= 25 { // the machine is so busy that each pane was dead before its first paste
			life = time.Duration(i-24) * 50 * time.Millisecond
		}
		pane := made(t, s, tmux.Spec{
			Session: fmt.Sprintf("p%d", i), Dir: "/",
			Argv: []string{"sleep", fmt.Sprint(life.Seconds())},
		})
		for dead := 0; dead < 3; {
			err := s.Paste(t.Context(), pane.Ref, "are you there?", tmux.PasteOptions{After: []tmux.Key{tmux.Enter}})
			switch {
			case err == nil:
				counts["typed"]++
			case errors.Is(err, tmux.ErrDead):
				counts["dead"]++
				dead++
			default:
				t.Fatal(err)
			}
		}
	}
	if counts["typed"] == 0 || counts["dead"] == 0 {
		t.Errorf("not a test of both: %v", counts)
	}
	paste(t, s, keep.Ref, "alive")
	keep.expect(t, bracketed("alive"))
}

func TestNoPrefixTargets(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	p1, p10 := newReader(t, s, "p1"), newReader(t, s, "p10")
	must(t, s.Kill(t.Context(), p1.Ref))
	wantErr(t, "paste to a pane that has moved", s.Paste(t.Context(), p1.Ref, "for p1", tmux.PasteOptions{}), tmux.ErrGone)
	command(t, p10.Socket, "rename-session", "-t", "=p10", "other") // an id stays the same when a person changes a name
	paste(t, s, p10.Ref, "for p10")
	p10.expect(t, bracketed("for p10"))
	newReader(t, s, "p1")
}

// TestSpawnInStrangeDirectories: tmux expands formats in a directory given to -c, and #(…) runs a shell.
func TestSpawnInStrangeDirectories(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	base := value(filepath.EvalSymlinks(t.TempDir()))(t)
	for i, name := range []string{"#(touch hit)", "a#[b]##c", "##[x", "#{pid}", "%H", "end;", "-d", "sp ace", "é"} {
		dir := filepath.Join(base, name)
		must(t, os.Mkdir(dir, 0o700))
		pane := made(t, s, tmux.Spec{
			Session: fmt.Sprintf("d%d", i), Dir: dir, Argv: []string{"sh", "-c", "pwd > out.tmp; mv out.tmp out; sleep 100"},
		})
		tmuxtest.Eventually(t, "the program writes to "+dir, func() bool {
			_, err := os.Stat(filepath.Join(dir, "out"))
			return err == nil
		})
		equal(t, "pane "+pane.Pane+" runs in", string(value(os.ReadFile(filepath.Join(dir, "out")))(t)), dir+"\n")
	}
	for _, where := range []string{base, "/", filepath.Join(base, "#(touch hit)")} {
		failed(os.Stat(filepath.Join(where, "hit")))(t, "a directory's name was run as a command in "+where)
	}
}

func TestSpawnPassesArgumentsOn(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"a;", `b\;`, ";", "$HOME", "`id`", "#(id)", "sp ace", "", "new\nline", "'", "é", "--", "-x"}
	argv := append([]string{"sh", "-c", `for a in "$@"; do printf '<%s>' "$a"; done > "$0.tmp"; mv "$0.tmp" "$0"`, out}, args...)
	value(s.Spawn(t.Context(), tmux.Spec{Session: "a", Dir: "/", Argv: argv, Mark: "#(touch /tmp/x) $HOME;"}))(t)
	tmuxtest.Eventually(t, "the program has written", func() bool { _, err := os.Stat(out); return err == nil })
	got, err := os.ReadFile(out)
	if want := "<" + strings.Join(args, "><") + ">"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if panes, err := s.List(t.Context()); err != nil || len(panes) != 1 || panes[0].Mark != "#(touch /tmp/x) $HOME;" {
		t.Errorf("got %+v, %v", panes, err)
	}
}

// TestSpawnOfOneWord: tmux would take a single word for a shell's command line.
func TestSpawnOfOneWord(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "pro gram;touch hit")
	writeProgram(t, program, "#!/bin/sh\ntouch ran\nsleep 100\n")
	value(s.Spawn(t.Context(), tmux.Spec{Session: "a", Dir: dir, Argv: []string{program}}))(t)
	tmuxtest.Eventually(t, "the program ran", func() bool { _, err := os.Stat(filepath.Join(dir, "ran")); return err == nil })
	failed(os.Stat(filepath.Join(dir, "hit")))(t, "the program's name went through a shell")
}

func TestStrangeNamesAndTitlesStayOneLine(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "a\nb\tc")
	writeProgram(t, program, string(value(os.ReadFile("/bin/sleep"))(t)))
	pane := made(t, s, tmux.Spec{Session: "a", Dir: "/", Argv: []string{program, "100"}})
	command(t, pane.Socket, "select-pane", "-t", pane.Pane, "-T", "title | é")
	var panes []tmux.PaneInfo
	var err error
	tmuxtest.Eventually(t, "the program runs", func() bool {
		panes, err = s.List(t.Context())
		return err != nil || len(panes) == 1 && panes[0].CurrentCommand == "a?b?c"
	})
	if err != nil || panes[0].Title != "title | é" {
		t.Errorf("got title %q, %v", panes[0].Title, err)
	}
}

func TestCaptureOfMany(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	pane := made(t, s, tmux.Spec{Session: "a", Dir: "/", Argv: []string{"sh", "-c", "printf '\\033[31mred\\033[0m'; sleep 100"}})
	refs := []tmux.Ref{}
	for i := range 300 { // more panes than fit into one command line; all but one are gone
		ref := pane.Ref
		ref.Pane = fmt.Sprintf("%%%d", 100000+i)
		refs = append(refs, ref)
	}
	refs = append(refs, pane.Ref)
	for _, ansi := range []bool{false, true} {
		tmuxtest.Eventually(t, "the screen is there", func() bool {
			screens := value(s.Capture(t.Context(), 0, ansi, refs...))(t)
			got := screens[pane.Pane]
			return len(screens) == 1 && strings.Contains(got, "red") && strings.Contains(got, "\x1b[31m") == ansi
		})
	}
}

// TestKillTakesTheProcessGroup: the pane's process group ends even if it ignores the hangup; the server stays.
func TestKillTakesTheProcessGroup(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	pids := filepath.Join(t.TempDir(), "pids")
	pane := made(t, s, tmux.Spec{Session: "a", Dir: "/", Argv: []string{
		"sh", "-c", `trap "" HUP; sleep 1000 & echo $! > "$0.tmp"; mv "$0.tmp" "$0"; sleep 1000`, pids,
	}})
	var child int
	tmuxtest.Eventually(t, "the child runs", func() bool {
		b, err := os.ReadFile(pids)
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(b), &child)
		return err == nil
	})
	leader := found(t, pane.PID)
	follower := found(t, child)
	if !follower.IsDescendantOf(pane.PID) || !follower.IsDescendantOf(pane.ServerPID) || leader.IsDescendantOf(child) {
		t.Error("the child is not a descendant of its pane")
	}
	must(t, s.Kill(t.Context(), pane.Ref))
	isGone(t, leader)
	isGone(t, follower)
}

// BenchmarkPaste2kB measures from the call to the last byte read by the program in the pane.
func BenchmarkPaste2kB(b *testing.B) {
	s := tmuxtest.Server(b)
	r := newReader(b, s, "reader")
	text := strings.Repeat("The quick brown fox; 'jumps' over $HOME.\n", 50)
	want := bracketed(text) + "\r"
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		must(b, s.Paste(b.Context(), r.Ref, text, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}))
		r.expect(b, want)
		took = append(took, time.Since(start))
	}
	reportPercentiles(b, took)
}
