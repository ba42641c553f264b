package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/calendar"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

type auditFlags struct {
	filter       daemon.AuditFilter
	agent        string
	since, until string
	export       string
	output       string
}

func auditCommand(a *cli.App) *cobra.Command {
	var f auditFlags
	c := a.WithJSON(&cobra.Command{
		Use:   "audit",
		Short: "Search the event log, or save it to a file",
		Long: `Print the events of the log that all flags match, the newest first. With --export the command writes
all of them to the file of --output, or prints them: as JSON, or as a report in Markdown.`,
		Example: `  understudy audit --agent 7 --since 2h
  understudy audit --types handoff_failed,pipeline_failed --since 2026-03-01
  understudy audit --search "permission for Bash" --limit 20
  understudy audit --since 168h --export md --output week.md`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(c, time.Now()); err != nil {
				return err
			}
			return searchAudit(c.Context(), a, f)
		},
	})
	c.Flags().StringVar(&f.agent, "agent", "", "only what is about this `agent`")
	c.Flags().Int64Var(&f.filter.HandoffID, "handoff", 0, "only what is about the handoff with this `id`")
	c.Flags().Int64Var(&f.filter.PipelineID, "pipeline", 0, "only what is about the pipeline with this `id`")
	c.Flags().StringVar(&f.filter.Persona, "persona", "", "only what is about agents of this `persona`")
	c.Flags().StringVar(&f.filter.Host, "host", "", "only what the daemon with this host `id` logged")
	c.Flags().StringSliceVar(&f.filter.Types, "types", nil, "only these `types`, separated by commas")
	c.Flags().StringVar(&f.filter.TypePrefix, "prefix", "", "only types that begin with this `text`, as handoff_")
	c.Flags().StringVar(&f.filter.Text, "search", "", "only what contains this `text`")
	c.Flags().StringVar(&f.since, "since", "", "only what happened after this `time`: 2h ago, or 2006-01-02, or 2006-01-02T15:04:05Z")
	c.Flags().StringVar(&f.until, "until", "", "only what happened before this `time`")
	c.Flags().Int64Var(&f.filter.Before, "before", 0, "only events before this `id`")
	c.Flags().IntVar(&f.filter.Limit, "limit", 100, "at most this `number`")
	c.Flags().StringVar(&f.export, "export", "", "write all matching events in this `form`: md or json")
	c.Flags().StringVarP(&f.output, "output", "o", "", "the `file` that --export writes or replaces")
	cli.CompleteFlag(c, "agent", completeAgents(a))
	cli.CompleteFlag(c, "handoff", completeHandoffs(a, nil))
	cli.CompleteFlag(c, "pipeline", completePipelines(a, nil))
	cli.CompleteFlag(c, "persona", completePersonas(a))
	cli.CompleteFlag(c, "types", listOf(views.EventTypes))
	cli.CompleteFlag(c, "export", cli.OneOf("md", "json"))
	return c
}

// check refuses flags that contradict each other, and reads the times.
func (f *auditFlags) check(c *cobra.Command, now time.Time) (err error) {
	for name, n := range map[string]int64{
		"handoff": f.filter.HandoffID, "pipeline": f.filter.PipelineID, "before": f.filter.Before, "limit": int64(f.filter.Limit),
	} {
		if c.Flags().Changed(name) && n <= 0 {
			return cli.Usagef("--%s must be a number from 1", name)
		}
	}
	if err := views.CheckEventTypes(f.filter.Types); err != nil {
		return cli.Usagef("--types: %s", err)
	}
	if f.export != "" && f.export != "md" && f.export != "json" {
		return cli.Usagef("--export must be md or json")
	}
	if f.export == "" && f.output != "" {
		return cli.Usagef("--output needs --export md or --export json")
	}
	for _, name := range []string{"limit", "before"} {
		if f.export != "" && c.Flags().Changed(name) {
			return cli.Usagef("--export writes all matching events: leave out --%s, and use --since to get fewer", name)
		}
	}
	if f.filter.Since, err = pointInTime("since", f.since, now); err != nil {
		return err
	}
	f.filter.Until, err = pointInTime("until", f.until, now)
	return err
}

// pointInTime reads a flag that names a time: a duration before now, a date, or a time with a zone or in local time.
func pointInTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if day, err := calendar.DayNamed(text, time.Local); err == nil {
		return day, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Usagef("--%s must be how long ago, such as 2h, or a date such as 2006-01-02, or a time such as 2006-01-02T15:04:05Z", flag)
}

func searchAudit(ctx context.Context, a *cli.App, f auditFlags) error {
	if f.agent != "" {
		id, err := strconv.ParseInt(f.agent, 10, 64)
		if err != nil || id <= 0 {
			_, agent, err := findAgent(ctx, a, f.agent)
			if err != nil {
				return err
			}
			id = agent.ID
		}
		f.filter.AgentID = id
	}
	if f.export != "" {
		return exportAudit(ctx, a, f)
	}
	list, err := a.Client().Audit(ctx, f.filter)
	now := time.Now()
	return printList(a, list, err, "no event in the log matches", []string{"ID", "TIME (" + now.Format("MST") + ")", "EVENT", "WHAT HAPPENED"}, func(e *event.Event) []string {
		return []string{fmt.Sprint(e.ID), moment(e.At, now), string(e.Type), e.Words()}
	})
}

// exportAudit prints the events, or writes them to a file. It gives the file its name only after it has written all
// events.
func exportAudit(ctx context.Context, a *cli.App, f auditFlags) error {
	c := a.Client()
	if f.output == "" {
		return c.ExportAudit(ctx, f.filter, f.export, a.Stdout)
	}
	part, err := os.CreateTemp(filepath.Dir(f.output), ".understudy-audit-*")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	buffer := bufio.NewWriter(part)
	if err = c.ExportAudit(ctx, f.filter, f.export, buffer); err == nil {
		err = buffer.Flush()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), f.output)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	a.UI(a.Stdout).Printf("%s\n", f.output)
	return nil
}
