package commands

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/data/yamlfile"
	"github.com/understudyd/understudy/personas"
)

func personaCommand(a *cli.App) *cobra.Command {
	return cli.Group("persona", "Add, look at, edit and archive the personas that agents play",
		personaAdd(a), personaList(a), personaShow(a), personaEdit(a), personaRename(a), personaGoOn(a), personaArchive(a))
}

func personaAdd(a *cli.App) *cobra.Command {
	var in personas.New
	var file string
	c := a.WithJSON(&cobra.Command{
		Use:   "add ROLE NAME",
		Short: "Add a persona, under the next number of its role and name",
		Long: `Add a persona, under the next number of its role and name. Its folder gets two files: every agent
that plays the persona is given skill.md, and leaves in experience.md what later agents should know.`,
		Example: `  understudy persona add developer mia --description "Works on the billing service"
  understudy persona add data-engineer leo --skill-file leo.md`,
		RunE: func(c *cobra.Command, args []string) error {
			in.Role, in.Name = args[0], args[1]
			return addPersona(c.Context(), a, in, file)
		},
	})
	c.Flags().StringVar(&in.Description, "description", "", "one `line` on what the persona is for")
	c.Flags().StringVar(&file, "skill-file", "", "`file` with the skill, with or without front matter; - is stdin (default a template to edit)")
	return c
}

func addPersona(ctx context.Context, a *cli.App, in personas.New, file string) error {
	switch file {
	case "":
	case "-":
		var err error
		if in.Skill, err = textOrStdin(a, "-"); err != nil {
			return err
		}
	default:
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("skill: %w", err)
		}
		if err := yamlfile.CheckText(b); err != nil {
			return fmt.Errorf("skill %s, %w", file, err)
		}
		in.Skill = string(b)
	}
	p, err := a.Client().CreatePersona(ctx, in)
	next := ""
	if in.Skill == "" {
		next = fmt.Sprintf("; it says what its description says, and `understudy persona edit %s` opens it", p.Slug)
	}
	return answer(a, p, err, "persona %s is ready: its skill is in %s/skill.md%s", p.Slug, p.Dir, next)
}

func personaList(a *cli.App) *cobra.Command {
	var archived bool
	c := a.WithJSON(&cobra.Command{
		Use:     "list",
		Short:   "List personas",
		Example: "  understudy persona list\n  understudy persona list --archived",
		RunE:    func(c *cobra.Command, _ []string) error { return listPersonas(c.Context(), a, archived) },
	})
	c.Flags().BoolVar(&archived, "archived", false, "list archived personas")
	return c
}

func listPersonas(ctx context.Context, a *cli.App, archived bool) error {
	list, err := a.Client().Personas(ctx, archived)
	columns := []string{"PERSONA", "HANDOFFS", "MODEL", "DESCRIPTION"}
	return printList(a, list, err, "no personas", columns, func(p *api.Persona) []string {
		about := p.Description
		if p.Problem != nil {
			about = "cannot be played: " + *p.Problem
		}
		return []string{p.Slug, fmt.Sprint(p.Handoffs), cmp.Or(term.Text(p.Model), "-"), about}
	})
}

func personaShow(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "show PERSONA",
		Short:   "Show one persona, with its skill and experience",
		Example: "  understudy persona show developer-con-1",
		RunE:    func(c *cobra.Command, args []string) error { return showPersona(c.Context(), a, args[0]) },
	})
}

func showPersona(ctx context.Context, a *cli.App, slug string) error {
	c := a.Client()
	p, err := c.Persona(ctx, slug)
	if err != nil || a.JSON {
		return told(a, p, err, nil)
	}
	archived := ""
	if p.Archived {
		archived = "yes"
	}
	budget := ""
	if s, err := c.Budget(ctx, slug); err == nil { // its error says that it has none
		budget = s.Words()
	}
	u := a.UI(a.Stdout)
	u.Fields("persona", p.Slug, "description", p.Description, "problem", term.Text(p.Problem), "archived", archived,
		"runtime", term.Text(p.Runtime), "model", term.Text(p.Model), "budget", budget, "handoffs", fmt.Sprint(p.Handoffs), "folder", p.Dir)
	experience := "Experience"
	if p.ExperienceCut > 0 {
		experience = fmt.Sprintf("Experience, without its first %d bytes", p.ExperienceCut)
	}
	for _, part := range []struct{ head, body string }{{"Skill", p.Skill}, {experience, p.Experience}} {
		if part.body != "" {
			u.Printf("\n%s\n", u.Bold(part.head))
			u.Block(part.body)
		}
	}
	return nil
}

func personaArchive(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "archive PERSONA",
		Short:   "Archive a persona with its documents; nothing is deleted",
		Example: "  understudy persona archive developer-mia-1",
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.Client().ArchivePersona(c.Context(), args[0])
			return answer(a, p, err, "persona %s is in %s", p.Slug, p.Dir)
		},
	})
}
