package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/words"
)

func pipelineCommand(a *cli.App) *cobra.Command {
	c := cli.Group("pipeline", "Run personas in sequence, each fed by the one before it",
		pipelineRun(a), pipelineList(a), pipelineShow(a), pipelineAbort(a), pipelineResume(a),
		pipelineApprove(a), pipelineReject(a), pipelineTemplates(a))
	c.Long = `Run personas in sequence. A pipeline is one run of a template. Each step starts an agent with the
step's persona and gives it the output of the step before; the agent's final message is the step's
own output. A step may wait for a person's approval before it begins. A rule of a template may send
the work back to an earlier step, for max_rounds rounds; then a person decides about a further one.`
	return c
}

func pipelineRun(a *cli.App) *cobra.Command {
	var in pipelines.NewPipeline
	var runtimes, models []string
	var wait bool
	c := a.WithJSON(&cobra.Command{
		Use:   "run TEMPLATE",
		Short: "Start a pipeline from a template",
		Long: `Start a pipeline from a template. The daemon runs the pipeline, whether or not this command waits
for it. While pipeline.max_running pipelines are at work, a new one waits for its turn.

With --wait the command ends when the pipeline does. If a step needs an approval the command waits,
in scripts as well, until somebody approves or rejects it.

--runtime and --model say how the steps run, in place of what the template and the personas say:
--runtime codex for all steps, --runtime 2=codex for the second.`,
		Example: `  understudy pipeline run quick_fix --prompt "The login page times out" --wait
  understudy pipeline run quick_fix --runtime 2=codex --model 2=gpt-5 --prompt - < request.md
  understudy pipeline run full_feature --branch csv-export --prompt - --wait < request.md`,
		RunE: func(c *cobra.Command, args []string) error {
			in.Template = args[0]
			for _, of := range []struct {
				flag   string
				values []string
			}{{"runtime", runtimes}, {"model", models}} {
				for _, value := range of.values {
					choice, err := stepChoice(of.flag, value)
					if err != nil {
						return err
					}
					in.Steps = append(in.Steps, choice)
				}
			}
			return runPipeline(c.Context(), a, in, wait)
		},
	})
	c.Flags().StringVar(&in.Prompt, "prompt", "", "`text` that says what is to be done; - reads it from stdin")
	c.Flags().StringVar(&in.Title, "title", "", "`name` of the pipeline (default the prompt's first line)")
	c.Flags().StringVar(&in.Cwd, "cwd", ".", "working `directory`; \"\" stands for the setting pipeline.cwd")
	c.Flags().StringVar(&in.Branch, "branch", "", "`branch` to work on, in a git work tree of the pipeline's own")
	c.Flags().StringArrayVar(&runtimes, "runtime", nil, "run step N, or all steps, on this `[N=]runtime`")
	c.Flags().StringArrayVar(&models, "model", nil, "run step N, or all steps, with this `[N=]model`")
	cli.CompleteFlag(c, "cwd", folders)
	cli.CompleteFlag(c, "runtime", completeRuntimes(a))
	c.Flags().BoolVar(&wait, "wait", false, "wait until the pipeline ends, and show its steps")
	return c
}

// stepChoice reads the value of --runtime or --model: a name, or the number of a step, = and a name.
func stepChoice(flag, value string) (pipelines.StepChoice, error) {
	var c pipelines.StepChoice
	number, name, one := strings.Cut(value, "=")
	if one {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return c, cli.Usagef("--%s %s: the number of a step must stand before the =, such as --%[1]s 2=NAME", flag, words.Terminal(value))
		}
		c.Step = n
	} else {
		name = value
	}
	if name == "" {
		return c, cli.Usagef("--%s has no name", flag)
	}
	if flag == "runtime" {
		c.Runtime = name
	} else {
		c.Model = name
	}
	return c, nil
}

func runPipeline(ctx context.Context, a *cli.App, in pipelines.NewPipeline, wait bool) error {
	if strings.TrimSpace(in.Prompt) == "" {
		return cli.Usagef("--prompt is missing: it says what is to be done")
	}
	var err error
	if in.Prompt, err = textOrStdin(a, in.Prompt); err != nil {
		return err
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return errors.New("the prompt from stdin is empty: it says what is to be done")
	}
	if in.Title == "" {
		in.Title = words.Clip(words.Terminal(cmp.Or(show.Headline(in.Prompt), strings.TrimSpace(in.Prompt))), titleLength)
	}
	if in.Cwd != "" { // if it is "", the daemon uses its own setting
		if in.Cwd, err = filepath.Abs(in.Cwd); err != nil {
			return fmt.Errorf("working directory: %w", err)
		}
	}
	c := a.Client()
	p, err := c.CreatePipeline(ctx, in)
	if err != nil {
		return err
	}
	if !wait && !a.JSON { // with wait, the Stepper prints the warnings
		u := a.UI(a.Stderr)
		for _, w := range p.Warnings {
			u.Printf("%s\n", u.Hang("understudy: warning: "+w))
		}
	}
	return followPipeline(ctx, a, c, p, wait)
}

// titleLength is the number of characters of a prompt that make a title.
const titleLength = 80

// followPipeline prints the state of a pipeline that a command has started. With wait it shows the pipeline until the
// pipeline ends.
func followPipeline(ctx context.Context, a *cli.App, c *api.Client, p daemon.Pipeline, wait bool) error {
	switch {
	case wait:
		return watchPipeline(ctx, a, c, p)
	case a.JSON:
		return a.PrintJSON(p)
	}
	how := words.Of(p.Status) + ":"
	switch note := show.NoteWords(&p); {
	case strings.HasPrefix(note, term.WaitsForWords):
		how = note + ";"
	case note != "":
		how = words.Of(p.Status) + "; " + note + ";"
	}
	u := a.UI(a.Stdout)
	u.Printf("%s\n", u.Hang(fmt.Sprintf("pipeline %d %s `understudy pipeline show %[1]d` tells how it goes", p.ID, how)))
	return nil
}

func pipelineList(a *cli.App) *cobra.Command {
	o := api.ListOptions{}
	c := a.WithJSON(&cobra.Command{
		Use:     "list",
		Short:   "List pipelines, the newest first",
		Example: "  understudy pipeline list --template quick_fix\n  understudy pipeline list --status waiting_for_approval --json",
		RunE:    func(c *cobra.Command, _ []string) error { return listPipelines(c.Context(), a, o) },
	})
	c.Flags().StringVar(&o.Status, "status", "", "only pipelines with this `status`: pending, running, waiting_for_approval (or approval), done or failed")
	c.Flags().StringVar(&o.Template, "template", "", "only pipelines of this `template`")
	pageFlags(c, &o, "pipelines", completePipelines(a, nil))
	cli.CompleteFlag(c, "template", completeTemplates(a))
	cli.CompleteFlag(c, "status", cli.OneOf(runStatuses...))
	return c
}

func listPipelines(ctx context.Context, a *cli.App, o api.ListOptions) error {
	none := noPipelines(&o)
	if o.Status == approvalCell {
		o.Status = string(daemon.PipelineWaiting)
	}
	list, err := a.Client().Pipelines(ctx, o)
	columns := []string{"ID", "STATUS", "STEP", "TEMPLATE", "TIME", "CREATED", "TITLE"}
	return printList(a, list, err, none, columns, func(p *daemon.Pipeline) []string {
		status := string(p.Status)
		if p.Status == daemon.PipelineWaiting {
			status = approvalCell
		}
		return []string{fmt.Sprint(p.ID), status, show.StepsDone(p), p.Template, show.RunTime(p), words.Ago(p.CreatedAt), p.Title}
	})
}

// approvalCell is the short form of the status waiting_for_approval in a list. The full form would leave too little room
// for the title.
const approvalCell = "approval"

// noPipelines returns the sentence that no pipeline matches the options of a list.
func noPipelines(o *api.ListOptions) string {
	if o.Status == "" && o.Template == "" && o.Before == 0 {
		return "no pipelines: start one with `understudy pipeline run TEMPLATE`"
	}
	said := "no pipelines"
	if o.Template != "" {
		said += " of template " + words.Terminal(o.Template)
	}
	if o.Status != "" {
		said += " with status " + words.Terminal(o.Status)
	}
	if o.Before != 0 {
		said += fmt.Sprintf(" before %d", o.Before)
	}
	return said
}

// pipelineVerb makes a command that runs do on one pipeline.
func pipelineVerb(a *cli.App, word, short, example string, fits func(*daemon.Pipeline) bool, do func(context.Context, *api.Client, int64) error) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use: word + " ID", Short: short, Example: example,
		ValidArgsFunction: completePipelines(a, fits),
		RunE:              onID(a, "pipeline", do),
	})
}

func pipelineAbort(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use: "abort ID...", Short: "End pipelines, and the agents that work for them",
		Example:           "  understudy pipeline abort 7\n  understudy pipeline abort 7 8 9",
		ValidArgsFunction: completePipelines(a, (*daemon.Pipeline).Open),
		RunE: func(c *cobra.Command, args []string) error {
			client := a.Client()
			return forEach(a, args, func(word string) (any, error) {
				id, err := parseID("pipeline", word)
				if err != nil {
					return nil, err
				}
				p, err := client.AbortPipeline(c.Context(), id)
				return p, tellStopped(a, &p, "aborted", err)
			})
		},
	})
}

func pipelineReject(a *cli.App) *cobra.Command {
	var comment string
	c := pipelineVerb(a, "reject", "Refuse the approval that a pipeline waits for, and end the pipeline",
		"  understudy pipeline reject 7 --comment \"The design leaves out the old clients\"",
		func(p *daemon.Pipeline) bool { return p.Status == daemon.PipelineWaiting },
		func(ctx context.Context, c *api.Client, id int64) error {
			comment, err := textOrStdin(a, comment)
			if err != nil {
				return err
			}
			p, err := c.RejectPipeline(ctx, id, pipelines.Decision{Comment: comment})
			if err = tellStopped(a, &p, "rejected", err); err == nil && a.JSON {
				err = a.PrintJSON(p)
			}
			return err
		})
	c.Flags().StringVar(&comment, "comment", "", "`text` that says why; - reads it from stdin")
	return c
}

// tellStopped prints that a person has ended a pipeline, if the command prints no JSON.
func tellStopped(a *cli.App, p *daemon.Pipeline, how string, err error) error {
	if err != nil || a.JSON {
		return err
	}
	u := a.UI(a.Stdout)
	u.Printf("%s\n", u.Hang(words.Join(": ", fmt.Sprintf("pipeline %d is %s", p.ID, how), p.Hint)))
	return nil
}

func pipelineApprove(a *cli.App) *cobra.Command {
	var comment, way string
	var wait bool
	c := pipelineVerb(a, "approve", "Give the approval that a pipeline waits for, or say which step comes next",
		"  understudy pipeline approve 7 --wait\n  understudy pipeline approve 7 --comment \"Without the second migration\"\n  understudy pipeline approve 7 --goto developer",
		func(p *daemon.Pipeline) bool { return p.Status == daemon.PipelineWaiting },
		func(ctx context.Context, c *api.Client, id int64) error {
			comment, err := textOrStdin(a, comment)
			if err != nil {
				return err
			}
			in := pipelines.Decision{Comment: comment}
			if in.Goto, err = stepNamed(ctx, c, id, way); err != nil {
				return err
			}
			p, err := c.ApprovePipeline(ctx, id, in)
			if err != nil {
				return err
			}
			return followPipeline(ctx, a, c, p, wait)
		})
	c.Flags().StringVar(&comment, "comment", "", "`text` to give to the next step; - reads it from stdin")
	c.Flags().StringVar(&way, "goto", "", "the `step` that comes next, by its number in the template or its agent, where the rules of a step don't decide (default the following one)")
	cli.CompleteFlag(c, "goto", cobra.NoFileCompletions)
	c.Flags().BoolVar(&wait, "wait", false, "wait until the pipeline ends, and show its steps")
	return c
}

// stepNamed returns the number of the step that a person names, by its number in the template or by its agent; 0: they name none.
func stepNamed(ctx context.Context, c *api.Client, id int64, name string) (number int, err error) {
	if name == "" {
		return 0, nil
	}
	if number, err = strconv.Atoi(name); err == nil && number > 0 {
		return number, nil
	}
	p, err := c.Pipeline(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, s := range p.Steps {
		if s.AgentName != name {
			continue
		}
		if number != 0 && number != s.Number {
			return 0, cli.Usagef("several steps of pipeline %d have the agent %s: name the number of one", id, name)
		}
		number = s.Number
	}
	if number == 0 {
		return 0, cli.Usagef("pipeline %d has no step %s: `understudy pipeline show %[1]d` lists its steps", id, words.Terminal(name))
	}
	return number, nil
}

func pipelineResume(a *cli.App) *cobra.Command {
	var skip, wait bool
	c := pipelineVerb(a, "resume", "Go on with a failed pipeline, from its first step that is not done",
		"  understudy pipeline resume 7 --wait\n  understudy pipeline resume 7 --skip",
		func(p *daemon.Pipeline) bool { return p.Status == daemon.PipelineFailed },
		func(ctx context.Context, c *api.Client, id int64) error {
			p, err := c.ResumePipeline(ctx, id, skip)
			if err != nil {
				return err
			}
			return followPipeline(ctx, a, c, p, wait)
		})
	c.Flags().BoolVar(&skip, "skip", false, "skip that step, and go on with the next")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the pipeline ends, and show its steps")
	return c
}
