// Package sandbox says what an agent in a sandbox has of the machine, and puts its command into bubblewrap, which gives it that and nothing
// else. A leaf: it asks the file system what is there, and writes and runs nothing. The functions may be called at once; a crash leaves
// nothing behind.
package sandbox

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Settings are the operator's: what each agent in a sandbox has besides.
type Settings struct {
	Read  []string `yaml:"read"`  // absolute paths that it may read
	Write []string `yaml:"write"` // absolute paths that it may change
	Env   []string `yaml:"env"`   // names of variables that it gets
}

// Problem names the setting that cannot work, and says why; "": none.
func (s *Settings) Problem() (key, why string) {
	for key, paths := range map[string][]string{"read": s.Read, "write": s.Write} {
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				return key, fmt.Sprintf("%q must be an absolute path", path)
			}
		}
	}
	return "", ""
}

// Box is what one agent has. All paths are absolute, and are the same inside as outside. What does not exist is left out. Of two paths the
// deeper one holds, and of one path in both lists it may only read.
type Box struct {
	Dir   string   `json:"-"` // where its command runs
	Home  string   `json:"-"` // stands there empty, and what is written there is gone with the agent
	Write []string `json:"-"` // files and folders that it may change; the path of a folder that is made for it ends with a slash
	Read  []string `json:"-"` // files and folders that it may only read
	// Own are folders of its own, which it may change, by the path at which they stand inside.
	Own map[string]string `json:"-"`
	// Mounts is what these lists have come to, which alone is kept; see [Box.Resolve].
	Mounts []Mount `json:"mounts"`
}

// system is what every agent may read: programs, libraries and their settings. The networks' names and certificates are in /etc.
var system = []string{"/usr", "/etc", "/opt", "/nix", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// Mount is one path inside. None of the paths leads through a link.
type Mount struct {
	Path  string `json:"path"`
	From  string `json:"from"`
	Write bool   `json:"write"`
}

// Resolve looks once what the box has besides the system, each folder before what is in it: who is in it may change where a link leads. What
// leads through links is there by both names. A link that stands in a folder which the box may change is not followed out of these folders:
// an earlier agent may have put it there.
func (b *Box) Resolve() {
	all, links := map[string]Mount{}, map[string]Mount{}
	add := func(write bool, paths []string) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			path = filepath.Clean(path)
			if !write && holds(maps.Keys(all), Real(filepath.Dir(path))) && !holds(maps.Keys(all), real) {
				continue
			}
			all[real] = Mount{real, real, write}
			if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
				links[path] = Mount{path, real, write}
			} else {
				all[path] = Mount{path, real, write}
			}
		}
	}
	add(true, b.Write)
	add(false, b.Read)
	for at, from := range b.Own {
		all[at] = Mount{at, filepath.Clean(from), true}
	}
	for path, m := range links {
		if !holds(maps.Keys(all), path) {
			all[path] = m
		}
	}
	b.Mounts = slices.SortedFunc(maps.Values(all), func(a, b Mount) int { return strings.Compare(a.Path, b.Path) })
}

// holds reports whether a path lies in one of the folders.
func holds(folders iter.Seq[string], path string) bool {
	for dir := range folders {
		if Within(path, dir) {
			return true
		}
	}
	return false
}

// Real returns a path without links. Of one that does not exist it resolves the part that does.
func Real(path string) string {
	for dir := filepath.Clean(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, strings.TrimPrefix(filepath.Clean(path), dir))
		}
	}
	return path
}

// Has reports whether a path without links lies in what the box has besides the system, and MayChange whether it may be changed there.
func (b *Box) Has(path string) bool { return b.around(path) != nil }

// MayChange is [Box.Has] for what may be changed.
func (b *Box) MayChange(path string) bool {
	m := b.around(path)
	return m != nil && m.Write
}

// around returns the deepest mount that holds a path; nil: none.
func (b *Box) around(path string) (found *Mount) {
	for i := range b.Mounts {
		if m := &b.Mounts[i]; Within(filepath.Clean(path), m.Path) && (found == nil || len(m.Path) > len(found.Path)) {
			found = m
		}
	}
	return found
}

// Refuse says why a resolved box would be none; nil: it is one. secret are folders of which an agent must have no more than the box names: the
// home and the data directory.
func (b *Box) Refuse(secret ...string) error {
	for _, m := range b.Mounts {
		for _, dir := range append(secret, "/") {
			real, err := filepath.EvalSymlinks(dir)
			if err == nil && (Within(dir, m.Path) || Within(real, m.Path)) {
				return fmt.Errorf("it would have %s with all that is in %s: give the agent a directory that holds nothing else", m.Path, dir)
			}
		}
		if slices.ContainsFunc(system, func(dir string) bool { return m.Write && Within(dir, m.Path) }) {
			return fmt.Errorf("it could change %s", m.Path)
		}
	}
	if !b.Has(b.Dir) {
		return errors.New("it would not have its own directory")
	}
	return nil
}

// Within reports whether a path is dir or lies below it. Both are clean.
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Command returns the command that runs argv in the resolved box. It has no capabilities, and processes, temporary files and a host name of
// its own; the network is the machine's. When bubblewrap ends, all ends that runs inside, also what has left its parents.
func (b *Box) Command(argv []string) []string {
	cmd := []string{
		"bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev",
		"--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var", "--dir", "/var/tmp", "--tmpfs", b.Home,
		"--unsetenv", "TMUX", "--unsetenv", "TMUX_PANE", // its tmux server is not there
	}
	if os.Geteuid() == 0 { // A CLI's own sandbox within this one maps root again, which the kernel allows with this capability alone.
		cmd = append(cmd, "--unshare-user", "--cap-add", "CAP_SETFCAP")
	}
	for _, dir := range system {
		if to, err := os.Readlink(dir); err == nil {
			cmd = append(cmd, "--symlink", to, dir)
		} else {
			cmd = append(cmd, "--ro-bind-try", dir, dir)
		}
	}
	// What resolves names is often a link to what runs the network.
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && !Within(real, "/etc") {
		cmd = append(cmd, "--ro-bind", real, real)
	}
	for _, m := range b.Mounts {
		how := "--ro-bind"
		if m.Write {
			how = "--bind"
		}
		cmd = append(cmd, how, m.From, m.Path)
	}
	return append(append(cmd, "--remount-ro", "/", "--chdir", b.Dir, "--"), argv...)
}

// Probe returns a command that succeeds, and says nothing, if this machine can make sandboxes.
func Probe() []string { return (&Box{Dir: "/", Home: "/home"}).Command([]string{"true"}) }

// Programs returns what must be readable for commands: the folders of path but those that hold secret ones, and where the programs in them
// really are. A program of npm stands in a folder node_modules, beside what it imports.
func Programs(path string, secret []string, commands ...string) (paths []string) {
	add := func(dir string) {
		holds := slices.ContainsFunc(secret, func(s string) bool { return Within(s, dir) })
		if filepath.IsAbs(dir) && !holds && !slices.ContainsFunc(system, func(s string) bool { return Within(dir, s) }) && !slices.Contains(paths, dir) {
			paths = append(paths, dir)
		}
	}
	for _, dir := range filepath.SplitList(path) {
		add(filepath.Clean(dir))
	}
	for _, file := range commands {
		switch {
		case filepath.IsAbs(file):
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				continue
			}
		case file == "" || strings.HasPrefix(file, ".") || filepath.Base(file) != file:
			continue // an argument
		default:
			i := slices.IndexFunc(filepath.SplitList(path), func(dir string) bool { _, err := os.Stat(filepath.Join(dir, file)); return err == nil })
			if i < 0 {
				continue
			}
			file = filepath.Join(filepath.SplitList(path)[i], file)
		}
		for range 16 { // links to links
			add(home(file))
			to, err := os.Readlink(file)
			if err != nil {
				break
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(file), to)
			}
			file = to
		}
	}
	return paths
}

// home returns the folder in which a program stands with what belongs to it.
func home(file string) string {
	if before, _, npm := strings.Cut(file, "/node_modules/"); npm {
		return before + "/node_modules"
	}
	return filepath.Dir(file)
}
