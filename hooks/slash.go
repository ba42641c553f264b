package hooks

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// SlashFile is what stands where Claude Code looks for the command /handoff.
type SlashFile struct {
	Path   string
	Text   []byte // nil: no file
	Folder bool   // the folder for it is there
}

// SlashPlan is a change of that file, to be shown and then [ApplySlash]'d.
type SlashPlan struct {
	Path          string
	Before, After []byte // the whole file; nil is no file
	Changed       bool
	Foreign       bool // the file is somebody else's, and stays as it is
}

// slashTemplate is the command's file. A person's /handoff does not get to it while the daemon is
// there: our hook of the prompt answers before. It is for the model, which runs the command as a
// skill, and for a person whose hook was not answered.
//
// The focus goes to stdin through a quoted heredoc in a ```! block: no other form passes all that a
// person may type to the shell as it is (measured on Claude Code 2.1.329; only three backticks end
// the block, and the focus). Should the focus hold the delimiter's line, what follows it is refused
// by the CLI, for allowed-tools names our command alone.
//
//go:embed slash.md
var slashTemplate string

// slashMarker begins a line, a comment, of each command file that install wrote, and of nobody
// else's; slashFolder is said below it if install had to make the folder.
const (
	slashMarker = "# understudy hooks install wrote this file, and uninstall removes it: changes get lost."
	slashFolder = "# It made the folder as well."
)

// maxSlash is more than any file of ours has, in bytes.
const maxSlash = 64 << 10

// SlashPath is where the command's file belongs for a settings file: in commands/ beside it.
func SlashPath(settings string) string {
	return filepath.Join(filepath.Dir(settings), "commands", "handoff.md")
}

// ReadSlash reads the command's file that belongs to a settings file. What is no regular file, or
// too large to be ours, is read as an empty one.
func ReadSlash(settings string) (SlashFile, error) {
	f, err := readSlash(SlashPath(settings))
	if err != nil {
		return f, fmt.Errorf("command /handoff: %w", err)
	}
	return f, nil
}

func readSlash(path string) (SlashFile, error) {
	f := SlashFile{Path: path}
	_, err := os.Stat(filepath.Dir(path))
	f.Folder = err == nil
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case !info.Mode().IsRegular() || info.Size() > maxSlash:
		f.Text = []byte{}
		return f, nil
	}
	f.Text, err = os.ReadFile(path)
	return f, err
}

// Ours reports whether install wrote the file.
func (f SlashFile) Ours() bool { return hasLine(f.Text, slashMarker) }

// madeFolder reports whether install made the folder, or has to.
func (f SlashFile) madeFolder() bool { return !f.Folder || f.Ours() && hasLine(f.Text, slashFolder) }

func hasLine(text []byte, line string) bool {
	for l := range bytes.Lines(text) {
		if string(bytes.TrimRight(l, "\r\n")) == line {
			return true
		}
	}
	return false
}

// PlanSlash puts the command /handoff where now was found. A file that install wrote is replaced
// where it differs; anybody else's is left alone. Of the options the events do not matter.
func PlanSlash(now SlashFile, o InstallOptions) (SlashPlan, error) {
	p := now.plan()
	if p.Foreign {
		return p, nil
	}
	text, err := o.slash(now.madeFolder())
	if err != nil {
		return p, fmt.Errorf("install command /handoff: %w", err)
	}
	p.After, p.Changed = text, !bytes.Equal(text, now.Text)
	return p, nil
}

// PlanSlashRemoval takes the command out again. The folder goes with it if it was made for it and
// holds nothing else.
func PlanSlashRemoval(now SlashFile) SlashPlan {
	p := now.plan()
	if now.Ours() {
		p.After, p.Changed = nil, true
	}
	return p
}

// plan is one that changes nothing.
func (f SlashFile) plan() SlashPlan {
	return SlashPlan{Path: f.Path, Before: f.Text, After: f.Text, Foreign: f.Text != nil && !f.Ours()}
}

// slash is the text of the command's file.
func (o InstallOptions) slash(madeFolder bool) ([]byte, error) {
	if err := checkPath("binary", o.Bin); err != nil {
		return nil, err
	}
	marker := slashMarker
	if madeFolder {
		marker += "\n" + slashFolder
	}
	command := shellWord(o.Bin) + " handoff self"
	rule, err := marshal("Bash("+command+":*)", "", "") // a JSON string is one of YAML, too
	if err != nil {
		return nil, err
	}
	command += " --mode generate --focus -"
	if o.DataDir != "" {
		if err := checkPath("data directory", o.DataDir); err != nil {
			return nil, err
		}
		command += " --data " + shellWord(o.DataDir)
	}
	fill := strings.NewReplacer("{{marker}}", marker, "{{rule}}", string(rule), "{{command}}", command)
	return []byte(fill.Replace(slashTemplate)), nil
}

// ApplySlash carries the plan out as [Apply] does, but without a backup: nothing is replaced or
// removed but what install wrote.
func ApplySlash(p SlashPlan) error {
	if !p.Changed {
		return nil
	}
	if err := p.apply(); err != nil {
		return fmt.Errorf("apply command /handoff to %s: %w", p.Path, err)
	}
	return nil
}

func (p SlashPlan) apply() error {
	now, err := readSlash(p.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now.Text, p.Before) || (now.Text == nil) != (p.Before == nil) {
		return errors.New("the file was changed meanwhile; run it again")
	}
	target, err := linkTarget(p.Path)
	if err != nil {
		return err
	}
	if p.After == nil {
		if err := os.Remove(target); err != nil {
			return err
		}
		if now.madeFolder() {
			// Fails, as it should, for a folder that holds more, or that is a link by now.
			_ = syscall.Rmdir(filepath.Dir(p.Path))
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return replace(target, p.After)
}
