package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

// TestMounts: the deeper path holds, and of one path what may only be read; what leads through a link is there by both names, but not twice in a
// folder that has the link; what is missing is left out.
func TestMounts(t *testing.T) {
	t.Parallel()
	root := wardentest.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(name string) string { return filepath.Join(root, name) }
	for _, dir := range []string{"work/.git", "dots/claude", "own", "user", "elsewhere"} {
		wardentest.Must(t, os.MkdirAll(at(dir), 0o700))
	}
	wardentest.Must(t, os.WriteFile(at("work/.git/config"), nil, 0o600))
	wardentest.Must(t, os.Symlink(at("dots/claude"), at("user/.claude")))
	wardentest.Must(t, os.Symlink(at("work/.git/config"), at("work/link")))
	wardentest.Must(t, os.Symlink(at("elsewhere"), at("work/skills"))) // by an earlier agent
	b := Box{
		Dir: at("work"), Write: []string{at("work") + "/", at("user/.claude"), at("missing")}, Read: []string{at("work/skills"), at("work/link"), at("work/.git/config")},
		Own: map[string]string{at("user/.claude/sessions"): at("own")},
	}
	var got strings.Builder
	b.Resolve()
	for _, m := range b.Mounts {
		fmt.Fprintln(&got, strings.TrimPrefix(m.Path, root), strings.TrimPrefix(m.From, root), m.Write)
	}
	wardentest.Equal(t, "mounts", got.String(), `/dots/claude /dots/claude true
/user/.claude /dots/claude true
/user/.claude/sessions /own true
/work /work true
/work/.git/config /work/.git/config false
`)
	for path, has := range map[string]bool{"work/x": true, "work/../dots": false, "workshop": false, "user/.claude/x": true, "missing": false} {
		wardentest.Equal(t, path, b.Has(root+"/"+path), has)
	}
	wardentest.Must(t, b.Refuse(at("user")))
	wardentest.Equal(t, "what is only read may be changed", b.MayChange(at("work/.git/config")), false)
	wardentest.Equal(t, "the work may be changed", b.MayChange(at("work/.git/x")), true)
	b.Write = append(b.Write, root)
	b.Resolve()
	wardentest.WantErr(t, "the home", b.Refuse(at("user")), "give the agent a directory that holds nothing else")
	b.Write = []string{"/etc"}
	b.Resolve()
	wardentest.WantErr(t, "the system", b.Refuse(), "it could change /etc")
}
