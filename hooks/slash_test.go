package hooks

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plainSlash is the command's file after an install from /usr/bin into an existing folder.
const plainSlash = `---
# understudy hooks install wrote this file, and uninstall removes it: changes get lost.
description: Hand this session's work over to a successor, a fresh agent that goes on with it
argument-hint: "[focus]"
allowed-tools: "Bash(/usr/bin/understudy handoff self:*)"
---
understudy was asked for a handoff, in which a successor takes over the work of this session. It said:

` + "```!" + `
/usr/bin/understudy handoff self --mode generate --focus - <<'UNDERSTUDY_HANDOFF_FOCUS'
$ARGUMENTS
UNDERSTUDY_HANDOFF_FOCUS
` + "```" + `

Tell the user in one sentence what it said, and end your turn. Use no tools: the handoff goes on by itself.
`

var plainBin = InstallOptions{Bin: "/usr/bin/understudy"}

func TestPlanSlash(t *testing.T) {
	t.Parallel()
	swap := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(plainSlash) }
	withFolder := swap(slashMarker, slashMarker+"\n"+slashFolder)
	outdated := strings.NewReplacer("/usr/bin/", "/opt/", "Tell", "Ask")
	for name, c := range map[string]struct {
		now  SlashFile
		o    InstallOptions
		want string
	}{
		"folder there": {SlashFile{Folder: true}, plainBin, plainSlash},
		"no folder":    {SlashFile{}, plainBin, withFolder},
		"installed":    {SlashFile{Text: []byte(plainSlash), Folder: true}, plainBin, plainSlash},
		"outdated":     {SlashFile{Text: []byte(outdated.Replace(plainSlash)), Folder: true}, plainBin, plainSlash},
		"outdated, its folder was made": {
			SlashFile{Text: []byte(outdated.Replace(withFolder)), Folder: true}, plainBin, withFolder,
		},
		"with CRLF": {SlashFile{Text: []byte(strings.ReplaceAll(plainSlash, "\n", "\r\n")), Folder: true}, plainBin, plainSlash},
		"data directory": {
			SlashFile{Folder: true}, InstallOptions{Bin: plainBin.Bin, DataDir: "/home/o'dev/data"},
			swap("--focus -", `--focus - --data '/home/o'\''dev/data'`),
		},
		"path with a blank": {
			SlashFile{Folder: true}, InstallOptions{Bin: "/opt/it's \"here\"/understudy"},
			swap(
				`"Bash(/usr/bin/understudy`, `"Bash('/opt/it'\\''s \"here\"/understudy'`,
				"/usr/bin/understudy", `'/opt/it'\''s "here"/understudy'`),
		},
	} {
		p, err := PlanSlash(c.now, c.o)
		if err != nil || p.Foreign || string(p.After) != c.want || p.Changed != (string(c.now.Text) != c.want) {
			t.Errorf("%s: %v, %+v, want\n%s\ngot\n%s", name, err, p, c.want, p.After)
		}
		out := PlanSlashRemoval(SlashFile{Text: p.After, Folder: true})
		if !out.Changed || out.After != nil || out.Foreign {
			t.Errorf("%s: removal %+v", name, out)
		}
	}
	for name, o := range map[string]InstallOptions{"relative": {Bin: "u"}, "relative data": {Bin: "/u", DataDir: "d"}} {
		if p, err := PlanSlash(SlashFile{}, o); err == nil || p.Changed {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
	}
	if p := PlanSlashRemoval(SlashFile{}); p.Changed || p.Foreign {
		t.Errorf("removal of nothing: %+v", p)
	}
}

// TestForeignSlash: install and uninstall leave a file without our marker line alone.
func TestForeignSlash(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":         "",
		"another":       "---\ndescription: mine\n---\nHand over.\n",
		"without it":    strings.Replace(plainSlash, slashMarker, "", 1),
		"talks of ours": "See the line \"" + slashMarker + "\"\n",
	} {
		now := SlashFile{Text: []byte(text), Folder: true}
		in, err := PlanSlash(now, plainBin)
		out := PlanSlashRemoval(now)
		for _, p := range []Plan{in, out} {
			if err != nil || !p.Foreign || p.Changed || p.After == nil || string(p.After) != text {
				t.Errorf("%s: %v, %+v", name, err, p)
			}
		}
	}
}

// slashStep plans and applies one step for the settings file.
func slashStep(t *testing.T, settings string, f func(SlashFile) (Plan, error)) Plan {
	t.Helper()
	now := value(ReadSlash(settings))(t)
	p := value(f(now))(t)
	must(t, Apply(p))
	return p
}

func putSlash(now SlashFile) (Plan, error)    { return PlanSlash(now, plainBin) }
func removeSlash(now SlashFile) (Plan, error) { return PlanSlashRemoval(now), nil }

func wantGone(t *testing.T, path string) {
	t.Helper()
	failed(os.Lstat(path))(t, path+" is there", os.ErrNotExist)
}

func TestSlashIsApplied(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings := filepath.Join(home, ".claude", "settings.json")
	folder := filepath.Join(home, ".claude", "commands")
	path := filepath.Join(folder, "handoff.md")
	if got := SlashPath(settings); got != path {
		t.Fatalf("SlashPath = %s", got)
	}
	p := slashStep(t, settings, putSlash)
	wantFile(t, path, string(p.After), 0o600)
	wantNames(t, folder, 1)
	if p := slashStep(t, settings, putSlash); p.Changed {
		t.Errorf("a second install: %+v", p)
	}
	slashStep(t, settings, removeSlash)
	wantGone(t, folder)

	// A folder stays if it is not empty, or if install did not make it.
	slashStep(t, settings, putSlash)
	write(t, filepath.Join(folder, "mine.md"), "x", 0o600)
	slashStep(t, settings, removeSlash)
	wantNames(t, folder, 1)
	must(t, os.Remove(filepath.Join(folder, "mine.md")))
	slashStep(t, settings, putSlash)
	slashStep(t, settings, removeSlash)
	wantNames(t, folder, 0)

	// An outdated file keeps its mode; no other file is left beside it.
	write(t, path, strings.Replace(plainSlash, "Tell", "Ask", 1), 0o640)
	slashStep(t, settings, putSlash)
	wantFile(t, path, plainSlash, 0o640)
	wantNames(t, folder, 1)
}

func TestSlashRefuses(t *testing.T) {
	t.Parallel()
	settings := filepath.Join(t.TempDir(), "settings.json")
	path := SlashPath(settings)
	now := value(ReadSlash(settings))(t)
	p := value(putSlash(now))(t)
	mkdir(t, filepath.Dir(path))
	write(t, path, "", 0o600)
	wantErr(t, "over a file that came meanwhile", Apply(p), "changed meanwhile")
	wantFile(t, path, "", 0o600)
	write(t, path, plainSlash, 0o600)
	now = value(ReadSlash(settings))(t)
	write(t, path, plainSlash+"mine", 0o600)
	wantErr(t, "removal of a file that was changed", Apply(PlanSlashRemoval(now)), "changed meanwhile")
	wantFile(t, path, plainSlash+"mine", 0o600)
}

// TestReadSlashOddities: a file that cannot be ours is left alone.
func TestReadSlashOddities(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string){
		"directory": func(path string) { mkdir(t, path) },
		"large":     func(path string) { write(t, path, plainSlash+strings.Repeat("x", maxSlash), 0o600) },
	} {
		settings := filepath.Join(t.TempDir(), "settings.json")
		mkdir(t, filepath.Dir(SlashPath(settings)))
		put(SlashPath(settings))
		if p := slashStep(t, settings, putSlash); !p.Foreign || p.Changed {
			t.Errorf("%s: %+v", name, p)
		}
		if p := slashStep(t, settings, removeSlash); !p.Foreign || p.Changed {
			t.Errorf("removal of %s: %+v", name, p)
		}
	}
	settings := filepath.Join(t.TempDir(), "settings.json")
	write(t, filepath.Dir(SlashPath(settings)), "a file for a folder", 0o600)
	failed(ReadSlash(settings))(t, "a file in place of the folder is no error")
}

// TestSlashFollowsLinks: people may keep their commands elsewhere, behind a link.
func TestSlashFollowsLinks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mkdir(t, filepath.Join(home, "dotfiles"))
	target := filepath.Join(home, "dotfiles", "handoff.md")
	settings := filepath.Join(home, "a", "settings.json")
	mkdir(t, filepath.Dir(SlashPath(settings)))
	link(t, "../../dotfiles/handoff.md", SlashPath(settings))
	slashStep(t, settings, putSlash)
	wantFile(t, target, plainSlash, 0o600)
	slashStep(t, settings, removeSlash)
	wantGone(t, target)
	equal(t, "the link is", value(os.Readlink(SlashPath(settings)))(t), "../../dotfiles/handoff.md")

	// The folder that install made has become a link.
	settings = filepath.Join(home, "b", "settings.json")
	slashStep(t, settings, putSlash)
	folder := filepath.Dir(SlashPath(settings))
	must(t, errors.Join(os.Rename(folder, folder+"2"), os.Symlink(folder+"2", folder)))
	slashStep(t, settings, removeSlash)
	equal(t, "the folder's link is", value(os.Readlink(folder))(t), folder+"2")
	wantNames(t, folder+"2", 0)
}

// TestSlashRuns: the shell block in the file passes the focus on unchanged.
func TestSlashRuns(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "it's a \"place\"")
	mkdir(t, bin)
	fake := value(filepath.Abs("testdata/bin/understudy"))(t)
	link(t, fake, filepath.Join(bin, "understudy"))
	p := value(PlanSlash(SlashFile{}, InstallOptions{Bin: filepath.Join(bin, "understudy"), DataDir: "/da ta"}))(t)
	_, block, _ := strings.Cut(string(p.After), "```!\n")
	block, _, ok := strings.Cut(block, "```\n")
	if !ok {
		t.Fatalf("no block of shell in %s", p.After)
	}
	for _, focus := range []string{"", `fix the "x" $(date) 'y' ; echo z`, "`date` $HOME \\ \\n !! #", "two\nlines"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(block, "$ARGUMENTS", focus, 1))
		out, err := cmd.CombinedOutput()
		if want := "handoff self --mode generate --focus - --data /da ta\n" + focus + "\n"; err != nil || string(out) != want {
			t.Errorf("%q: got %q, %v; want %q", focus, out, err, want)
		}
	}
}
