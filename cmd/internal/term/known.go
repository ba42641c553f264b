package term

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fallbacks are the terminals in place of one that this machine does not know, the best first. All terminals of today understand them.
var fallbacks = []string{"xterm-256color", "xterm", "vt100"}

// Known returns an environment whose TERM has a description on this machine. A terminal such as Ghostty, kitty or Alacritty names
// itself over ssh although the other machine has never heard of it; tmux then refuses to attach ("missing or unsuitable terminal").
func Known(environ []string) []string {
	get := func(name string) (value string) {
		for _, v := range environ {
			if rest, ok := strings.CutPrefix(v, name+"="); ok {
				value = rest
			}
		}
		return value
	}
	dirs := terminfo(get)
	is := get("TERM")
	if is != "" && is != "dumb" && described(dirs, is) {
		return environ
	}
	for _, name := range fallbacks {
		if described(dirs, name) {
			var out []string
			for _, v := range environ {
				if !strings.HasPrefix(v, "TERM=") {
					out = append(out, v)
				}
			}
			return append(out, "TERM="+name)
		}
	}
	return environ
}

// terminfo returns the folders in which ncurses looks for descriptions of terminals.
func terminfo(get func(string) string) []string {
	dirs := []string{get("TERMINFO")}
	if home := get("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".terminfo"))
	}
	dirs = append(dirs, filepath.SplitList(get("TERMINFO_DIRS"))...)
	return append(dirs, "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo", "/usr/local/share/terminfo", "/opt/homebrew/share/terminfo")
}

// described reports whether one of the folders has the description of a terminal. Its folder has the name's first letter, or that
// letter's code on a file system that ignores case.
func described(dirs []string, name string) bool {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return false
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		for _, folder := range []string{name[:1], fmt.Sprintf("%x", name[0])} {
			if info, err := os.Stat(filepath.Join(dir, folder, name)); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}
