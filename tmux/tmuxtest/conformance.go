package tmuxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
)

// Maker makes panes and ends them.
type Maker interface {
	Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error)
	Respawn(ctx context.Context, at tmux.Place, spec tmux.Spec) (tmux.PaneInfo, error)
	Kill(ctx context.Context, ref tmux.Ref) error
	KillMarked(ctx context.Context, ref tmux.Ref, mark string) error
}

// Typist types into panes.
type Typist interface {
	Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error
	Keys(ctx context.Context, ref tmux.Ref, keys ...tmux.Key) error
	Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error
	Type(ctx context.Context, ref tmux.Ref, seen tmux.Sight, text string) error
}

// Viewer looks at panes.
type Viewer interface {
	List(ctx context.Context) ([]tmux.PaneInfo, error)
	Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error)
	Capture(ctx context.Context, lines int, ansi bool, refs ...tmux.Ref) (map[string]string, error)
	Look(ctx context.Context, ref tmux.Ref) (tmux.View, error)
}

// Terminal is the set of methods that [tmux.Server] and [Fake] share.
type Terminal interface {
	Maker
	Typist
	Viewer
}

var (
	_ Terminal = (*tmux.Server)(nil)
	_ Terminal = (*Fake)(nil)
)

// Conformance checks what users of a Terminal rely on. open returns a Terminal without panes.
func Conformance(t *testing.T, open func(t *testing.T) Terminal) {
	for name, check := range map[string]func(*testing.T, suite){
		"a pane is listed with its mark":    spawned,
		"a name can be taken once":          nameTaken,
		"what cannot run is refused":        spawnRefused,
		"a dead pane is taken over once":    takenOnce,
		"a closed place is not taken":       closedPlace,
		"a successor gets nothing":          successorLeftAlone,
		"text arrives":                      textArrives,
		"text arrives without controls":     textSanitized,
		"keys go before and after the text": keysAround,
		"nothing to type is an error":       nothingToType,
		"a paste can be made to be once":    pastedOnce,
		"a dead pane is not typed into":     deadPane,
		"a signal is told from a status":    deadBySignal,
		"another pane is not typed into":    anotherPane,
		"a changed pane is not typed into":  changedPane,
		"typed text is no key":              typedAsKeys,
		"looks at once are told apart":      looksAtOnce,
		"killed is gone":                    killed,
		"the last lines of a screen":        lastLines,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, suite{open(t)})
		})
	}
}

type suite struct{ Terminal }

// cat starts cat, which repeats its input on the screen, and waits until it does so.
func (s suite) cat(t *testing.T, session string) tmux.PaneInfo {
	t.Helper()
	return s.catOf(t, tmux.Spec{Session: session, Mark: "mark-" + session})
}

func (s suite) catOf(t *testing.T, spec tmux.Spec) tmux.PaneInfo {
	t.Helper()
	// Alone, cat closes its terminal before it exits, and tmux sometimes ends it with a hangup in between.
	spec.Dir, spec.Argv = "/", []string{"sh", "-c", "cat; exit 0"}
	pane, err := s.Spawn(t.Context(), spec)
	must(t, err)
	s.mustPaste(t, pane.Ref, "ready")
	s.waitScreen(t, pane.Ref, "ready\nready")
	return pane
}

func (s suite) waitScreen(t *testing.T, ref tmux.Ref, want string) string {
	t.Helper()
	var screen string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen of %s was %q", ref.Pane, screen)
		}
	})
	Eventually(t, fmt.Sprintf("the screen shows %q", want), func() bool {
		screens, err := s.Capture(t.Context(), 0, false, ref)
		must(t, err)
		screen = screens[ref.Pane]
		return strings.Contains(screen, want)
	})
	return screen
}

func (s suite) waitDead(t *testing.T, ref tmux.Ref) tmux.PaneInfo {
	t.Helper()
	var pane tmux.PaneInfo
	Eventually(t, "the pane is dead", func() bool {
		var err error
		if pane, err = s.Inspect(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		return pane.Dead && (pane.DeadStatus != nil || pane.DeadSignal != nil)
	})
	return pane
}

// mustPaste pastes a line and presses Enter.
func (s suite) mustPaste(t *testing.T, ref tmux.Ref, text string) {
	t.Helper()
	must(t, s.Paste(t.Context(), ref, text, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}))
}

// must ends the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func textArrives(t *testing.T, s suite) {
	pane, other := s.cat(t, "a"), s.cat(t, "b")
	s.mustPaste(t, pane.Ref, "-n héllo #(id) $HOME 'q' Enter C-c;")
	s.waitScreen(t, pane.Ref, "-n héllo #(id) $HOME 'q' Enter C-c;")
	s.mustPaste(t, other.Ref, "for the other")
	if screen := s.waitScreen(t, other.Ref, "for the other"); strings.Contains(screen, "héllo") {
		t.Errorf("the other pane shows %q", screen)
	}
	both, err := s.Capture(t.Context(), 0, false, other.Ref, pane.Ref)
	if err != nil || len(both) != 2 || !strings.Contains(both[pane.Pane], "héllo") || !strings.Contains(both[other.Pane], "other") {
		t.Errorf("both screens: %q, %v", both, err)
	}
}

func textSanitized(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	s.mustPaste(t, pane.Ref, "a\x1b[201~\x03b\x04\x7f\u009bc\xffd\r\ne")
	s.waitScreen(t, pane.Ref, "a[201~bc\uFFFDd\ne")
}

func keysAround(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	must(t, s.Paste(t.Context(), pane.Ref, "draft", tmux.PasteOptions{}))
	err := s.Paste(t.Context(), pane.Ref, "text", tmux.PasteOptions{
		Before: []tmux.Key{tmux.CtrlU},
		After:  []tmux.Key{tmux.Enter},
	})
	must(t, err)
	if screen := s.waitScreen(t, pane.Ref, "text\ntext"); strings.Contains(screen, "draft") {
		t.Errorf("got %q, want no draft", screen)
	}
}

func pastedOnce(t *testing.T, s suite) {
	pane, other := s.cat(t, "a"), s.cat(t, "b")
	once := func(ref tmux.Ref, text, token string) error {
		return s.Paste(t.Context(), ref, text, tmux.PasteOptions{Once: token, After: []tmux.Key{tmux.Enter}})
	}
	must(t, once(pane.Ref, "one", "delivery-1"))
	s.waitScreen(t, pane.Ref, "one\none")
	wantErr(t, "the second time", once(pane.Ref, "one", "delivery-1"), tmux.ErrOnce)
	if err := errors.Join(once(other.Ref, "elsewhere", "delivery-1"), once(pane.Ref, "two", "delivery-2")); err != nil {
		t.Errorf("on another pane, and with another token: %v", err)
	}
	if screen := s.waitScreen(t, pane.Ref, "two\ntwo"); strings.Count(screen, "one") != 2 {
		t.Errorf("got %q, want it typed once", screen)
	}
	for what, ref := range strangers(pane.Ref) {
		wantErr(t, what, once(ref, "wrong", "delivery-2"), tmux.ErrGone)
	}
	for _, token := range []string{"a b", "x;kill-server", "#{pid}", "é"} {
		if err := once(pane.Ref, "wrong", token); err == nil || errors.Is(err, tmux.ErrOnce) {
			t.Errorf("token %q: got %v, want an error", token, err)
		}
	}
	must(t, s.Keys(t.Context(), pane.Ref, tmux.CtrlD))
	s.waitDead(t, pane.Ref)
	// ErrOnce is the better answer: after ErrDead a caller would believe that nothing was typed.
	wantErr(t, "dead, typed before", once(pane.Ref, "two", "delivery-2"), tmux.ErrOnce)
	wantErr(t, "dead, not typed before", once(pane.Ref, "three", "delivery-3"), tmux.ErrDead)
}

func nothingToType(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	for _, text := range []string{"", "\x1b\x00"} {
		err := s.Paste(t.Context(), pane.Ref, text, tmux.PasteOptions{After: []tmux.Key{tmux.CtrlD}})
		if err == nil {
			t.Errorf("paste of %q: no error", text)
		}
	}
	if err := s.Keys(t.Context(), pane.Ref); err == nil {
		t.Error("no keys: no error")
	}
	if err := s.Keys(t.Context(), pane.Ref, tmux.Enter, tmux.Key(99)); err == nil {
		t.Error("a key that does not exist: no error")
	}
	if err := s.Paste(t.Context(), pane.Ref, "x", tmux.PasteOptions{Before: []tmux.Key{0}}); err == nil {
		t.Error("a zero key: no error")
	}
	s.mustPaste(t, pane.Ref, "first")
	if screen := s.waitScreen(t, pane.Ref, "first\nfirst"); screen != "ready\nready\nfirst\nfirst" {
		t.Errorf("something was typed before: %q", screen)
	}
}

func deadPane(t *testing.T, s suite) {
	pane, living := s.cat(t, "a"), s.cat(t, "b")
	s.mustPaste(t, pane.Ref, "last words")
	s.waitScreen(t, pane.Ref, "last words\nlast words")
	must(t, s.Keys(t.Context(), pane.Ref, tmux.CtrlD))
	if dead := s.waitDead(t, pane.Ref); dead.DeadStatus == nil || *dead.DeadStatus != 0 || dead.DeadSignal != nil {
		t.Errorf("got %+v, want status 0", dead)
	}
	for range 10 {
		wantErr(t, "paste", s.Paste(t.Context(), pane.Ref, "x", tmux.PasteOptions{}), tmux.ErrDead)
		wantErr(t, "keys", s.Keys(t.Context(), pane.Ref, tmux.Enter), tmux.ErrDead)
	}
	s.waitScreen(t, pane.Ref, "last words")
	s.mustPaste(t, living.Ref, "still here")
	s.waitScreen(t, living.Ref, "still here")
}

func deadBySignal(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	must(t, s.Keys(t.Context(), pane.Ref, tmux.CtrlC))
	// tmux 3.2 does not know the signal, and reports nothing.
	if dead := s.waitDead(t, pane.Ref); dead.DeadSignal == nil || *dead.DeadSignal != 2 || dead.DeadStatus != nil {
		t.Errorf("got %+v, want signal 2", dead)
	}
}

// strangers returns references that differ from ref in one field.
func strangers(ref tmux.Ref) map[string]tmux.Ref {
	pid, start, pane := ref, ref, ref
	pid.ServerPID++
	start.ServerStart++
	pane.Pane = "%4000000"
	return map[string]tmux.Ref{"another server": pid, "another start of the server": start, "another pane": pane}
}

func anotherPane(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	for what, ref := range strangers(pane.Ref) {
		wantErr(t, what+": paste", s.Paste(t.Context(), ref, "wrong", tmux.PasteOptions{
			Before: []tmux.Key{tmux.Enter}, After: []tmux.Key{tmux.CtrlD},
		}), tmux.ErrGone)
		wantErr(t, what+": keys", s.Keys(t.Context(), ref, tmux.CtrlD), tmux.ErrGone)
		_, err := s.Inspect(t.Context(), ref)
		wantErr(t, what+": inspect", err, tmux.ErrGone)
		if got, want := errors.Is(err, tmux.ErrNoServer), ref.ServerPID != pane.ServerPID; got != want {
			t.Errorf("%s: inspect says %v: the server is gone: %t, want %t", what, err, got, want)
		}
		screens, err := s.Capture(t.Context(), 0, false, ref)
		if err != nil || len(screens) != 0 {
			t.Errorf("%s: capture: got %v, %v, want nothing", what, screens, err)
		}
		if err := s.Kill(t.Context(), ref); err != nil {
			t.Errorf("%s: kill: %v", what, err)
		}
	}
	for _, ref := range []tmux.Ref{{}, {Socket: pane.Socket, ServerPID: 1, ServerStart: 1, Pane: "a:"}, {Pane: pane.Pane}} {
		if err := s.Paste(t.Context(), ref, "wrong", tmux.PasteOptions{}); err == nil {
			t.Errorf("paste to %+v: no error", ref)
		}
	}
	s.mustPaste(t, pane.Ref, "first")
	if screen := s.waitScreen(t, pane.Ref, "first\nfirst"); screen != "ready\nready\nfirst\nfirst" {
		t.Errorf("something was typed before: %q", screen)
	}
}

func killed(t *testing.T, s suite) {
	pane, other := s.cat(t, "a"), s.cat(t, "b")
	for range 2 {
		must(t, s.Kill(t.Context(), pane.Ref))
	}
	_, err := s.Inspect(t.Context(), pane.Ref)
	wantErr(t, "inspect", err, tmux.ErrGone)
	wantErr(t, "paste", s.Paste(t.Context(), pane.Ref, "x", tmux.PasteOptions{}), tmux.ErrGone)
	wantErr(t, "keys", s.Keys(t.Context(), pane.Ref, tmux.Enter), tmux.ErrGone)
	screens, err := s.Capture(t.Context(), 0, false, pane.Ref, other.Ref)
	if _, ok := screens[pane.Pane]; err != nil || ok || len(screens) != 1 {
		t.Errorf("capture: got %v, %v, want the other pane only", screens, err)
	}
	panes, err := s.List(t.Context())
	if err != nil || len(panes) != 1 || panes[0].Ref != other.Ref {
		t.Errorf("list: got %v, %v, want the other pane only", panes, err)
	}
	if again := s.cat(t, "a"); again.Pane == pane.Pane {
		t.Errorf("the new pane has the old one's id %s", again.Pane)
	}
}

func lastLines(t *testing.T, s suite) {
	pane := s.catOf(t, tmux.Spec{Session: "a", Width: 40, Height: 10})
	var text strings.Builder
	for i := range 30 {
		text.WriteString("line " + string(rune('A'+i)) + "\n")
	}
	s.mustPaste(t, pane.Ref, text.String()+"done")
	Eventually(t, "cat has repeated all lines", func() bool {
		history, err := s.Capture(t.Context(), 1000, false, pane.Ref)
		return err != nil || strings.Count(history[pane.Pane], "done") == 2
	})
	s.mustPaste(t, pane.Ref, "end")
	s.waitScreen(t, pane.Ref, "end\nend")
	for lines, want := range map[int]string{1: "end", 2: "end\nend"} {
		screens, err := s.Capture(t.Context(), lines, false, pane.Ref)
		if err != nil || screens[pane.Pane] != want {
			t.Errorf("%d lines: got %q, %v, want %q", lines, screens[pane.Pane], err, want)
		}
	}
	visible, err := s.Capture(t.Context(), 0, true, pane.Ref)
	if n := strings.Count(visible[pane.Pane], "\n"); err != nil || n > 9 || strings.Contains(visible[pane.Pane], "line A") {
		t.Errorf("visible: got %q, %v", visible[pane.Pane], err)
	}
	history, err := s.Capture(t.Context(), 1000, false, pane.Ref)
	if err != nil || !strings.HasPrefix(history[pane.Pane], "ready\nready\nline A") {
		t.Errorf("history: got %q, %v", history[pane.Pane], err)
	}
	if _, err := s.Capture(t.Context(), -1, false, pane.Ref); err == nil {
		t.Error("-1 lines: no error")
	}
}
