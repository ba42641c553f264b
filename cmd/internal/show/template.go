package show

import (
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/words"
)

// DescribeTemplate prints a template's name, its description, its steps, and what is wrong with its file.
func DescribeTemplate(u *term.UI, t *api.Template) {
	u.Printf("%s\n", u.Bold(words.Terminal(t.Name)))
	for _, text := range []string{t.Description, TemplateSteps(t.Steps)} {
		for _, line := range u.Fold(words.Terminal(text), len(term.Margin)) {
			if line != "" {
				u.Printf("%s%s\n", term.Margin, line)
			}
		}
	}
	if t.Problem != nil {
		for _, line := range u.Fold(words.Terminal(u.Tilde(ProblemIn(t.File, *t.Problem))), len(term.Margin)) {
			u.Printf("%s%s\n", term.Margin, u.Red(line))
		}
		if len(t.Steps) > 0 {
			u.Printf("%s%s\n", term.Margin, u.Dim("until you mend the file, pipelines are made from its last good version"))
		}
	}
}

// TemplateSteps returns the names of a template's steps and approvals, in order, with the runtimes and models that the
// template names.
func TemplateSteps(steps []api.TemplateStep) string {
	var names []string
	for _, s := range steps {
		if s.Approval {
			names = append(names, "[approval]")
		}
		name := s.Agent
		if on := words.Join(" ", s.Runtime, s.Model); on != "" {
			name += " (" + on + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, " → ")
}

// ProblemIn returns the problem of a template's file, with the file's path.
func ProblemIn(file, problem string) string {
	if strings.HasPrefix(problem, filepath.Base(file)) {
		return filepath.Dir(file) + string(filepath.Separator) + problem
	}
	return problem
}
