package commands

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

func personaEdit(a *cli.App) *cobra.Command {
	var experience bool
	c := &cobra.Command{
		Use:   "edit PERSONA",
		Short: "Edit a persona's skill, or its experience, in your editor",
		Long: `Edit a persona's skill.md in $VISUAL, or else in $EDITOR. The command checks what you have written
before it takes the place of the file, and offers to edit again if the persona could not be played
with it. Until then it is a draft beside the file, which the next edit goes on with. Agents that
start afterwards get the new text; those that play the persona now keep theirs.`,
		Example: "  understudy persona edit developer-con-1\n  EDITOR='code --wait' understudy persona edit developer-con-1 --experience",
		RunE: func(c *cobra.Command, args []string) error {
			root, err := a.DataRoot()
			if err != nil {
				return err
			}
			e := edit{App: a, slug: args[0]}
			if e.file, err = e.find(data.At(root), experience); err != nil {
				return err
			}
			return e.run(c.Context())
		},
	}
	c.Flags().BoolVar(&experience, "experience", false, "edit experience.md, which the persona's agents write")
	return c
}

// edit is one edit of a file of a persona. The editor works on a draft, so that no agent starts with a half written file. A copy of
// the file as the draft began from it tells whether somebody has changed the file meanwhile.
type edit struct {
	*cli.App
	slug string
	file string
}

func (e *edit) draft() string {
	return filepath.Join(filepath.Dir(e.file), ".draft-"+filepath.Base(e.file))
}

func (e *edit) base() string {
	return filepath.Join(filepath.Dir(e.file), ".base-"+filepath.Base(e.file))
}

// find returns the path of the file.
func (e *edit) find(dir data.Dir, experience bool) (string, error) {
	if _, err := personas.ParseSlug(e.slug); err != nil {
		return "", fmt.Errorf("%q is no persona: `understudy persona list` shows those that there are", e.slug)
	}
	folder := dir.Persona(e.slug)
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no persona %s in %s: `understudy persona list` shows those that there are", e.slug, dir.Personas())
	}
	name := "skill.md"
	if experience {
		name = "experience.md"
	}
	return filepath.Join(folder, name), nil
}

func (e *edit) run(ctx context.Context) error {
	if err := e.begin(); err != nil {
		return err
	}
	for {
		if err := e.openEditor(); err != nil {
			return e.kept(err)
		}
		text, err := os.ReadFile(e.draft())
		if err != nil {
			return e.kept(err)
		}
		if problem := e.problem(text); problem != nil {
			fmt.Fprintf(e.Stderr, "understudy: %s\n", cli.Sentence(problem))
			if term.IsTerminal(e.Stdin) && e.Confirm(ctx, "Edit it again?") {
				continue
			}
			return e.kept(errors.New("the file was not changed"))
		}
		return e.finish(text)
	}
}

// begin makes the draft, or takes up the one that an earlier edit has left.
func (e *edit) begin() error {
	switch info, err := os.Lstat(e.draft()); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: look at it, and remove it", e.UI(e.Stderr).Tilde(e.draft()))
	case err == nil:
		fmt.Fprintf(e.Stderr, "understudy: this goes on with the draft of an earlier edit, %s\n", e.UI(e.Stderr).Tilde(e.draft()))
		return nil
	}
	text, err := os.ReadFile(e.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := data.WriteFile(e.base(), text, 0o600); err != nil {
		return err
	}
	return data.WriteFile(e.draft(), text, 0o600)
}

// openEditor runs the editor on the draft until the editor ends.
func (e *edit) openEditor() error {
	editor := cmp.Or(strings.TrimSpace(e.Getenv("VISUAL")), strings.TrimSpace(e.Getenv("EDITOR")), "vi")
	c := exec.Command("sh", "-c", editor+` "$1"`, "sh", e.draft()) // the variable may have arguments
	c.Stdin, c.Stdout, c.Stderr = e.Stdin, e.Stdout, e.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("the editor %q failed (%w): set $VISUAL or $EDITOR", editor, err)
	}
	return nil
}

// problem says why the persona could not be played with the text; nil: it could.
func (e *edit) problem(text []byte) error {
	if filepath.Base(e.file) != "skill.md" {
		return nil
	}
	_, err := personas.Parse(e.slug, text)
	return err
}

// finish puts the draft in place of the file, if nobody has changed the file since the draft began.
func (e *edit) finish(text []byte) error {
	base, err := os.ReadFile(e.base())
	if err != nil {
		return e.kept(err)
	}
	now, err := os.ReadFile(e.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e.kept(err)
	}
	switch {
	case bytes.Equal(text, now):
		fmt.Fprintf(e.Stdout, "%s is as it was\n", e.UI(e.Stdout).Tilde(e.file))
	case !bytes.Equal(now, base):
		if err := data.WriteFile(e.base(), now, 0o600); err != nil {
			return e.kept(err)
		}
		return e.kept(fmt.Errorf("%s was changed while you edited it: put its changes into your draft, and run this command again", e.UI(e.Stderr).Tilde(e.file)))
	default:
		if err := data.WriteFile(e.file, text, 0o600); err != nil {
			return e.kept(err)
		}
		fmt.Fprintf(e.Stdout, "%s is changed; agents that play %s now keep what they have\n", e.UI(e.Stdout).Tilde(e.file), e.slug)
	}
	return errors.Join(os.Remove(e.draft()), os.Remove(e.base()))
}

// kept adds to an error where the draft is.
func (e *edit) kept(err error) error {
	return fmt.Errorf("%w; your draft is %s", err, e.UI(e.Stderr).Tilde(e.draft()))
}

func personaRename(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "rename PERSONA NAME",
		Short: "Give a persona another name; its documents go with it",
		Long: `Give a persona another name, such as developer-mia-2. Its folder is renamed, with its skill, its
experience and its documents, and its next agents are pointed to the documents. Agents, handoffs and
usage of the past keep the old name. A persona that is played, or that an open handoff or pipeline
needs, cannot be renamed.`,
		Example: "  understudy persona rename developer-con-1 developer-connie-1",
		RunE:    func(c *cobra.Command, args []string) error { return renamePersona(c.Context(), a, args[0], args[1]) },
	})
}

func renamePersona(ctx context.Context, a *cli.App, slug, to string) error {
	c := a.Client()
	p, err := c.RenamePersona(ctx, slug, to)
	if err != nil {
		return err
	}
	templates, err := c.Templates(ctx)
	if err != nil {
		return err
	}
	for _, t := range templates {
		for _, s := range t.Steps {
			if s.Agent == slug {
				fmt.Fprintf(a.Stderr, "understudy: pipeline template %s still names %s: change it in %s\n", t.Name, slug, a.UI(a.Stderr).Tilde(t.File))
				break
			}
		}
	}
	return answer(a, p, nil, "persona %s is called %s from now on; its files are in %s", slug, p.Slug, p.Dir)
}
