package personas

import "sync"

// memo keeps what the files of a folder were parsed to, so that a scan parses only what changed: most scans find every file as
// it was. Because the whole text is compared, no change escapes it, whatever the time of the file says. Its methods may be
// called concurrently.
type memo[T any] struct {
	mu    sync.Mutex
	files map[string]memoized[T]
}

type memoized[T any] struct {
	text  string
	value T
	err   error
}

// parse returns what parse makes of the text of a file. parse must not look at anything but the text and the file's name, and
// nobody may modify its value.
func (m *memo[T]) parse(file, text string, parse func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.files[file]; ok && known.text == text {
		return known.value, known.err
	}
	value, err := parse()
	if m.files == nil {
		m.files = map[string]memoized[T]{}
	}
	m.files[file] = memoized[T]{text, value, err}
	return value, err
}

// keep forgets all files but those for which there reports true.
func (m *memo[T]) keep(there func(file string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for file := range m.files {
		if !there(file) {
			delete(m.files, file)
		}
	}
}
