package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxSpoolFiles = 10_000
	maxSpoolBytes = 256 << 20
	maxSpoolFile  = MaxBody + 64<<10 // room for a body and the other fields of its envelope
	tempPrefix    = ".new-"
	staleTemp     = time.Minute
)

// ErrUnreadable says that the directory of the spool can't be listed.
var ErrUnreadable = errors.New("spool can't be read")

// Spool is a directory of envelopes that could not be delivered, one file
// each, named {unix nanoseconds, 20 digits}-{key}.{agent}.json. agent is the
// tag of [Envelope.agent].
type Spool struct {
	// Drain calls OnBad, if it is set, for each file that cannot be read or is no
	// envelope: before it moves the file to bad/, with the path that the file will
	// have there. Drain also calls OnBad for a file that it cannot move or remove,
	// with the file's present path. If OnBad returns an error, the file stays and
	// the Drain ends. Set OnBad before the first Drain.
	OnBad func(path string, why error) error
	// Clock returns the time of day. Set it before the first Put.
	Clock func() time.Time

	dir                string
	maxFiles, maxBytes int64
	read               func(path string) (Envelope, error) // only tests change read and remove
	remove             func(path string) error

	mu    sync.Mutex
	turns map[string][]chan struct{} // by agent, those who hand out its envelopes: the first one does, and its channel is closed
	stuck map[string]bool            // by name, files that can't be moved or removed; true: the file's hook was applied
}

// OpenSpool returns the spool in dir. It does not access the disk. The first Put
// makes the directory, but never its parent: after an operator has removed a
// daemon's data directory, a hook must not make that directory again.
func OpenSpool(dir string) *Spool {
	return &Spool{
		Clock: time.Now, dir: dir, maxFiles: maxSpoolFiles, maxBytes: maxSpoolBytes, read: readEnvelope, remove: os.Remove,
		turns: map[string][]chan struct{}{}, stuck: map[string]bool{},
	}
}

// Put adds e. It fails if the spool would have more than 10 000 files or 256 MiB.
// The file appears with its whole content or not at all.
func (s *Spool) Put(e Envelope) error {
	text, err := encode(e)
	if err != nil {
		return fmt.Errorf("spool %s: %w", s.dir, err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("spool: %w", err)
	}
	files, err := s.room(int64(len(text)))
	if err != nil {
		return err
	}
	temp := filepath.Join(s.dir, tempPrefix+e.Key)
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("spool: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(s.dir, fileName(e, s.place(e, files)))); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func fileName(e Envelope, place int64) string {
	return fmt.Sprintf("%020d-%s.%s.json", max(0, place), e.Key, e.agent())
}

// place returns the number by which an envelope is sorted: its time in nanoseconds. If the clock was set back, an earlier
// envelope of the same agent may have a time in the future. place then returns a number that is larger than that time.
func (s *Spool) place(e Envelope, files []string) int64 {
	place, now := e.At.UnixNano(), s.Clock().UnixNano()
	for _, name := range files {
		name := filepath.Base(name)
		at, _ := strconv.ParseInt(name[:min(len(name), 20)], 10, 64) // 0 for a name that is not ours
		if at > now && agentOf(name) == e.agent() {
			place = max(place, at+1)
		}
	}
	return place
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
		return nil, fmt.Errorf("hook %s: %d bytes are more than the %d that a spool file may have", e.Event, text.Len(), maxSpoolFile)
	}
	return text.Bytes(), nil
}

// room lists the files. It fails if another file, of more bytes, does not fit into the spool. It reads the files' sizes
// only if so many files of the largest size would not fit.
func (s *Spool) room(more int64) ([]string, error) {
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	n := int64(len(files))
	if n >= s.maxFiles {
		return nil, fmt.Errorf("spool %s is full: %d files; start the daemon (understudy serve)", s.dir, n)
	}
	if n*maxSpoolFile+more <= s.maxBytes {
		return files, nil
	}
	total := more
	for _, name := range files {
		if info, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			total += info.Size()
		}
	}
	if total > s.maxBytes {
		return nil, fmt.Errorf("spool %s is full: %d MiB; start the daemon (understudy serve)", s.dir, total>>20)
	}
	return files, nil
}

// files lists the names of spooled files, oldest first. Those of an agent in a sandbox have the name of its folder before them.
func (s *Spool) files() (files []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case spooled(name) && !e.IsDir():
			files = append(files, name)
		case sandboxOf(name) != 0:
			for _, e := range inSandbox(filepath.Join(s.dir, name)) {
				if spooled(e.Name()) && !e.IsDir() {
					files = append(files, filepath.Join(name, e.Name()))
				}
			}
		}
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return files, nil
}

// inSandbox lists a sandbox's part of the spool, in which its agent may put what it likes: as much of it as a spool may have. A folder that is gone
// has none, because its agent has ended.
func inSandbox(path string) (entries []os.DirEntry) {
	if dir, err := os.Open(path); err == nil {
		defer dir.Close()
		entries, _ = dir.ReadDir(maxSpoolFiles)
	}
	return entries
}

// sandboxOf returns the agent whose part of the spool a folder is, or in whose part a file is; 0: none.
func sandboxOf(name string) int64 {
	dir, _, _ := strings.Cut(name, string(filepath.Separator))
	id, _ := strconv.ParseInt(dir, 10, 64) // 0 for any other name
	return max(0, id)
}

func spooled(name string) bool {
	return strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".")
}

// Empty reports whether the spool has no files. A spool that does not exist is
// empty. A call costs so little that the daemon can call Empty for every hook.
func (s *Spool) Empty() (bool, error) {
	// With O_NONBLOCK, Go does not prepare to wait for the directory, which would take longer than the rest of Empty.
	dir, err := os.OpenFile(s.dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer dir.Close()
	// Read only 64 names before each check, because one spooled file is enough to return false.
	for {
		list, err := dir.Readdirnames(64)
		if slices.ContainsFunc(list, spooled) {
			return false, nil
		}
		if slices.ContainsFunc(list, func(name string) bool { return sandboxOf(name) != 0 }) {
			n, err := s.Len()
			return n == 0, err
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist): // ErrNotExist: the directory has just been removed
			return true, nil
		case err != nil:
			return false, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
}

// Len returns the number of spooled envelopes.
func (s *Spool) Len() (int, error) {
	files, err := s.files()
	return len(files), err
}
