package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const (
	defaultWidth  = 200
	defaultHeight = 50
	maxSide       = 10000 // tmux's own limit
	maxMark       = 256
	maxSpawns     = 3     // how often Spawn tries again because the server is gone
	maxArgv       = 13000 // leaves room for the rest of Spawn's command list in maxArgs
)

// sessionName matches valid names. They contain no characters of tmux's target syntax (".", ":", "=") or format syntax,
// because a "#(…)" in a name would run a shell.
var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,99}$`) })

// Spec says what to run in a new pane.
type Spec struct {
	Session string   // the new session's name: a-z, 0-9, _ and -; it starts with a letter or digit
	Dir     string   // working directory, absolute
	Argv    []string // the program and its arguments, passed byte for byte and never through a shell
	Mark    string   // option @understudy of the pane, which List returns; at most 256 bytes
	Width   int      // columns; 0 means 200
	Height  int      // lines; 0 means 50
}

// Spawn starts a program in a new session of our own server. If the server does not run, Spawn starts it. The
// program gets the tmux server's environment, which is minimal and has no secrets. If the program needs other
// variables, a wrapper must set them. Arguments are visible in ps and limited to 13 kB in total.
//
// While a server ends and another starts, Spawn tries again. ErrLost means that the server ended before it answered: the
// program may have run in it, and has ended with it. ErrExists means that another session has the name, perhaps after an interrupted Spawn. Every pane of Spawn has its
// mark, so List shows who started it. If the program exits at once, Spawn returns no error: the pane is dead and has
// the program's last screen.
func (s *Server) Spawn(ctx context.Context, spec Spec) (PaneInfo, error) {
	spec, err := spec.Checked()
	if err != nil {
		return PaneInfo{}, err
	}
	var out string
	for tries := 0; ; tries++ {
		if err := s.awake(ctx); err != nil {
			return PaneInfo{}, err
		}
		out, err = s.run(ctx, spec.call(s.socket))
		if !errors.Is(err, ErrNoServer) || errors.Is(err, ErrLost) || tries == maxSpawns {
			break
		}
	}
	if err != nil {
		has := call{socket: s.socket, cmds: [][]string{{"has-session", "-t", "=" + spec.Session}}}
		if _, hasErr := s.run(ctx, has); hasErr == nil {
			return PaneInfo{}, fmt.Errorf("session %s: %w", spec.Session, ErrExists)
		}
		return PaneInfo{}, fmt.Errorf("session %s: %w", spec.Session, err)
	}
	panes := parsePanes(s.socket, out)
	if len(panes) != 1 {
		return PaneInfo{}, fmt.Errorf("session %s: tmux described its pane as %q", spec.Session, out)
	}
	return panes[0], nil
}

// awake starts our own server unless it answers. A server that is about to end may still take a client, and then nobody knows
// what it did; so Spawn asks it for something harmless first.
func (s *Server) awake(ctx context.Context) error {
	if s.started.Load() {
		_, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{{"display-message", "-p", "#{pid}"}}})
		if !errors.Is(err, ErrNoServer) {
			return err
		}
	}
	return s.Start(ctx)
}

// call creates the session and marks its pane in one list, so that no pane ever lacks its mark. It sets the directory
// by running the tmux client there, because tmux would expand the argument of -c as a format.
func (spec Spec) call(socket string) call {
	target := "=" + spec.Session + ":" // exactly this session
	create := []string{
		"new-session", "-d", "-E", "-s", spec.Session, "-n", spec.Session,
		"-x", strconv.Itoa(spec.Width), "-y", strconv.Itoa(spec.Height), "--",
	}
	return call{socket: socket, dir: spec.Dir, cmds: [][]string{
		append(create, spec.Argv...),
		{"set-option", "-p", "-t", target, "--", "@understudy", spec.Mark},
		// Set the size again, because the size of a client of another session may have changed it. resize-window also
		// fixes the size.
		{"resize-window", "-t", target, "-x", strconv.Itoa(spec.Width), "-y", strconv.Itoa(spec.Height)},
		{"display-message", "-p", "-t", target, paneFormat},
	}}
}

// Checked returns the Spec as Spawn uses it, with defaults and the program's full path. It returns an error if tmux could
// not run it. tmux itself reports no error: if the program does not exist, new-session succeeds and runs nothing; if the
// directory does not exist, it runs the program in another one.
func (spec Spec) Checked() (Spec, error) {
	if !sessionName().MatchString(spec.Session) {
		return spec, fmt.Errorf("session name %q: want up to 100 of a-z, 0-9, _ and -, starting with a letter or digit", spec.Session)
	}
	if len(spec.Mark) > maxMark || strings.ContainsFunc(spec.Mark, isControl) {
		return spec, fmt.Errorf("session %s: the mark is longer than %d bytes or contains control characters", spec.Session, maxMark)
	}
	if spec.Width == 0 {
		spec.Width = defaultWidth
	}
	if spec.Height == 0 {
		spec.Height = defaultHeight
	}
	if min(spec.Width, spec.Height) < 1 || max(spec.Width, spec.Height) > maxSide {
		return spec, fmt.Errorf("session %s: a size of %d×%d is not possible", spec.Session, spec.Width, spec.Height)
	}
	if !filepath.IsAbs(spec.Dir) {
		return spec, fmt.Errorf("session %s: the directory %q must be absolute", spec.Session, spec.Dir)
	}
	if info, err := os.Stat(spec.Dir); err != nil {
		return spec, fmt.Errorf("session %s: %w", spec.Session, err)
	} else if !info.IsDir() {
		return spec, fmt.Errorf("session %s: %s is not a directory", spec.Session, spec.Dir)
	}
	argv, err := commandLine(spec.Argv)
	if err != nil {
		return spec, fmt.Errorf("session %s: %w", spec.Session, err)
	}
	if n := size(argv); n > maxArgv {
		return spec, fmt.Errorf("session %s: the command line has %d bytes and tmux accepts %d; pass long arguments in a file",
			spec.Session, n, maxArgv)
	}
	spec.Argv = argv
	return spec, nil
}

// commandLine returns argv with the program's full path, and with at least two words, because tmux gives
// a single word to a shell.
func commandLine(argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, errors.New("no program to run")
	}
	for _, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return nil, errors.New("an argument contains a NUL byte")
		}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("program %q: want an absolute path or a name in PATH", argv[0])
	}
	argv = append([]string{path}, argv[1:]...)
	if len(argv) == 1 {
		argv = []string{"env", "--", path}
	}
	return argv, nil
}
