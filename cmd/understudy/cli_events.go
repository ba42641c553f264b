package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

func (a *app) eventsCommand() *cobra.Command {
	var f eventsFlags
	c := a.withJSON(&cobra.Command{
		Use:   "events",
		Short: "Print what happened, and what happens",
		Long: `Print the log of events: all there are, or those after an id, and with --follow those that come.
With --json each is one line.`,
		Example: `  understudy events --follow --after 0                  # the whole log, then what comes
  understudy events --follow --types handoff_failed,handoff_completed
  understudy events --after 1200 --json`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("after") {
				f.after = 0
				if f.follow {
					f.after = -1
				}
			} else if f.after < 0 {
				return usagef("--after must be the id of an event, or 0 for all")
			}
			return a.events(c.Context(), f)
		},
	})
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with those that come, until Ctrl-C (without --after: only those)")
	c.Flags().Int64Var(&f.after, "after", 0, "those after an event's `id`")
	c.Flags().StringSliceVar(&f.types, "types", nil, "only these `types`, separated by commas")
	return c
}

type eventsFlags struct {
	follow bool
	after  int64
	types  []string
}

var (
	errEnough   = errors.New("enough") // ends a feed
	errNoDaemon = errors.New("the daemon is not running: start it with `understudy serve`")
)

func (a *app) events(ctx context.Context, f eventsFlags) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	if !f.follow {
		return a.backlog(ctx, c, f)
	}
	err = c.Follow(ctx, f.after, f.types, a.printEvent)
	if ctx.Err() != nil {
		return nil // Ctrl-C is how a feed ends
	}
	return err
}

// backlog prints the events that there are by now.
func (a *app) backlog(ctx context.Context, c *api.Client, f eventsFlags) error {
	last, err := a.lastEvent(ctx)
	if err != nil || last <= f.after {
		return err
	}
	// All types are followed, or the end would never be seen if it is of another.
	err = c.Follow(ctx, f.after, nil, func(e daemon.Event) error {
		if len(f.types) == 0 || slices.Contains(f.types, e.Type) {
			if err := a.printEvent(e); err != nil {
				return err
			}
		}
		if e.ID >= last {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// lastEvent returns the id of the newest event, 0 if there is none: a feed without an id begins by
// telling where it stands.
func (a *app) lastEvent(ctx context.Context) (int64, error) {
	root, err := a.dataRoot()
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socketIn(root))
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the daemon does not answer: look at its log"))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/events", nil)
	if err != nil {
		return 0, fmt.Errorf("events: %w", err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, errNoDaemon
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("events: %w", errors.Join(err, context.Cause(ctx)))
	}
	id, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "id:")), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("events: the feed begins with %.40q", line)
	}
	return id, nil
}

// printEvent prints one event: for people what it says, in a pipe all that it holds.
func (a *app) printEvent(e daemon.Event) error {
	if a.json {
		return json.NewEncoder(a.stdout).Encode(e)
	}
	u := a.ui(a.stdout)
	if u.terminal {
		_, err := fmt.Fprintln(a.stdout, u.fit(eventLine(e, u.sentence(gist(e.Payload)), time.Now())))
		return err
	}
	var about []string
	if e.AgentID != nil {
		about = append(about, "agent "+number(e.AgentID))
	}
	if e.HandoffID != nil {
		about = append(about, "handoff "+number(e.HandoffID))
	}
	if e.PipelineID != nil {
		about = append(about, "pipeline "+number(e.PipelineID))
	}
	_, err := fmt.Fprintf(a.stdout, "%6d  %s  %-28s %-20s %s\n", e.ID, e.At.Local().Format("15:04:05.000"), e.Type,
		strings.Join(about, ", "), printable(string(e.Payload)))
	return err
}

// eventLine is an event on a terminal: what its type is about, and what it says.
func eventLine(e daemon.Event, says string, now time.Time) string {
	about := ""
	switch {
	case e.PipelineID != nil && (e.AgentID == nil || strings.HasPrefix(e.Type, "pipeline_") || strings.HasPrefix(e.Type, "step_")):
		about = "pipeline " + number(e.PipelineID)
	case e.HandoffID != nil && (e.AgentID == nil || strings.HasPrefix(e.Type, "handoff_")):
		about = "handoff " + number(e.HandoffID)
	case e.AgentID != nil:
		about = "agent " + number(e.AgentID)
	}
	return strings.TrimRight(fmt.Sprintf("%5d  %s  %-24s %-10s  %s", e.ID, moment(e.At, now), e.Type, about, says), " ")
}

// moment is a point in local time, with its date when that is another than today's.
func moment(t, now time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// gist is what of an event's payload people read.
func gist(payload json.RawMessage) string {
	var p struct{ Message, Cause, Error, Reason, Evidence, Persona, Pane string }
	if json.Unmarshal(payload, &p) != nil {
		return "" // of another shape: --json prints it
	}
	if p.Reason != "" {
		p.Reason = endWords(&p.Reason)
	}
	return firstNonEmpty(p.Message, p.Cause, p.Error, p.Reason, p.Evidence, p.Persona, p.Pane)
}
