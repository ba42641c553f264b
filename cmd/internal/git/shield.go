package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// shield is a folder that stands in for the .git that a repository's work trees share. It leads to the objects, the
// branches and so on, but has a configuration of its own. So git never reads the repository's configuration while a
// command runs, and that configuration cannot name programs such as filters. To read the configuration once and check it
// would not be enough, because an agent can write it between two commands, and can make an included file say something
// else each time.
type shield struct {
	git           // at the top of the work tree
	at     place  // as it is without the shield
	folder string // of the shield
}

// shared are the files and folders that git looks for in the shared .git, without its configuration, hooks and remotes.
// If the shared .git has no such file, the shield holds a link to nothing, and git takes the file as missing.
var shared = []string{"objects", "refs", "reftable", "packed-refs", "info", "logs", "shallow", "worktrees", "modules", "lfs"}

// harmless matches the settings of a repository that the shield keeps. They say how files and objects are stored, and
// from where git-lfs, which the user has installed, gets files. None of them can name a program. An address could name a
// program, but not an address that begins with http:// or https://.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` +
		`core\.(?:filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|excludesfile|attributesfile|` +
		`trustctime|checkstat|sparsecheckout|sparsecheckoutcone)\n.*|` +
		`extensions\.(?:objectformat|refstorage)\n\w+|` +
		`remote\.[\w.-]+\.url\nhttps?://[^\n]*)$`)
})

// shielded returns git for the work tree that holds g's folder, behind a shield that the caller must close.
func (g git) shielded(ctx context.Context) (s shield, err error) {
	p, _, err := g.find(ctx)
	if err != nil {
		return s, err
	}
	return g.behind(ctx, p)
}

// behind does what shielded does, for a known work tree.
func (g git) behind(ctx context.Context, p place) (s shield, err error) {
	s.git, s.at = g.named(p), p
	config, err := s.harmlessSettings(ctx)
	if err != nil {
		return s, err
	}
	if s.folder, err = os.MkdirTemp("", "understudy-git-"); err != nil {
		return s, err
	}
	if err = s.fill(p.common, config); err != nil {
		s.close()
		return s, err
	}
	p.common = s.folder
	s.git = g.named(p)
	return s, nil
}

// paths returns what rev-parse prints for each option: for --show-prefix a prefix, for the other options an absolute
// path.
func (g git) paths(ctx context.Context, options ...string) ([]string, error) {
	ask := []string{"rev-parse", "--path-format=absolute"}
	all, err := g.line(ctx, append(ask, options...)...)
	if err != nil {
		return nil, err
	}
	paths := strings.Split(all, "\n")
	if len(paths) == len(options) {
		return paths, nil
	}
	paths = paths[:0] // a path holds a line break, so ask for each path separately
	for _, option := range options {
		path, err := g.line(ctx, append(ask[:2:2], option)...)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (s shield) fill(common, config string) error {
	if err := os.WriteFile(filepath.Join(s.folder, "config"), []byte(config), 0o600); err != nil {
		return err
	}
	for _, name := range shared {
		if err := os.Symlink(filepath.Join(common, name), filepath.Join(s.folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func (s shield) close() { _ = os.RemoveAll(s.folder) } // it holds only links and settings: no harm if it stays

// harmlessSettings returns the harmless settings of the repository as the text of a configuration file. For a git that is
// alone, the user's harmless settings go before them.
func (g git) harmlessSettings(ctx context.Context) (string, error) {
	out, err := g.output(ctx, "config", "--show-scope", "--includes", "--list", "-z")
	if err != nil {
		return "", err
	}
	config := "[core]\n\tbare = false\n"
	for records := split(out); len(records) > 1; records = records[2:] {
		scope, setting := records[0], records[1]
		ours := scope == "local" || scope == "worktree" || g.alone && (scope == "system" || scope == "global")
		if !ours || !harmless().MatchString(setting) {
			continue
		}
		key, value, _ := strings.Cut(setting, "\n")
		section, name := key[:strings.IndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
		if section == "extensions" {
			config += "[core]\n\trepositoryformatversion = 1\n"
		}
		if sub := strings.TrimSuffix(strings.TrimPrefix(key, section+"."), name); sub != "" {
			section += ` "` + strings.TrimSuffix(sub, ".") + `"`
		}
		config += fmt.Sprintf("[%s]\n\t%s = %s\n", section, name, quoteSetting(value))
	}
	return config, nil
}

// quoteSetting quotes a value for a file of git's configuration.
func quoteSetting(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}
