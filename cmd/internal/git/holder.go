package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/proc"
)

// holder is a work tree that holds a branch: the branch is checked out there, or what has stopped there moves the branch when it goes on.
type holder struct {
	place string // its folder; "": not known
	admin string // git's own folder for it
	with  string // "rebased", "bisected"; "": it is checked out
}

// says says it as git does.
func (h *holder) says(branch string) string {
	if h.with != "" {
		return fmt.Sprintf("the branch %s is being %s in %s", branch, h.with, h.place)
	}
	return fmt.Sprintf("the branch %s is checked out in %s", branch, h.place)
}

// holder returns the work tree that holds a branch; nil: none does. git refuses to move, to delete or to check out such a branch, but its
// update-ref does not.
func (r repository) holder(ctx context.Context, branch string) (h *holder, err error) {
	all := []holder{{place: cmp.Or(r.mainTop(ctx), r.common), admin: r.common}}
	known, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range known {
		admin := filepath.Join(r.common, "worktrees", e.Name())
		if dotGit, ok := pointer(filepath.Join(admin, "gitdir"), ""); ok {
			all = append(all, holder{place: filepath.Dir(from(admin, dotGit)), admin: admin})
		}
	}
	for i := range all {
		if with := stopped(all[i].admin, "refs/heads/"+branch); with != "" {
			all[i].with = with
			return &all[i], nil
		}
	}
	for i := range all {
		on, err := r.on(ctx, all[i].admin)
		if err != nil {
			return nil, err
		}
		if on == "refs/heads/"+branch && !(i == 0 && r.bare(ctx)) {
			return &all[i], nil
		}
	}
	return nil, nil
}

// on returns the reference that is checked out in the work tree for which git keeps the folder admin; "": HEAD is a commit.
func (r repository) on(ctx context.Context, admin string) (string, error) {
	text, _ := small(filepath.Join(admin, "HEAD"))
	if ref, ok := strings.CutPrefix(strings.TrimSpace(text), "ref: "); ok && ref != "refs/heads/.invalid" { // which stands there if git keeps references in tables
		return ref, nil
	}
	out := proc.Limited{Max: gitOutput}
	_, _, err := r.named(place{r.dir, admin, r.common}).run(ctx, &out, "symbolic-ref", "--quiet", "HEAD") // it fails for a broken HEAD, too
	return strings.TrimSuffix(string(out.Bytes()), "\n"), err
}

// bare reports whether the repository has no work tree but those that were added.
func (r repository) bare(ctx context.Context) bool {
	for _, file := range []string{"config.worktree", "config"} {
		if is, err := r.setting(ctx, filepath.Join(r.common, file), "bool", "core.bare"); err == nil && is != "" {
			return is == "true"
		}
	}
	return false
}

// stopped says what has stopped in a work tree that moves a branch when it goes on; "": nothing has. admin is git's folder for the tree.
func stopped(admin, ref string) string {
	named := func(file string, line func(string) string) bool {
		text, err := small(filepath.Join(admin, file))
		return err == nil && slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return line(strings.TrimSuffix(l, "\r")) == ref })
	}
	whole := func(l string) string { return l }
	for _, file := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs"} {
		if named(file, whole) {
			return "rebased"
		}
	}
	if _, err := os.Lstat(filepath.Join(admin, "BISECT_LOG")); err != nil {
		return ""
	}
	if named("BISECT_START", func(l string) string { return "refs/heads/" + strings.TrimPrefix(l, "refs/heads/") }) {
		return "bisected"
	}
	return ""
}

// free refuses a branch that a work tree holds.
func (r repository) free(ctx context.Context, branch string) error {
	held, err := r.holder(ctx, branch)
	if err == nil && held != nil {
		err = r.elsewhere(branch, held)
	}
	return err
}

// elsewhere returns the error that another work tree holds a branch.
func (r repository) elsewhere(branch string, h *holder) error {
	if _, err := os.Stat(h.place); err != nil {
		return fmt.Errorf("%s, which is gone: run `git worktree prune` in %s", h.says(branch), r.dir)
	}
	if h.with != "" {
		return fmt.Errorf("%s: finish that there, or name another branch", h.says(branch))
	}
	return fmt.Errorf("%s: switch that to another branch, or name another one", h.says(branch))
}
