package runtimes

import (
	"path/filepath"
	"slices"
	"strings"
)

// OwnHome says that a CLI is launched in a home of the launch. What is in the user's own home is linked there, except for the
// settings: they are a copy with our own added. So the launch changes no settings of the user's.
type OwnHome struct {
	Var      string // the variable that names the home; if the daemon's environment has none, HOME does
	Dir      string // the CLI's folder in a home
	Settings string // the file of settings in Dir
	// Files are names in Dir that the CLI may write at any time. They are linked even if they do not exist yet.
	Files []string
	// Folders are names in Dir that the CLI may write to at any time. They are made in the user's home if they do not exist yet.
	Folders []string
	// Beside are names in a home, beside Dir, that the CLI reads.
	Beside []string
	// Replaced are variables that name files which the CLI replaces instead of writing to them, by their names in Dir: a link
	// would be replaced as well. A variable of the user's own holds.
	Replaced map[string]string
}

// UserHome is what is in a user's home of a CLI with [OwnHome].
type UserHome struct {
	Path     string   // absolute; "": not known
	Settings []byte   // nil: there are none
	Names    []string // what is in [OwnHome.Dir]
	Env      []string // NAME=value, of [OwnHome.Replaced]
}

// Link is a symbolic link that must exist before the launch.
type Link struct {
	Path   string
	Target string
	Folder bool // Target is a folder, to be made if it does not exist
}

// Links returns the links of a launch's home to the user's.
func (o *OwnHome) Links(home string, user UserHome) (links []Link) {
	add := func(name string, folder bool) {
		links = append(links, Link{Path: filepath.Join(home, name), Target: filepath.Join(user.Path, name), Folder: folder})
	}
	for _, name := range o.Folders {
		add(filepath.Join(o.Dir, name), true)
	}
	files := slices.Concat(o.Files, user.Names)
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		passing := strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".tmp")
		if name != o.Settings && !passing && !slices.Contains(o.Folders, name) {
			add(filepath.Join(o.Dir, name), false)
		}
	}
	for _, name := range o.Beside {
		add(name, false)
	}
	return links
}
