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

// Key is one of the keys that may be pressed. The set is closed, so that a key's name never comes from
// a text.
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
)

var keyNames = [...]string{Enter: "Enter", Escape: "Escape", CtrlC: "C-c", CtrlS: "C-s", CtrlU: "C-u", CtrlD: "C-d", Up: "Up", Down: "Down"}

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
// tmux sends Before, the text and After in one pass of its event loop, so nothing can come between. The
// program may still read them all at once, and many programs take an Escape and the next bytes for one key.
//
// Once, if set, makes the paste happen at most once: in the same pass the server notes it on the pane,
// and a second paste with the same Once types nothing and returns ErrOnce. So a caller that was killed,
// and does not know whether it typed, may paste again. A pane remembers only the last Once. It has up to
// 64 of a-z, 0-9 and -.
//
// If says what the pane must show and run in that pass. Otherwise nothing is typed and Paste returns
// ErrChanged.
type PasteOptions struct {
	Before, After []Key
	Once          string
	If            Sight
}

// Paste sanitizes text and types it into a pane, as one bracketed paste if the program asked for
// brackets. If the pane is in a mode, such as scrolling, Paste leaves the mode first, because it would
// swallow keys and hide the program's request for brackets.
//
// ErrGone, ErrDead, ErrOnce and ErrChanged mean that nothing was typed, as does the error for an empty
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
	// Concurrent pastes from a buffer with a fixed name, or none, would type each other's text and report success.
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

// Press presses keys in a pane if it still shows and runs what the caller saw, with the errors of Paste.
func (s *Server) Press(ctx context.Context, ref Ref, seen Sight, keys ...Key) error {
	if err := ref.Check(); err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("pane %s: there are no keys to press", ref)
	}
	if err := (PasteOptions{Before: keys}).Check(); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	return s.guarded(ctx, ref, call{}, condition{seen: seen}, sendKeys(ref, keys), "")
}

// A guarded list prints one of these, so that silence never counts as success: the word typed, or the
// identity of the pane that is there instead.
const (
	typed    = "typed"
	identity = "#{pane_id} #{pid} #{start_time} #{pane_dead} #{@understudy_once}"
)

// condition must hold for a pane besides its identity and being alive: it does not have the token once
// noted on it, and it still is as it was seen.
type condition struct {
	once string
	seen Sight
}

// guarded runs c, and then the list do, but only if the pane is the one that ref means and the condition
// holds. If not, it runs otherwise. tmux tests the condition and runs the list in one pass of its event
// loop, so nothing can end the pane in between.
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

// refusal says why nothing was typed; answer is a line of the format identity. For a dead pane that was
// typed into before it returns ErrOnce: after ErrDead the caller would believe that nothing was ever typed.
func refusal(ref Ref, when condition, answer string) error {
	f := strings.Split(answer, " ")
	switch {
	case len(f) != 5:
		return fmt.Errorf("tmux did not say whether it typed: %q", answer)
	case f[0] != ref.Pane || f[1] != strconv.Itoa(ref.ServerPID) || f[2] != strconv.FormatInt(ref.ServerStart, 10):
		return ErrGone
	case when.once != "" && f[4] == when.once:
		return ErrOnce
	case f[3] == "1":
		return ErrDead
	case when.seen != Sight{}:
		return ErrChanged
	}
	return fmt.Errorf("tmux refused without a reason: %q", answer)
}

// guard is the format that is true if the target is exactly ref's pane and condition holds. tmux also
// evaluates it for a pane that is gone, with an empty pane_id. It is for if-shell only:
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
	if c.seen.Command != "" {
		and("#{m/r:^" + pattern(c.seen.Command) + "$,#{pane_current_command}}")
	}
	if c.seen.Row != "" {
		and("#{C/r:^" + pattern(c.seen.Row) + "$}")
	}
	return all
}

// noteOnce returns the command that notes the token on the pane.
func noteOnce(ref Ref, once string) string {
	if once == "" {
		return ""
	}
	return "set-option -p -t " + ref.Pane + " @understudy_once " + once + " ; "
}

// Check returns an error for a key outside the set or a Once with other characters. Both become part
// of a command.
func (o PasteOptions) Check() error {
	for _, key := range slices.Concat(o.Before, o.After) {
		if !key.Valid() {
			return fmt.Errorf("%v is not a key that may be pressed", key)
		}
	}
	if !onceToken().MatchString(o.Once) {
		return fmt.Errorf("once %q: want up to 64 of a-z, 0-9 and -", o.Once)
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

// dropBuffer deletes the buffer that an interrupted paste may have left, so that the text does not stay
// in the server's memory, where every client of it can read it. It ignores errors: nothing more can be done.
func (s *Server) dropBuffer(ctx context.Context, ref Ref, buffer string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{{"delete-buffer", "-b", buffer}}})
}
