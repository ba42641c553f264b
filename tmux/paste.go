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

// Key is one of the keys that may be pressed. The set is closed: a key's name never comes from a
// text.
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

// PasteOptions are keys that belong to a paste. They are sent in the same event-loop pass of the
// server, so nothing can come between, but a program may still read them together with the text,
// and many take an Escape and what follows it for one key.
//
// Once, if set, makes the paste happen at most once: the server notes it on the pane in the same
// pass, and a paste with the Once that is noted there types nothing and returns ErrOnce. So a
// caller that was killed, and can't tell whether it typed, may just paste again. A pane remembers
// only the last one. It is up to 64 of a-z, 0-9 and -.
//
// If is what the pane must show and run, in the same pass, or nothing is typed and ErrChanged returned.
type PasteOptions struct {
	Before, After []Key
	Once          string
	If            Sight
}

// Paste types text into a pane, sanitized, as one bracketed paste if the program asked for those.
// If the pane is scrolled or in another mode, the mode is left first, because it would swallow
// keys and hide the program's wish for brackets.
//
// It returns ErrGone, ErrDead, ErrOnce or ErrChanged when nothing was typed for that reason, and an error for a
// text with nothing in it. After any other error the text may have been typed. A program that reads
// lines from its terminal gets at most 4095 bytes of each; the kernel drops the rest.
func (s *Server) Paste(ctx context.Context, ref Ref, text string, opt PasteOptions) error {
	if err := ref.check(); err != nil {
		return err
	}
	text = Sanitize(text)
	if text == "" {
		return fmt.Errorf("pane %s: there is no text to type", ref)
	}
	if err := opt.Check(); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	// With a fixed name, or none, concurrent pastes get each other's text, and report success.
	buffer := s.buffers + strconv.FormatUint(s.pastes.Add(1), 10)
	// -r keeps LF from becoming Enter, -p brackets, -d deletes the buffer.
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

// Press presses keys in a pane that still shows and runs what was seen, with the errors of Paste.
func (s *Server) Press(ctx context.Context, ref Ref, seen Sight, keys ...Key) error {
	if err := ref.check(); err != nil {
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

// What a guarded list prints, so that success is never assumed from silence: this word, or which
// pane there is instead.
const (
	typed    = "typed"
	identity = "#{pane_id} #{pid} #{start_time} #{pane_dead} #{@understudy_once}"
)

// condition is what must hold of a pane beside its identity: it is alive, does not have the token noted
// on it, and is as it was seen.
type condition struct {
	once string
	seen Sight
}

// guarded runs c and then do, the latter only if the pane is the one that ref means and the condition
// holds; else it runs otherwise. The test and what depends on it are
// one pass of the server's event loop: nothing can end the pane in between.
func (s *Server) guarded(ctx context.Context, ref Ref, c call, when condition, do, otherwise string) error {
	c.socket, c.server = ref.Socket, ref.ServerPID
	c.cmds = append(c.cmds, []string{
		"if-shell", "-F", "-t", ref.Pane, guard(ref, when.format()),
		// The space before the semicolon counts: "%5;" is a syntax error.
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

// refusal says why nothing was typed, from a line of the format identity. Of a dead pane that was
// typed into before it says the latter: after ErrDead a caller believes that it never was.
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

// guard is the format that is true if the target is exactly ref's pane and condition holds. For a
// pane that is gone tmux evaluates it too, with an empty pane_id. It is for if-shell only:
// display-message would read the %5 in it as a part of a date.
func guard(ref Ref, condition string) string {
	return fmt.Sprintf("#{&&:#{==:#{pane_id},%s},#{&&:#{==:#{pid},%d},#{&&:#{==:#{start_time},%d},%s}}}",
		ref.Pane, ref.ServerPID, ref.ServerStart, condition)
}

var onceToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9-]{0,64}$`) })

// format is the condition in tmux's words.
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

// noteOnce is the command that notes the token on the pane.
func noteOnce(ref Ref, once string) string {
	if once == "" {
		return ""
	}
	return "set-option -p -t " + ref.Pane + " @understudy_once " + once + " ; "
}

// Check returns an error for a key outside the set or a Once with other characters: both become
// part of a command.
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

// dropBuffer deletes a buffer that an interrupted paste may have left, so that the text does not
// stay in the server's memory for everyone on it to read. It is the best that can be done.
func (s *Server) dropBuffer(ctx context.Context, ref Ref, buffer string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{{"delete-buffer", "-b", buffer}}})
}
