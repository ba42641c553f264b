package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sandbox"
)

// UserHome reads what is in the user's own home of a CLI that is launched in a home of the launch. An account names the home itself, if
// it is another one than HOME.
func (d *Launcher) UserHome(own *runtimes.OwnHome, account *runtimes.Account) (runtimes.UserHome, error) {
	user := runtimes.UserHome{Path: d.Getenv("HOME")}
	// A daemon that was started in an agent's pane has the home of that agent's launch in its environment.
	if named := d.Getenv(own.Var); named != "" && d.Getenv("UNDERSTUDY_LAUNCH") == "" && account == nil {
		user.Path = named
	}
	if account != nil && account.Variables[own.Var] != "" {
		user.Path = account.Variables[own.Var]
	}
	if !filepath.IsAbs(user.Path) {
		return user, fmt.Errorf("the home folder %q of the CLI is not absolute: set HOME for the daemon", user.Path)
	}
	dir := filepath.Join(user.Path, own.Dir)
	var err error
	if user.Settings, err = os.ReadFile(filepath.Join(dir, own.Settings)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return user, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return user, err
	}
	for _, e := range entries {
		user.Names = append(user.Names, e.Name())
	}
	for name, file := range own.Replaced {
		if d.Getenv(name) == "" {
			user.Env = append(user.Env, name+"="+filepath.Join(dir, file))
		}
	}
	return user, nil
}

// WriteLinks makes the links of a launch. What stands in the place of one was left by an earlier attempt.
func WriteLinks(links []runtimes.Link) error {
	for _, l := range links {
		if l.Folder {
			if err := os.MkdirAll(l.Target, 0o700); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(filepath.Dir(l.Path), 0o700); err != nil {
			return err
		}
		if err := os.RemoveAll(l.Path); err != nil {
			return err
		}
		if err := os.Symlink(l.Target, l.Path); err != nil {
			return err
		}
	}
	return nil
}

// Lasting returns the path of a file without links if it is in the folder of a launch, which is removed when its agent has
// ended. Of a path that does not exist yet it resolves the part that does.
func (d *Launcher) Lasting(path string) string {
	if !strings.HasPrefix(path, filepath.Dir(d.Data.Launch(0))+string(filepath.Separator)) {
		return path
	}
	return sandbox.Real(path)
}
