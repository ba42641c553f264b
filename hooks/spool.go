package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Envelope is one hook on its way to the daemon.
type Envelope struct {
	Key      string `json:"key"`              // unique, see [NewKey]
	Event    string `json:"event"`            // canonical
	Launch   string `json:"launch,omitempty"` // the launch secret, empty for agents of other origin
	Tmux     string `json:"tmux,omitempty"`   // $TMUX: socket, server pid, session
	Pane     string `json:"pane,omitempty"`   // $TMUX_PANE
	AgentPID int    `json:"agent_pid,omitempty"`
	// AgentStart and Boot tell the agent's process from one that has its id later: when it started, in
	// clock ticks since the boot with this id. Zero and empty where the system does not say.
	AgentStart uint64          `json:"agent_start,omitempty"`
	Boot       string          `json:"boot,omitempty"`
	At         time.Time       `json:"at"`   // when the hook started
	Body       json.RawMessage `json:"body"` // the CLI's own JSON; empty means {}
}

// NewKey returns a key for a hook that started at the given time: 32
// hexadecimal digits that sort by time, the second half random. It is unique,
// not secret.
func NewKey(at time.Time) string {
	return fmt.Sprintf("%016x%016x", at.UnixNano(), rand.Uint64())
}

// check says whether e may name a file and a header.
func (e Envelope) check() error {
	name, ok := Canonical(e.Event)
	if !ok || name != e.Event {
		return fmt.Errorf("hook event %.80q is not canonical", e.Event)
	}
	if !validKey(e.Key) {
		return fmt.Errorf("hook %s: key %.80q is not 1 to 64 letters, digits, - and _", e.Event, e.Key)
	}
	return nil
}

func validKey(key string) bool {
	for _, c := range []byte(key) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return 0 < len(key) && len(key) <= 64
}

const (
	maxSpoolFiles = 10_000
	maxSpoolBytes = 256 << 20
	maxSpoolFile  = MaxBody + 64<<10 // a body and its envelope
	tempPrefix    = ".new-"
	staleTemp     = time.Minute
)

// Spool is a directory of envelopes that could not be delivered, one file
// each, named {unix nanoseconds, 20 digits}-{key}.json.
type Spool struct {
	// OnBad, if set, is told of a file that is no envelope and where it was
	// moved to (bad/ in the spool). Set it before the first Drain.
	OnBad func(path string, err error)

	dir                string
	maxFiles, maxBytes int64
	draining           chan struct{} // holds one token while a Drain runs
}

// OpenSpool returns the spool in dir. Nothing is touched: the directory is made
// by the first Put, its parent never, so that a hook of a daemon that was
// removed does not bring its data directory back.
func OpenSpool(dir string) *Spool {
	return &Spool{dir: dir, maxFiles: maxSpoolFiles, maxBytes: maxSpoolBytes, draining: make(chan struct{}, 1)}
}

// Put adds e. It refuses when the spool holds 10 000 files or 256 MiB already.
// The file appears whole or not at all.
func (s *Spool) Put(e Envelope) error {
	text, err := encode(e)
	if err != nil {
		return fmt.Errorf("spool %s: %w", s.dir, err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("spool: %w", err)
	}
	if err := s.room(int64(len(text))); err != nil {
		return err
	}
	temp := filepath.Join(s.dir, tempPrefix+e.Key)
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("spool: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(s.dir, fileName(e))); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func fileName(e Envelope) string {
	return fmt.Sprintf("%020d-%s.json", max(0, e.At.UnixNano()), e.Key)
}

func encode(e Envelope) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if len(e.Body) == 0 {
		e.Body = json.RawMessage("{}")
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("hook %s: %w", e.Event, err)
	}
	if text.Len() > maxSpoolFile {
		return nil, fmt.Errorf("hook %s: %d bytes are more than the %d that are spooled", e.Event, text.Len(), maxSpoolFile)
	}
	return text.Bytes(), nil
}

// room says whether a file of more bytes fits. The sizes of the files are
// looked at only when their number alone does not prove that there is room.
func (s *Spool) room(more int64) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	n := int64(len(files))
	if n >= s.maxFiles {
		return fmt.Errorf("spool %s is full: %d files; start the daemon (understudy serve)", s.dir, n)
	}
	if n*maxSpoolFile+more <= s.maxBytes {
		return nil
	}
	total := more
	for _, name := range files {
		if info, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			total += info.Size()
		}
	}
	if total > s.maxBytes {
		return fmt.Errorf("spool %s is full: %d MiB; start the daemon (understudy serve)", s.dir, total>>20)
	}
	return nil
}

// files lists the names of spooled files, oldest first.
func (s *Spool) files() ([]string, error) {
	entries, err := os.ReadDir(s.dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	var files []string
	for _, e := range entries {
		if spooled(e.Name()) && !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	return files, nil
}

func spooled(name string) bool {
	return strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".")
}

// Empty reports whether there is nothing to drain; a spool that does not exist
// is empty. It is cheap enough to be asked on every hook.
func (s *Spool) Empty() (bool, error) {
	dir, err := os.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("spool: %w", err)
	}
	defer dir.Close()
	// Names come in small helpings: one spooled file settles the question.
	for {
		list, err := dir.Readdirnames(64)
		if slices.ContainsFunc(list, spooled) {
			return false, nil
		}
		if err != nil || len(list) == 0 {
			return true, nil // io.EOF, or a directory that has just gone
		}
	}
}

// Len returns how many envelopes wait.
func (s *Spool) Len() (int, error) {
	files, err := s.files()
	return len(files), err
}

// Drain hands the envelopes to fn, oldest first, and removes each once fn has
// returned nil. It goes on until the spool is empty, and stops at fn's first
// error or the end of ctx; what was not accepted stays, in its place. n counts
// the accepted ones. A file that is no envelope goes to bad/ and to OnBad, so
// that it cannot block what comes after it. A second Drain waits for the first.
//
// An envelope may come twice, after a crash: fn tells by its key.
func (s *Spool) Drain(ctx context.Context, fn func(context.Context, Envelope) error) (n int, err error) {
	select {
	case s.draining <- struct{}{}:
		defer func() { <-s.draining }()
	case <-ctx.Done():
		return 0, fmt.Errorf("spool %s: %w", s.dir, context.Cause(ctx))
	}
	s.sweep()
	for {
		files, err := s.files()
		if err != nil || len(files) == 0 {
			return n, err
		}
		for _, name := range files {
			if ctx.Err() != nil {
				return n, fmt.Errorf("spool %s: %w", s.dir, context.Cause(ctx))
			}
			accepted, err := s.drainOne(ctx, name, fn)
			if err != nil {
				return n, err
			}
			if accepted {
				n++
			}
		}
	}
}

func (s *Spool) drainOne(ctx context.Context, name string, fn func(context.Context, Envelope) error) (bool, error) {
	path := filepath.Join(s.dir, name)
	e, err := readEnvelope(path)
	var system *fs.PathError // the machine's trouble, not the file's: it stays where it is
	if errors.As(err, &system) {
		return false, fmt.Errorf("spool: %w", err)
	}
	if err != nil {
		return false, s.setAside(path, err)
	}
	if err := fn(ctx, e); err != nil {
		return false, fmt.Errorf("spooled hook %s %s: %w", e.Event, e.Key, err)
	}
	if err := os.Remove(path); err != nil {
		return false, fmt.Errorf("spooled hook %s %s after delivery: %w", e.Event, e.Key, err)
	}
	return true, nil
}

func readEnvelope(path string) (Envelope, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Envelope{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSpoolFile {
		return Envelope{}, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxSpoolFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Envelope{}, err
	}
	var e Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return Envelope{}, fmt.Errorf("spool file %s: %w", path, err)
	}
	if err := e.check(); err != nil {
		return Envelope{}, fmt.Errorf("spool file %s: %w", path, err)
	}
	return e, nil
}

func (s *Spool) setAside(path string, why error) error {
	bad := filepath.Join(s.dir, "bad")
	if err := os.Mkdir(bad, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("spool: %w (%w)", err, why)
	}
	to := filepath.Join(bad, filepath.Base(path))
	if err := os.Rename(path, to); err != nil {
		return fmt.Errorf("spool: %w (%w)", err, why)
	}
	if s.OnBad != nil {
		s.OnBad(to, why)
	}
	return nil
}

// sweep removes what killed hook processes left. A failure is no reason to keep
// the events back, and the next Drain tries again.
func (s *Spool) sweep() {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), tempPrefix+"*"))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > staleTemp {
			_ = os.Remove(path)
		}
	}
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}
