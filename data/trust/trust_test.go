package trust

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestCheck: a file is obeyed only if nobody else can change it, replace it, or turn a folder or a link on its way.
func TestCheck(t *testing.T) {
	t.Parallel()
	root := os.Geteuid() == 0 // only root can give files away
	for name, c := range map[string]struct {
		make func(dir string) string // returns the path to check
		want string                  // a part of the error; "": none
		root bool
	}{
		"a private file":             {func(d string) string { return file(d, "f", 0o600) }, "", false},
		"read by others":             {func(d string) string { return file(d, "f", 0o644) }, "", false},
		"not there":                  {func(d string) string { return filepath.Join(d, "none") }, "", false},
		"written by all":             {func(d string) string { return file(d, "f", 0o666) }, "/f may be written by others (mode 0666)", false},
		"its fix":                    {func(d string) string { return file(d, "my file", 0o666) }, "run chmod ", false},
		"written by a group":         {func(d string) string { return grouped(file(d, "f", 0o660)) }, "chmod go-w ", true},
		"a folder that all write":    {func(d string) string { return file(folder(d, "x", 0o777), "f", 0o600) }, "/x may be written by others (mode 0777)", false},
		"a folder above":             {func(d string) string { return file(folder(folder(d, "x", 0o777), "y", 0o700), "f", 0o600) }, "/x may be written", false},
		"none in a folder of all":    {func(d string) string { return filepath.Join(folder(d, "x", 0o777), "none") }, "/x may be written", false},
		"a sticky folder":            {func(d string) string { return file(folder(d, "x", 0o777|os.ModeSticky), "f", 0o600) }, "", false},
		"written in a sticky folder": {func(d string) string { return file(folder(d, "x", 0o777|os.ModeSticky), "f", 0o622) }, "/f may be written", false},
		"another's in a sticky one":  {func(d string) string { return given(file(folder(d, "x", 0o777|os.ModeSticky), "f", 0o600)) }, "/f belongs to user 4711", true},
		"another's folder":           {func(d string) string { return file(given(folder(d, "x", 0o755)), "f", 0o600) }, "/x belongs to user 4711", true},
		"a link to a private file":   {func(d string) string { return link(d, "l", file(d, "f", 0o600)) }, "", false},
		"a link to one all write":    {func(d string) string { return link(d, "l", file(d, "f", 0o666)) }, "/f may be written", false},
		"a link into such a folder":  {func(d string) string { return link(d, "l", file(folder(d, "x", 0o777), "f", 0o600)) }, "/x may be written", false},
		"through a linked folder":    {func(d string) string { file(folder(d, "x", 0o777), "f", 0o600); return link(d, "l", "x") + "/f" }, "/x may be written", false},
		"another's link": {func(d string) string {
			return given(link(folder(d, "x", 0o777|os.ModeSticky), "l", file(d, "f", 0o600)))
		}, "/l belongs to user 4711", true},
		"a link to nothing":           {func(d string) string { return link(d, "l", "none") }, "", false},
		"a link that leads to itself": {func(d string) string { return link(d, "l", "l") }, "too many symbolic links", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.root && !root {
				return // the file cannot be made; root's own tests see it
			}
			path := c.make(t.TempDir())
			err := Check(path)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func file(dir, name string, mode os.FileMode) string {
	path := filepath.Join(dir, name)
	must(os.WriteFile(path, []byte("x"), 0o600))
	must(os.Chmod(path, mode))
	return path
}

func folder(dir, name string, mode os.FileMode) string {
	path := filepath.Join(dir, name)
	must(os.Mkdir(path, 0o700))
	must(os.Chmod(path, mode))
	return path
}

func link(dir, name, to string) string {
	must(os.Symlink(to, filepath.Join(dir, name)))
	return filepath.Join(dir, name)
}

func given(path string) string   { must(os.Lchown(path, 4711, 4711)); return path }
func grouped(path string) string { must(os.Lchown(path, 0, 4711)); return path }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TestPrivateGroup: only a group with the user's name and no other members is the user's alone.
func TestPrivateGroup(t *testing.T) {
	t.Parallel()
	me := wardentest.Value(user.Current())(t)
	groups := filepath.Join(t.TempDir(), "group")
	text := fmt.Sprintf("%s:x:1:\nstaff:x:2:\n%[1]s:x:3:eve\n%[1]s:x:4:%[1]s\n%[1]s:x:5:%[1]s,eve\nbroken\n", me.Username)
	must(os.WriteFile(groups, []byte(text), 0o600))
	for gid, want := range map[uint32]bool{1: true, 2: false, 3: false, 4: true, 5: false, 6: false} {
		wardentest.Equal(t, fmt.Sprintf("group %d: private", gid), readPrivateGroup(groups, gid), want)
	}
	if readPrivateGroup(groups+"none", 1) {
		t.Error("without the file no group is private")
	}
}
