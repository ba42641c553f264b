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
)

// SlashFile is the file from which Claude Code reads the command /handoff.
type SlashFile struct {
	Path   string
	Text   []byte // nil if there is no file
	Folder bool   // the file's folder exists
}

// slashTemplate is the text of the command's file. While the daemon runs, the CLI does not use the file for
// a person's /handoff, because our UserPromptSubmit hook answers first. The file is for the model, which runs the
// command as a skill, and for a person whose hook got no answer.
//
// The file passes the focus to the command's stdin through a quoted heredoc in a ```! block. No other form passes
// every text that a person may type to the shell unchanged (measured on Claude Code 2.1.329). Even in this form three
// backticks end the block, and with it the focus. If the focus contains the heredoc's last line, the CLI refuses the
// lines after that line, because allowed-tools names only our command.
//
//go:embed slash.md
var slashTemplate string

// slashMarker is a comment line in each command file that install wrote, and in no other file. If install
// had to make the folder, slashFolder is the next line.
const (
	slashMarker = "# understudy hooks install wrote this file, and uninstall removes it: changes get lost."
	slashFolder = "# It made the folder as well."
	// launchMarker takes the place of slashMarker in the command of a launch.
	launchMarker = "# understudy has made this for one agent, and removes it with the agent."
)

// maxSlash is the size, in bytes, above which a command file cannot be ours.
const maxSlash = 64 << 10

// SlashPath returns the path of the command's file for a settings file. It is in the folder commands/ beside the
// settings file.
func SlashPath(settings string) string {
	return filepath.Join(filepath.Dir(settings), "commands", "handoff.md")
}

// ReadSlash reads the command's file that belongs to a settings file. If the file is not regular or is too large to be
// ours, Text is empty but not nil.
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

// madeFolder reports whether install made the folder, or has to make it.
func (f SlashFile) madeFolder() bool { return !f.Folder || f.Ours() && hasLine(f.Text, slashFolder) }

func hasLine(text []byte, line string) bool {
	for l := range bytes.Lines(text) {
		if string(bytes.TrimRight(l, "\r\n")) == line {
			return true
		}
	}
	return false
}

// PlanSlash plans to install the command /handoff, where now is its present file. If there is no file, the plan makes
// one. If install wrote the file and its text differs, the plan replaces it. It does not change any other file.
// PlanSlash ignores the events in o.
func PlanSlash(now SlashFile, o InstallOptions) (Plan, error) {
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

// PlanSlashRemoval plans to remove the command's file, if install wrote it. Apply also removes the folder if
// install made the folder and it is empty.
func PlanSlashRemoval(now SlashFile) Plan {
	p := now.plan()
	if now.Ours() {
		p.After, p.Changed, p.folder = nil, true, now.madeFolder()
	}
	return p
}

// plan returns a plan that changes nothing.
func (f SlashFile) plan() Plan {
	return Plan{Path: f.Path, Before: f.Text, After: f.Text, Foreign: f.Text != nil && !f.Ours()}
}

// slash returns the text of the command's file.
func (o InstallOptions) slash(madeFolder bool) ([]byte, error) {
	if err := checkPath("binary", o.Bin); err != nil {
		return nil, err
	}
	marker := slashMarker
	if madeFolder {
		marker += "\n" + slashFolder
	}
	command := shellWord(o.Bin) + " handoff self"
	rule, err := marshal("Bash("+command+":*)", "", "") // every JSON string is also a YAML string
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

// LaunchSlash returns the text of the command /handoff that the launch of an agent brings along in a plugin. Its name makes Claude
// Code know it without the plugin's name before it.
func LaunchSlash(bin string) ([]byte, error) {
	text, err := InstallOptions{Bin: bin}.slash(false)
	return bytes.Replace(text, []byte(slashMarker), []byte("name: handoff\n"+launchMarker), 1), err
}
