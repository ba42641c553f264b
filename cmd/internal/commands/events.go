package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func eventsCommand(a *cli.App) *cobra.Command {
	var f eventsFlags
	c := a.WithJSON(&cobra.Command{
		Use:   "events",
		Short: "Print the event log, or follow it",
		Long: `Print the events of the log: all of them, or those after an id. With --follow the command goes on
printing events as they come. With --json each event is one line.`,
		Example: `  understudy events --follow --after 0                  # the whole log, then what comes
  understudy events --follow --types handoff_failed,handoff_completed
  understudy events --agent developer-con-1 --follow
  understudy events --after 1200 --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("after") {
				f.after = 0
				if f.follow {
					f.after = -1
				}
			} else if f.after < 0 {
				return cli.Usagef("--after must be the id of an event, or 0 for all")
			}
			if err := views.CheckEventTypes(f.types); err != nil {
				return cli.Usagef("--types: %s", err)
			}
			for flag, id := range map[string]int64{"handoff": f.handoff, "pipeline": f.pipeline} {
				if c.Flags().Changed(flag) && id <= 0 {
					return cli.Usagef("--%s must be a number from 1", flag)
				}
			}
			return printEvents(c.Context(), a, f)
		},
	})
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "print events as they come, until Ctrl-C (without --after: only new ones)")
	c.Flags().Int64Var(&f.after, "after", 0, "only events after the one with this `id`")
	c.Flags().StringSliceVar(&f.types, "types", nil, "only these `types`, separated by commas")
	c.Flags().StringVar(&f.agentWord, "agent", "", "only events of this `agent`")
	c.Flags().Int64Var(&f.handoff, "handoff", 0, "only events of the handoff with this `id`")
	c.Flags().Int64Var(&f.pipeline, "pipeline", 0, "only events of the pipeline with this `id`")
	cli.CompleteFlag(c, "types", listOf(views.EventTypes))
	cli.CompleteFlag(c, "agent", completeAgents(a))
	cli.CompleteFlag(c, "handoff", completeHandoffs(a, nil))
	cli.CompleteFlag(c, "pipeline", completePipelines(a, nil))
	return c
}

type eventsFlags struct {
	follow bool
	after  int64
	types  []string

	agentWord                string // as the person typed it
	agent, handoff, pipeline int64  // ids; 0 means all
}

// wants reports whether an event matches the flags. A FeedTruncated event always does.
func (f *eventsFlags) wants(e *event.Event) bool {
	return e.Type == event.FeedTruncated || (len(f.types) == 0 || slices.Contains(f.types, string(e.Type))) &&
		isAbout(f.agent, e.AgentID) && isAbout(f.handoff, e.HandoffID) && isAbout(f.pipeline, e.PipelineID)
}

func isAbout(want int64, id *int64) bool { return want == 0 || id != nil && *id == want }

var errEnough = errors.New("enough") // ends a feed

func printEvents(ctx context.Context, a *cli.App, f eventsFlags) error {
	c := a.Client()
	if f.agentWord != "" {
		_, agent, err := findAgent(ctx, a, f.agentWord)
		if err != nil {
			return err
		}
		f.agent = agent.ID
	}
	if !f.follow {
		return backlog(ctx, a, c, f)
	}
	err := c.Follow(ctx, f.after, f.types, func(e event.Event) error {
		if !f.wants(&e) {
			return nil
		}
		return printEvent(a, e)
	})
	if ctx.Err() != nil {
		return nil // Ctrl-C is the usual end of a feed
	}
	return err
}

// backlog prints the events that are in the log when it begins.
func backlog(ctx context.Context, a *cli.App, c *api.Client, f eventsFlags) error {
	newest, err := c.Audit(ctx, daemon.AuditFilter{Limit: 1})
	if err != nil || len(newest) == 0 || newest[0].ID <= f.after {
		return err
	}
	// Let the daemon filter nothing: the last event ends the loop, and its type may be one that the flags leave out.
	err = c.Follow(ctx, f.after, nil, func(e event.Event) error {
		if f.wants(&e) {
			if err := printEvent(a, e); err != nil {
				return err
			}
		}
		if e.ID >= newest[0].ID {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// printEvent prints one event. On a terminal it prints the event's sentence, in a pipe all fields.
func printEvent(a *cli.App, e event.Event) error {
	if a.JSON {
		return a.PrintJSONLine(e)
	}
	if e.Type == event.FeedTruncated {
		_, err := fmt.Fprintf(a.Stderr, "understudy: %s\n", e.Words())
		return err
	}
	u := a.UI(a.Stdout)
	if u.Terminal {
		line := u.Fit(eventLine(e, u.Sentence(e.Words()), time.Now()))
		_, err := fmt.Fprintln(a.Stdout, u.Paint(eventColour(e.Type), line))
		return err
	}
	var about []string
	if e.AgentID != nil {
		about = append(about, "agent "+term.Number(e.AgentID))
	}
	if e.HandoffID != nil {
		about = append(about, "handoff "+term.Number(e.HandoffID))
	}
	if e.PipelineID != nil {
		about = append(about, "pipeline "+term.Number(e.PipelineID))
	}
	_, err := fmt.Fprintf(a.Stdout, "%6d  %s  %-28s %-20s %s\n", e.ID, e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Type,
		strings.Join(about, ", "), words.Terminal(string(e.Payload)))
	return err
}

// eventLine returns the line that shows an event on a terminal.
func eventLine(e event.Event, says string, now time.Time) string {
	return fmt.Sprintf("%5d  %s  %-24s  %s", e.ID, moment(e.At, now), e.Type, says)
}

// eventColour is red if something failed, yellow if a person may have to look, and green if something is done. Other
// events have no colour.
func eventColour(typ event.Type) string {
	_, what, _ := strings.Cut(string(typ), "_")
	switch what {
	case "failed", "stuck", "stop_failed", "lost", "broken", "extraction_failed":
		return "31"
	case "waiting", "waiting_for_approval", "approval_reminder", "warning", "compacting", "handoff_refused", "without_progress",
		"not_submitted", "fallback_used", "output_empty", "refused", "set_aside", "unreadable":
		return "33"
	case "completed", "done":
		return "32"
	}
	return "0"
}

// moment formats a time as local time. It adds the date unless the date is today.
func moment(t, now time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
