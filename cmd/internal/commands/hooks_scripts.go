package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
)

// writeScripts writes the scripts for hooks that a person wires by hand. It first looks at all files, so that it writes none
// if one of them would be lost.
func writeScripts(a *cli.App, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(hooks.Scripts, "scripts")
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if texts[path], err = fs.ReadFile(hooks.Scripts, "scripts/"+e.Name()); err != nil {
			return err
		}
		switch there, err := os.ReadFile(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !bytes.Equal(there, texts[path]):
			return fmt.Errorf("%s differs from the script of that name: move it away, or name another directory", path)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if err := data.WriteFile(path, texts[path], 0o755); err != nil {
			return err
		}
	}
	return say(a, "%d scripts are in %s: name each in the settings of your CLI, as the command of its event", len(entries), dir)
}
