package runtimes

import (
	"path/filepath"
	"strings"
)

// Below returns paths below a folder; none if the folder is not known. The name of a folder ends with a slash, and so does its path.
func Below(dir string, names ...string) (paths []string) {
	for _, name := range names {
		if filepath.IsAbs(dir) {
			paths = append(paths, strings.TrimSuffix(dir, "/")+"/"+strings.TrimPrefix(name, "/"))
		}
	}
	return paths
}

// FolderOf returns the folder that a variable names, or else name in the home folder; "": neither is known.
func FolderOf(getenv func(string) string, variable, name string) string {
	if dir := getenv(variable); dir != "" {
		return dir
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, name)
	}
	return ""
}
