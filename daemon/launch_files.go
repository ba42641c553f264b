package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// writeFiles writes the files of a launch or a one-shot, and makes their folders: those of an ended agent are removed.
func writeFiles(files []runtimes.File) error {
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
		if err := data.WriteFile(f.Path, f.Content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// removeLaunchFiles removes the launch files of an ended agent. It keeps the conversation of a runtime that keeps none in a
// file: a handoff may still be retried, and people read it. [Daemon.pruneMirrors] removes that later.
func (d *Daemon) removeLaunchFiles(a *Agent) error {
	dir := d.Data.Launch(a.ID)
	kept := filepath.Base(runtimes.Mirror(dir))
	if a.TranscriptPath == nil || *a.TranscriptPath != runtimes.Mirror(dir) {
		return os.RemoveAll(dir)
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if f.Name() != kept {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// pruneMirrors removes the conversations of agents whose rows are no longer kept.
func (d *Daemon) pruneMirrors(ctx context.Context) error {
	dirs, err := os.ReadDir(filepath.Dir(d.Data.Launch(0)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, dir := range dirs {
		id, bad := strconv.ParseInt(dir.Name(), 10, 64)
		if bad != nil || !dir.IsDir() {
			continue
		}
		_, gone := d.Store.Agent(ctx, id)
		switch {
		case errors.Is(gone, ErrNotFound):
			err = errors.Join(err, os.RemoveAll(d.Data.Launch(id)))
		case gone != nil:
			return errors.Join(err, gone)
		}
	}
	return err
}

func optionalID(id *int64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatInt(*id, 10)
}
