package tmux

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Key is one of the keys that this package can press. The set is fixed, so that a key's name never comes from an
// agent's text.
type Key uint8

// The keys.
const (
	Enter Key = iota + 1
	Escape
	CtrlC
	CtrlS
	CtrlU
	CtrlD
	Up
	Down
	Left
	Right
	Tab
	BackTab // Shift and Tab
	Backspace
	Delete
	Home
	End
	PageUp
	PageDown
)

var keyNames = [...]string{
	Enter: "Enter", Escape: "Escape", CtrlC: "C-c", CtrlS: "C-s", CtrlU: "C-u", CtrlD: "C-d", Up: "Up", Down: "Down", Left: "Left", Right: "Right",
	Tab: "Tab", BackTab: "BTab", Backspace: "BSpace", Delete: "DC", Home: "Home", End: "End", PageUp: "PPage", PageDown: "NPage",
}

// Valid says whether the key is one of the set.
func (k Key) Valid() bool { return k > 0 && int(k) < len(keyNames) }

// String returns tmux's name of the key, such as C-c.
func (k Key) String() string {
	if !k.Valid() {
		return fmt.Sprintf("Key(%d)", uint8(k))
	}
	return keyNames[k]
}

// PasteOptions are keys and conditions of a paste.
//
// tmux sends Before, the text and After in one pass of its event loop, so nothing can come between them. The
// program may still read all of them at once, and many programs take an Escape and the next bytes for one key.
//
// If Once is set, the paste happens at most one time. tmux notes Once on the pane in the same pass. A second paste
// with the same Once types nothing and returns ErrOnce. So a caller that was killed, and does not know whether it
// typed, may paste again. A pane remembers only the last Once. Once has up to 64 characters of a-z, 0-9 and -.
//
// If is what the pane must show and run. tmux compares it in the same pass. If it differs, tmux types nothing and Paste
// returns ErrChanged.
type PasteOptions struct {
	Before, After []Key
	Once          string
	If            Sight
}

// Paste sanitizes text and types it into a pane, as one bracketed paste if the program asked for
// brackets. If the pane is in a mode, such as scrolling, Paste leaves the mode first, because the mode would
// swallow keys and hide the program's request for brackets.
//
// ErrGone, ErrDead, ErrOnce, ErrChanged and ErrMissing mean that nothing was typed, as does the error for an empty
// text. After any other error the text may have been typed. A program that reads whole lines from its
// terminal gets at most 4095 bytes of each line; the kernel drops the rest.
func (s *Server) Paste(ctx context.Context, ref Ref, text string, opt PasteOptions) error {
	if err := ref.Check(); err != nil {
		return err
	}
	text = Sanitize(text)
	if text == "" {
		return fmt.Errorf("pane %s: there is no text to type", ref)
	}
	if err := opt.Check(); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	// Give each paste its own buffer. With a shared buffer, concurrent pastes would type each other's text and report
	// success.
	buffer := s.buffers + strconv.FormatUint(s.pastes.Add(1), 10)
	// -r types LF as LF and not as Enter, -p adds brackets, -d deletes the buffer.
	do := noteOnce(ref, opt.Once) + sendKeys(ref, opt.Before) +
		"paste-buffer -d -p -r -b " + buffer + " -t " + ref.Pane + " ; " + sendKeys(ref, opt.After)
	err := s.guarded(ctx, ref, call{
		stdin: text,
		cmds:  [][]string{{"load-buffer", "-b", buffer, "-"}},
	}, condition{opt.Once, opt.If}, do, "delete-buffer -b "+buffer+" ; ")
	if err != nil && !errors.Is(err, ErrGone) && !errors.Is(err, ErrDead) && !errors.Is(err, ErrOnce) && !errors.Is(err, ErrChanged) {
		s.dropBuffer(ctx, ref, buffer)
	}
	return err
}

// Keys presses keys in a pane, with the guard and the errors of Paste.
func (s *Server) Keys(ctx context.Context, ref Ref, keys ...Key) error {
	return s.Press(ctx, ref, Sight{}, keys...)
}

// Press presses keys in a pane if the pane's screen and program still match seen. Its errors are those of Paste.
func (s *Server) Press(ctx context.Context, ref Ref, seen Sight, keys ...Key) error {
	if err := ref.Check(); err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("pane %s: there are no keys to press", ref)
	}
	if err := (PasteOptions{Before: keys, If: seen}).Check(); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	return s.guarded(ctx, ref, call{}, condition{seen: seen}, sendKeys(ref, keys), "")
}

// MaxTyped is how many bytes one call of Type types at most.
const MaxTyped = 1000

// Type types text as a keyboard does, without the brackets of a paste, if the pane still matches seen. Its errors are those of
// Paste. It refuses a text with control characters: they would be keys.
func (s *Server) Type(ctx context.Context, ref Ref, seen Sight, text string) error {
	if err := ref.Check(); err != nil {
		return err
	}
	if err := (PasteOptions{If: seen}).Check(); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	if err := CheckTyped(text); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	// As numbers, because tmux would read some texts as keys, as the end of the command, or as a variable.
	do := "send-keys -t " + ref.Pane + " -H"
	for _, b := range []byte(text) {
		do += fmt.Sprintf(" %02x", b)
	}
	return s.guarded(ctx, ref, call{}, condition{seen: seen}, do+" ; ", "")
}

// CheckTyped returns an error if Type would refuse the text.
func CheckTyped(text string) error {
	switch {
	case text == "":
		return errors.New("there is no text to type")
	case len(text) > MaxTyped:
		return fmt.Errorf("the text has %d bytes, and %d may be typed at once", len(text), MaxTyped)
	case Sanitize(text) != text || strings.ContainsAny(text, "\t\n"):
		return errors.New("the text has control characters")
	}
	return nil
}

// A guarded list prints one of these, so that an empty output never counts as success. It prints typed if it ran, and
// otherwise the identity of the target pane.
const (
	typed    = "typed"
	identity = "#{pane_id} #{pid} #{start_time} #{pane_dead} #{@understudy_once} #{@understudy}"
)

// condition must hold for a pane before anything is typed into it: the token once is not noted on the pane, and the pane
// still matches seen. Besides, the pane must be the one of the Ref, and alive.
type condition struct {
	once string
	seen Sight
}

// guarded runs c. If the pane is the one of ref, is alive and fulfils the condition, it then runs the list do.
// If not, it runs the list otherwise, and returns an error that says why. tmux tests the condition and runs the list in
// one pass of its event loop, so nothing can end the pane between the two.
func (s *Server) guarded(ctx context.Context, ref Ref, c call, when condition, do, otherwise string) error {
	c.socket, c.server = ref.Socket, ref.ServerPID
	c.cmds = append(c.cmds, []string{
		"if-shell", "-F", "-t", ref.Pane, guard(ref, when.format()),
		// The space before the semicolon is needed: "%5;" is a syntax error.
		"copy-mode -q -t " + ref.Pane + " ; " + do + "display-message -p " + typed,
		otherwise + "display-message -p -t " + ref.Pane + " '" + identity + "'",
	})
	out, err := s.run(ctx, c)
	if errors.Is(err, ErrNoServer) {
		return fmt.Errorf("pane %s: %w", ref, ErrGone)
	}
	if err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	answer := strings.TrimSuffix(out, "\n")
	if answer == typed {
		return nil
	}
	return fmt.Errorf("pane %s: %w", ref, refusal(ref, when, answer))
}

// refusal returns the reason why nothing was typed; answer is a line of the format identity. If the pane is dead but its
// once is already noted, refusal returns ErrOnce: after ErrDead the caller would believe that the text was never typed.
func refusal(ref Ref, when condition, answer string) error {
	f := strings.SplitN(answer, " ", 6)
	switch {
	case len(f) != 6:
		return fmt.Errorf("tmux did not say whether it typed: %q", answer)
	case f[0] != ref.Pane || f[1] != strconv.Itoa(ref.ServerPID) || f[2] != strconv.FormatInt(ref.ServerStart, 10):
		return ErrGone
	case when.once != "" && f[4] == when.once:
		return ErrOnce
	case when.seen.Mark != "" && f[5] != when.seen.Mark:
		return ErrGone
	case f[3] == "1":
		return ErrDead
	case when.seen.Command != "" || when.seen.Row != "":
		return ErrChanged
	}
	return fmt.Errorf("tmux refused without a reason: %q", answer)
}

// guard returns a tmux format that is true if the target is exactly ref's pane and condition holds. tmux also
// evaluates the format for a pane that is gone; pane_id is then empty. Use the format only in if-shell, because
// display-message would read the %5 in it as part of a date.
func guard(ref Ref, condition string) string {
	return fmt.Sprintf("#{&&:#{==:#{pane_id},%s},#{&&:#{==:#{pid},%d},#{&&:#{==:#{start_time},%d},%s}}}",
		ref.Pane, ref.ServerPID, ref.ServerStart, condition)
}

var onceToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9-]{0,64}$`) })

// format returns the condition as a tmux format.
func (c condition) format() string {
	all := "#{==:#{pane_dead},0}"
	and := func(format string) { all = "#{&&:" + all + "," + format + "}" }
	if c.once != "" {
		and("#{!=:#{@understudy_once}," + c.once + "}")
	}
	if c.seen.Mark != "" {
		and(marked(c.seen.Mark))
	}
	if c.seen.Command != "" {
		and("#{m/r:^" + pattern(c.seen.Command) + "$,#{pane_current_command}}")
	}
	if c.seen.Row != "" {
		and("#{C/r:^" + pattern(c.seen.Row) + "$}")
	}
	return all
}

// marked is a tmux format that is true if the pane has the mark, which has only characters of [onceToken].
func marked(mark string) string { return "#{==:#{@understudy}," + mark + "}" }

// noteOnce returns the command that notes the token on the pane.
func noteOnce(ref Ref, once string) string {
	if once == "" {
		return ""
	}
	return "set-option -p -t " + ref.Pane + " @understudy_once " + once + " ; "
}

// Check returns an error if a key is not in the set, or if Once or the mark has characters that it must not have. Check them,
// because they become part of a tmux command.
func (o PasteOptions) Check() error {
	for _, key := range slices.Concat(o.Before, o.After) {
		if !key.Valid() {
			return fmt.Errorf("%v is not a key that may be pressed", key)
		}
	}
	if !onceToken().MatchString(o.Once) {
		return fmt.Errorf("once %q: want up to 64 of a-z, 0-9 and -", o.Once)
	}
	if !onceToken().MatchString(o.If.Mark) {
		return fmt.Errorf("mark %q: want up to 64 of a-z, 0-9 and -", o.If.Mark)
	}
	return nil
}

func sendKeys(ref Ref, keys []Key) string {
	if len(keys) == 0 {
		return ""
	}
	cmd := "send-keys -t " + ref.Pane
	for _, key := range keys {
		cmd += " " + key.String()
	}
	return cmd + " ; "
}

// dropBuffer deletes the buffer that an interrupted paste may have left. Otherwise the text would stay in the server's
// memory, where each of the server's clients can read it. It ignores errors, because nothing more can be done.
func (s *Server) dropBuffer(ctx context.Context, ref Ref, buffer string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{{"delete-buffer", "-b", buffer}}})
}
