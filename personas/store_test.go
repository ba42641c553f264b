package personas

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// folder makes a folder with the given files; a name that ends with a slash becomes a folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "personas")
	must(t, os.Mkdir(root, 0o700))
	for name, text := range files {
		put(t, filepath.Join(root, name), text)
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

var must, equal, wantErr = wardentest.Must, wardentest.Equal, wardentest.WantErr

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }

func openStore(t *testing.T, root string) *Store {
	t.Helper()
	return value(Open(root))(t)
}

func slugs(s *Store) string {
	var all []string
	for _, p := range s.List() {
		slug := p.Slug
		if p.Archived {
			slug += " (archived)"
		}
		all = append(all, slug)
	}
	return strings.Join(all, ", ")
}

// TestAllKeysAreRead: what Parse reads of a skill.md, the store has.
func TestAllKeysAreRead(t *testing.T) {
	t.Parallel()
	text := "---\nname: con\ndescription: d\nruntime: claude\nmodel: m\non_limit: wait\nfallback: [codex]\nauto: 80\nnotify_finished: on\n" +
		"permissions: {allow: [\"Bash(ls)\"]}\nbudget: {daily_usd: 5}\n---\nDo it."
	want := value(Parse("developer-con-1", []byte(text)))(t)
	got := value(openStore(t, folder(t, map[string]string{"developer-con-1/skill.md": text})).Get("developer-con-1"))(t)
	got.Dir, got.ModTime = "", want.ModTime
	if !reflect.DeepEqual(got, want) || want.NotifyFinished != "on" {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestNewestExperienceIsGiven: agents write experience.md, so however long it is, it stops nobody.
func TestNewestExperienceIsGiven(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("- Mind the roof.\n", 3<<20/17) + "- The newest.\n"
	for _, tt := range []struct {
		text, newest string
	}{
		{strings.Repeat("x", maxExperience), strings.Repeat("x", maxExperience)},
		{lines, lines[len(lines)-maxExperience+(maxExperience-14)%17:]},
		{strings.Repeat("x", maxExperience+1), strings.Repeat("x", maxExperience)}, {strings.Repeat("x", maxExperience) + "\n", strings.Repeat("x", maxExperience-1) + "\n"},
	} {
		p, err := openStore(t, folder(t, map[string]string{"developer-con-1/skill.md": plain, "developer-con-1/experience.md": tt.text})).Get("developer-con-1")
		if err != nil || p.Problem != "" || p.Experience != tt.newest || p.ExperienceCut != int64(len(tt.text)-len(tt.newest)) {
			t.Errorf("of %d bytes the last %d, from %.20q on, without %d (%v, %s); want %d", len(tt.text), len(p.Experience), p.Experience, p.ExperienceCut, err, p.Problem, len(tt.newest))
		}
	}
}

func TestListAndGet(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{
		"developer-con-2/skill.md":                                     plain,
		"developer-con-1/skill.md":                                     plain,
		"developer-con-1/experience.md":                                "Learnt \xff.\n",
		"developer-con-1/handoffs/20250101T000000-00000001.md":         "x",
		"developer-con-1/handoffs/20250101T000000-00000001.context.md": "x",
		"developer-con-1/handoffs/.x.md":                               "x",
		"developer-con-1/handoffs/notes.txt":                           "x",
		".archive/architect-eve-1/skill.md":                            plain,
		".archive/developer-con-1/skill.md":                            plain, // hidden by the active one
		".seed-tester-kit-1/skill.md":                                  plain,
		"Not A Slug/skill.md":                                          plain,
		"tester-kit-1":                                                 "a file",
		"README.md":                                                    "x",
	})
	s := openStore(t, root)
	equal(t, "list is", slugs(s), "developer-con-1, developer-con-2, architect-eve-1 (archived)")
	for _, listed := range s.List() {
		got := value(s.Get(listed.Slug))(t)
		equal(t, "as it is listed", got, listed)
		if got.Problem != "" || got.ModTime.IsZero() {
			t.Errorf("got %+v", got)
		}
	}
	p := value(s.Get("developer-con-1"))(t)
	if p.Dir != filepath.Join(root, "developer-con-1") || p.Handoffs != 1 || p.Experience != "Learnt \uFFFD.\n" || p.Archived {
		t.Errorf("got %+v", p)
	}
	s.List()[0].Slug = "changed"
	equal(t, "the snapshot can be modified", s.List()[0].Slug, "developer-con-1")
	select {
	case <-s.Changed():
		t.Error("the first state was announced as a change")
	default:
	}
}

func TestGetIsFresh(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{slug + "/skill.md": plain})
	s := openStore(t, root)
	put(t, filepath.Join(root, slug, "skill.md"), plain+"More.\n")
	put(t, filepath.Join(root, slug, "experience.md"), "Learnt.\n")
	p, err := s.Get(slug)
	if err != nil || p.Skill != "Do it.\nMore.\n" || p.Experience != "Learnt.\n" {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestScansPublishInOrder: a slow scan does not replace the snapshot of a scan that began later.
func TestScansPublishInOrder(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{slug + "/skill.md": plain})
	s := openStore(t, root)
	nested := false
	must(t, s.rescan(func(folder string) {
		if filepath.Base(folder) != archive { // at the archive, the active ones have been read
			return
		}
		nested = true
		put(t, filepath.Join(root, slug, "skill.md"), plain+"More.\n")
		must(t, s.rescan(func(string) {}))
	}))
	if got := s.List()[0].Skill; !nested || got != "Do it.\nMore.\n" {
		t.Errorf("skill is %q", got)
	}
}

func TestGetNotFound(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{slug + "/skill.md": plain})
	put(t, filepath.Join(filepath.Dir(root), "secret-x-1", "skill.md"), plain)
	s := openStore(t, root)
	for _, slug := range []string{"developer-con-2", "", ".", "..", "../secret-x-1", slug + "/", slug + "/../" + slug, "/etc", ".archive", "x\x00-y-1"} {
		failed(s.Get(slug))(t, fmt.Sprintf("%q", slug), ErrNotFound)
		wantErr(t, fmt.Sprintf("archive of %q", slug), s.Archive(t.Context(), slug), ErrNotFound)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(dir string) error // dir exists and is empty
		want string
	}{
		{"no skill", func(string) error { return nil }, "no skill.md"},
		{"broken skill", func(dir string) error { return os.WriteFile(dir+"/skill.md", []byte("x\xff"), 0o600) }, "line 1"},
		{"skill is a fifo", func(dir string) error { return syscall.Mkfifo(dir+"/skill.md", 0o600) }, "not a regular file"},
		{"skill is a folder", func(dir string) error { return os.Mkdir(dir+"/skill.md", 0o700) }, "not a regular file"},
		{"skill leads out", func(dir string) error { return os.Symlink("../../secret", dir+"/skill.md") }, "skill.md is a link"},
		{"skill leads to a device", func(dir string) error { return os.Symlink("/dev/zero", dir+"/skill.md") }, "skill.md is a link"},
		{"skill is huge", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/skill.md", nil, 0o600), os.Truncate(dir+"/skill.md", 1<<40))
		}, "1099511627776 bytes"},
		{"experience leads out", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/skill.md", []byte(plain), 0o600), os.Symlink("../../secret", dir+"/experience.md"))
		}, "experience.md is a link"},
		{"experience is a fifo", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/skill.md", []byte(plain), 0o600), syscall.Mkfifo(dir+"/experience.md", 0o600))
		}, "experience.md is not a regular file"},
		{"skill is written by others", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/skill.md", []byte(plain+"secret"), 0o600), os.Chmod(dir+"/skill.md", 0o666))
		}, "bad-one-1/skill.md may be written by others (mode 0666), who could so run programs as this user: run chmod go-w "},
		{"folder is written by others", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/skill.md", []byte(plain+"secret"), 0o600), os.Chmod(dir, 0o777))
		}, "bad-one-1 may be written by others (mode 0777)"},
		{"folder leads out", func(dir string) error {
			return errors.Join(os.Remove(dir), os.Symlink("../../elsewhere", dir))
		}, "symbolic link"},
		{"folder leads to another", func(dir string) error {
			return errors.Join(os.Remove(dir), os.Symlink("good-one-1", dir))
		}, "symbolic link"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := folder(t, map[string]string{"good-one-1/skill.md": plain})
			put(t, filepath.Join(root, "../../secret"), plain+"secret")
			put(t, filepath.Join(root, "../elsewhere/skill.md"), plain+"secret")
			put(t, filepath.Join(root, "../secret"), plain+"secret")
			dir := filepath.Join(root, "bad-one-1")
			must(t, os.Mkdir(dir, 0o700))
			must(t, test.make(dir))
			s := openStore(t, root)
			if got := slugs(s); got != "bad-one-1, good-one-1" {
				t.Fatalf("list is %s", got)
			}
			p := value(s.Get("bad-one-1"))(t)
			if p != s.List()[0] || !strings.Contains(p.Problem, test.want) || !strings.Contains(p.Problem, "bad-one-1") {
				t.Errorf("got %+v; want a problem with %q", p, test.want)
			}
			if strings.Contains(p.Skill+p.SkillFile+p.Experience, "secret") {
				t.Error("what is outside was read")
			}
			equal(t, "the good one has the problem", s.List()[1].Problem, "")
		})
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	failed(Open(filepath.Join(t.TempDir(), "none")))(t, "missing folder", os.ErrNotExist)
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "")
	failed(Open(file))(t, "a file was opened")
}
