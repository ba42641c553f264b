package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fixture is a folder with repositories that git makes once. Each test gets a copy, because a start of git costs more
// than a copy.
type fixture struct {
	make func(t testing.TB, root string)

	once  sync.Once
	root  string
	modes map[string]fs.FileMode // of folders, too
	texts map[string]string
}

// copied returns the folder of a copy. Where a file of git's own names the folder that was copied, it names the copy.
func (f *fixture) copied(t testing.TB) string {
	t.Helper()
	f.once.Do(func() {
		f.root, f.modes, f.texts = realDir(t), map[string]fs.FileMode{}, map[string]string{}
		f.make(t, f.root)
		err := filepath.WalkDir(f.root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path, f.root)
			if f.modes[name] = info.Mode(); !e.IsDir() {
				b, err := os.ReadFile(path)
				f.texts[name] = string(b)
				return err
			}
			return nil
		})
		must(t, err)
	})
	root := realDir(t)
	for name, mode := range f.modes {
		if mode.IsDir() {
			must(t, os.MkdirAll(root+name, 0o755))
		}
	}
	for name, text := range f.texts {
		if strings.Contains(name, "/.git/") || strings.HasSuffix(name, "/.git") { // the others are committed as they are
			text = strings.ReplaceAll(text, f.root, root)
		}
		must(t, os.WriteFile(root+name, []byte(text), f.modes[name].Perm()))
	}
	return root
}
