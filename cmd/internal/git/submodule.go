package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
)

// A submodule of a work tree has a repository of its own, which git keeps below the folder of the work tree's registration. It goes with the
// tree, and with it what no remote of the submodule has.

// module is a submodule that has files in a work tree.
type module struct {
	place
	path string // from the top of the outermost work tree
	lost bool   // its .git leads to where the repository was before somebody moved it: `git worktree repair` leaves submodules alone
}

func (m module) dotGit() string  { return filepath.Join(m.top, ".git") }
func (m module) pointer() string { return "gitdir: " + m.dir + "\n" }

// modules are the submodules of a work tree, also those in submodules.
type modules struct {
	git
	folder string   // below which git keeps their repositories
	out    []module // those that have files, the outer ones first
	dirs   []string // all their repositories
}

// modules finds the submodules of the tree. odd says what stands in their place otherwise, as the end of a sentence; "": nothing does.
func (s shield) modules(ctx context.Context) (m modules, odd string, err error) {
	m = modules{git: s.git, folder: filepath.Join(s.at.dir, "modules")}
	if odd, err = m.find(ctx, s.git, s.at.top, ""); odd != "" || err != nil {
		return m, odd, err
	}
	m.dirs, err = repositoriesBelow(m.folder)
	return m, "", err
}

// find adds the submodules of the tree in which g works. below leads to that tree from the top.
func (m *modules) find(ctx context.Context, g git, top, below string) (odd string, err error) {
	var paths []string
	err = g.each(ctx, func(record string) { // mode object stage TAB path
		if about, path, ok := strings.Cut(record, "\t"); ok && strings.HasPrefix(about, "160000 ") {
			paths = append(paths, path)
		}
	}, "ls-files", "-s", "-z")
	for _, path := range slices.Compact(paths) {
		if err != nil || odd != "" {
			break
		}
		odd, err = m.enter(ctx, filepath.Join(top, path), filepath.Join(below, path))
	}
	return odd, err
}

func (m *modules) enter(ctx context.Context, full, path string) (odd string, err error) {
	inside, err := os.ReadDir(full)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(inside) == 0 {
		return "", nil
	}
	names := sample{n: 1, first: []string{path}}
	real, linked := filepath.EvalSymlinks(full)
	dir, ok := pointer(filepath.Join(full, ".git"), "gitdir: ")
	if err != nil || linked != nil || real != full || !ok {
		return "it holds another git repository or files in the place of a submodule" + names.names(), nil
	}
	dir = from(full, dir)
	moved := false
	if _, name, ok := strings.Cut(dir, "/worktrees/"+filepath.Base(filepath.Dir(m.folder))+"/modules/"); ok && absent(dir) {
		dir, moved = filepath.Join(m.folder, name), true
	}
	dir, err = filepath.EvalSymlinks(dir) // a link would lead to another repository, in which a reference would be made
	rel, local := filepath.Rel(realPath(m.folder), dir)
	if err != nil || local != nil || !filepath.IsLocal(rel) || rel == "." || absent(filepath.Join(dir, "HEAD")) {
		return "it holds another git repository in the place of a submodule" + names.names(), nil
	}
	one := module{place{full, dir, dir}, path, moved}
	m.out = append(m.out, one)
	s, err := m.behind(ctx, one.place)
	if err != nil {
		return "", err
	}
	defer s.close()
	return m.find(ctx, s.git, full, path)
}

// repositoriesBelow returns the folders of repositories below a folder. The repository of a submodule holds those of its own submodules.
func repositoriesBelow(folder string) (dirs []string, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !e.IsDir():
			return nil
		case path != folder && e.Name() != "modules" && slices.Contains(dirs, filepath.Dir(path)):
			return fs.SkipDir // a folder of a repository's own, such as objects
		case !absent(filepath.Join(path, "HEAD")) && !absent(filepath.Join(path, "objects")):
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs, err
}

// lost says what would be lost with the submodules, as parts of a sentence. stands says why they can't be kept either; "": they can.
func (m *modules) lost(ctx context.Context) (parts []string, stands string, err error) {
	for _, one := range m.out {
		part, stands, err := m.lostOf(ctx, one)
		if stands != "" || err != nil {
			return nil, stands, err
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	for _, dir := range m.dirs {
		g := m.named(place{dir, dir, dir})
		count, err := g.line(ctx, "rev-list", "--count", "--all", "HEAD", "--not", "--remotes", "--tags", "--")
		if err != nil {
			continue // there is no commit
		}
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			name, _ := filepath.Rel(m.folder, dir)
			parts = append(parts, words.Count(n, "commit")+" of the submodule "+name+" that no remote of it has")
		}
	}
	return parts, "", nil
}

func (m *modules) lostOf(ctx context.Context, one module) (part, stands string, err error) {
	in := sample{n: 1, first: []string{one.path}}
	s, err := m.behind(ctx, one.place)
	if err != nil {
		return "", "", err
	}
	defer s.close()
	if stands = cmp.Or(unfinished(one.dir), stands); stands != "" {
		return "", "in its submodule" + in.names() + " " + stands, nil
	}
	unseen, err := s.hidden(ctx)
	if unseen != "" || err != nil {
		return "", unseen, err
	}
	h, err := s.held(ctx, nil)
	if err != nil {
		return "", "", err
	}
	if h.nested.n > 0 {
		return "", "its submodule" + in.names() + " holds another git repository" + h.nested.names(), nil
	}
	if h.uncommitted.n > 0 {
		part = words.Count(h.uncommitted.n, "file") + " not committed in the submodule " + one.path + h.uncommitted.names()
	} else if h.ignored.n > 0 {
		part = fmt.Sprintf("ignored files in the submodule %s%s", one.path, h.ignored.names())
	}
	return part, "", nil
}

// keptModules is the folder in which the repositories of a removed tree's submodules are kept; ref is the reference to its files.
func (r repository) keptModules(ref string) string {
	return filepath.Join(r.common, "understudy", strings.TrimPrefix(ref, "refs/understudy/"))
}

// moduleRef leads to the files that a submodule had when its tree was removed.
const moduleRef = "refs/understudy/removed"

// modulePath is the file in a submodule's repository that says where in the tree it was: its core.worktree is wrong where a repository was moved.
const modulePath = "understudy-path"

// keep makes a reference to the files of each submodule, and moves their repositories away from those that git deletes with the tree.
func (m *modules) keep(ctx context.Context, to string) (large []string, err error) {
	for _, one := range m.out {
		left, err := m.keepFiles(ctx, one)
		if err != nil {
			return nil, err
		}
		large = append(large, left...)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	return large, os.Rename(m.folder, to)
}

// repair makes the submodules' own .git lead to their repositories, without which git can't make a commit of the tree.
func (m *modules) repair() error {
	for _, one := range m.out {
		if one.lost {
			if err := os.WriteFile(one.dotGit(), []byte(one.pointer()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *modules) keepFiles(ctx context.Context, one module) (large []string, err error) {
	s, err := m.behind(ctx, one.place)
	if err != nil {
		return nil, err
	}
	defer s.close()
	head, err := s.commitOf(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	if head == "" {
		return nil, fmt.Errorf("the submodule %s has no commit: delete it, or commit in it", one.path)
	}
	h, err := s.held(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(one.dir, modulePath), []byte(one.path), 0o600); err != nil {
		return nil, err
	}
	small, large := sortIgnored(one.top, h.all)
	for i := range large {
		large[i] = filepath.Join(one.path, large[i])
	}
	return large, s.snapshot(ctx, snapshot{head: head, ref: moduleRef, ignored: small, says: "The files of the submodule " + one.path + " when its work tree was removed"})
}

// bringBack puts the submodules of a removed tree into the tree that was made again at a path.
func (r repository) bringBack(ctx context.Context, kept, path string) error {
	away := r.keptModules(kept)
	admin, ours := r.admin(path)
	to := filepath.Join(admin, "modules")
	if !ours || absent(away) && absent(to) {
		return nil
	}
	if !absent(away) { // else an earlier call has moved it
		if err := os.Rename(away, to); err != nil {
			return fmt.Errorf("the submodules of %s can't be brought back: %w", path, err)
		}
	}
	dirs, err := repositoriesBelow(to)
	if err != nil {
		return err
	}
	var all []module
	for _, dir := range dirs {
		if at, err := small(filepath.Join(dir, modulePath)); err == nil { // else it had no files when its tree was removed
			all = append(all, module{place{filepath.Join(path, at), dir, dir}, at, false})
		}
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(len(a.top), len(b.top)) }) // the outer ones first
	for _, one := range all {
		if err := r.bringOneBack(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// bringOneBack writes the files of one submodule, if its place in the tree is empty.
func (r repository) bringOneBack(ctx context.Context, p module) error {
	if !filepath.IsLocal(p.path) || p.path == "." {
		return fmt.Errorf("the submodule in %s belongs to %q, which is not in the work tree: see %[1]s/%[3]s", p.dir, p.path, modulePath)
	}
	if err := os.MkdirAll(p.top, 0o755); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(p.top); err != nil || real != p.top {
		return fmt.Errorf("a link leads from %s to %s: put the submodule in %s there by hand", p.top, real, p.dir)
	}
	if inside, err := os.ReadDir(p.top); err != nil {
		return err
	} else if text, _ := small(p.dotGit()); len(inside) > 0 && text != p.pointer() {
		return fmt.Errorf("%s is not empty: put the submodule in %s there by hand", p.top, p.dir)
	}
	if err := os.WriteFile(p.dotGit(), []byte(p.pointer()), 0o644); err != nil {
		return err
	}
	rel, err := filepath.Rel(p.dir, p.top)
	if err != nil {
		return err
	}
	if _, err := r.output(ctx, "config", "--file", filepath.Join(p.dir, "config"), "core.worktree", rel); err != nil {
		return err
	}
	g := r.git
	g.limit = checkoutLimit
	s, err := g.behind(ctx, p.place)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.put(ctx, moduleRef); err != nil {
		return err
	}
	if _, err := s.output(ctx, "update-ref", "-d", moduleRef); err != nil {
		return err
	}
	return os.Remove(filepath.Join(p.dir, modulePath))
}

// submodules names the submodules of a commit in words; "": it has none.
func (g git) submodules(ctx context.Context, commit string) string {
	const most = 100
	var paths []string
	_, _, err := g.run(ctx, &records{do: func(record string) { // it fails without .gitmodules
		if _, path, ok := strings.Cut(record, "\n"); ok && filepath.IsLocal(path) && len(paths) < most {
			paths = append(paths, path)
		}
	}}, "config", "--blob", commit+":.gitmodules", "-z", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil || len(paths) == 0 {
		return ""
	}
	var found sample
	g.env = append(g.env[:len(g.env):len(g.env)], "GIT_LITERAL_PATHSPECS=1")
	if g.each(ctx, func(record string) { // mode type object TAB path
		if about, path, ok := strings.Cut(record, "\t"); ok && strings.HasPrefix(about, "160000 ") {
			found.add(path)
		}
	}, append([]string{"ls-tree", "-z", "--full-tree", commit, "--"}, paths...)...) != nil || found.n == 0 {
		return ""
	}
	return words.Line(strings.TrimSuffix(strings.TrimPrefix(found.names(), " ("), ")"))
}
