package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/personas"
)

func (a *app) pipelineTemplates() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "templates",
		Short: "List the templates that runs are made from",
		Long: `List the templates that runs are made from: the files pipelines/*.yaml in the data directory. The
daemon reads them anew when they change.`,
		Example: "  understudy pipeline templates",
		Args:    exactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.listTemplates(c.Context()) },
	})
}

func (a *app) listTemplates(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.Templates(ctx)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(list)
	}
	u := a.ui(a.stdout)
	if len(list) == 0 {
		u.printf("no templates: put one into the folder pipelines of the data directory\n")
	}
	for _, t := range list {
		describeTemplate(u, &t)
	}
	return nil
}

// describeTemplate prints a template's name and what it is for, its steps below that, and what is
// wrong with its file.
func describeTemplate(u *ui, t *api.Template) {
	u.printf("%s\n", u.bold(printable(t.Name)))
	for _, text := range []string{t.Description, templateSteps(t.Steps)} {
		for _, line := range u.fold(printable(text), len(margin)) {
			if line != "" {
				u.printf("%s%s\n", margin, line)
			}
		}
	}
	if t.Problem != nil {
		for _, line := range u.fold(printable(u.tilde(problemIn(t.File, *t.Problem))), len(margin)) {
			u.printf("%s%s\n", margin, u.red(line))
		}
		if len(t.Steps) > 0 {
			u.printf("%s%s\n", margin, u.dim("until that is mended, runs are made from what it last held"))
		}
	}
}

// templateSteps is the way that a run takes.
func templateSteps(steps []api.TemplateStep) string {
	var names []string
	for _, s := range steps {
		if s.Approval {
			names = append(names, "[approval]")
		}
		names = append(names, s.Agent)
	}
	return strings.Join(names, " → ")
}

// problemIn is what is wrong with a template's file, with its path.
func problemIn(file, problem string) string {
	if strings.HasPrefix(problem, filepath.Base(file)) {
		return filepath.Dir(file) + string(filepath.Separator) + problem
	}
	return problem
}

// checkTemplates looks for templates that can't be used.
func checkTemplates(root string) finding {
	f := finding{Name: "templates", State: findingWarning, Fix: "correct it"}
	templates, err := personas.OpenTemplates(filepath.Join(root, "pipelines"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok(f.Name, "they come when the daemon first starts")
	case err != nil:
		f.Detail = sentence(err)
		return f
	}
	var broken []string
	for _, t := range templates.List() {
		if t.Problem != "" {
			broken = append(broken, problemIn(t.File, t.Problem))
		}
	}
	switch len(broken) {
	case 0:
		return ok(f.Name, "%s for `understudy pipeline run`", counted(len(templates.List()), "template"))
	case 1:
	default:
		f.Fix = "correct them"
	}
	f.Detail = strings.Join(broken, "; ")
	return f
}
