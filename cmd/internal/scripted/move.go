package scripted

import (
	"os"
	"path/filepath"
)

// Move moves the session to another directory, as Claude Code's EnterWorktree does: the transcript goes along, into the folder
// that is named after the directory, and hooks, status line and registry name the directory from then on. dir is made if it is
// not there.
func (a *Agent) Move(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	id, _ := a.ids()
	a.transcript.mu.Lock()
	from := transcriptPath(a, id)
	a.moved.Store(&dir)
	to := transcriptPath(a, id)
	if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
		err = os.Rename(from, to)
	}
	a.transcript.mu.Unlock()
	a.registry.set(func(e *registryEntry) { e.CWD = dir })
	return err
}

// dir returns the directory in which the session works.
func (a *Agent) dir() string {
	if moved := a.moved.Load(); moved != nil {
		return *moved
	}
	return a.Dir
}
