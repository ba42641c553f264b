package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
)

// launchFilesFit reports whether the launch file is there, complete, and holds the committed secret.
func (d *Launcher) launchFilesFit(a *daemon.Agent) bool {
	b, err := os.ReadFile(d.launchPath(a.ID))
	if err != nil {
		return false
	}
	var file hooks.LaunchFile
	if json.Unmarshal(b, &file) != nil {
		return false
	}
	secret := daemon.LaunchSecret(file.Env)
	return secret != "" && bytes.Equal(daemon.LaunchHash(secret), a.LaunchHash)
}

// removeLaunchFiles removes the launch files of an ended agent. It keeps the secrets of its account, and the conversation of a runtime
// that keeps none in a file: a handoff may still be retried, and people read it. [Launcher.PruneMirrors] removes them later.
func (d *Launcher) removeLaunchFiles(a *daemon.Agent) error {
	dir := d.Data.Launch(a.ID)
	_ = os.Remove(d.Data.AgentSpool(a.ID)) // hooks in it are still to be replayed; without a sandbox there is none
	kept := []string{sight.AccountFile, boxFile}
	if mirror := runtimes.Mirror(dir); a.TranscriptPath != nil && *a.TranscriptPath == mirror {
		kept = append(kept, filepath.Base(mirror))
	} else if !a.Sandbox && (a.Account == nil || len(a.Account.Secrets) == 0) {
		return os.RemoveAll(dir)
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if !slices.Contains(kept, f.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// PruneMirrors removes the conversations of agents whose rows are no longer kept, and the secrets of agents that ended long ago.
func (d *Launcher) PruneMirrors(ctx context.Context) error {
	dirs, err := os.ReadDir(filepath.Dir(d.Data.Launch(0)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, dir := range dirs {
		id, bad := strconv.ParseInt(dir.Name(), 10, 64)
		if bad != nil || !dir.IsDir() {
			continue
		}
		a, gone := d.Store.Agent(ctx, id)
		switch {
		case gone == nil:
			err = errors.Join(err, d.Accounts.Forget(&a, d.Now()))
		case errors.Is(gone, daemon.ErrNotFound):
			err = errors.Join(err, os.RemoveAll(d.Data.Launch(id)))
		case gone != nil:
			return errors.Join(err, gone)
		}
	}
	return err
}

// OptionalID returns an id in decimal; "": there is none.
func OptionalID(id *int64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatInt(*id, 10)
}
