package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// status is the overview that the command of that name prints.
type status struct {
	Running   bool                      `json:"running"`
	Ready     bool                      `json:"ready"` // the database takes writes and tmux answers
	Version   string                    `json:"version,omitempty"`
	Data      string                    `json:"data"`
	Problem   string                    `json:"problem,omitempty"` // why it does not run or is not ready
	Agents    map[daemon.AgentState]int `json:"agents"`            // how many are in each state
	Finished  int                       `json:"finished"`          // how many idle agents have finished a turn that nobody has looked at
	Pipelines int                       `json:"pipelines"`         // how many have not ended
	Needs     []views.Attention         `json:"needs"`             // who needs a person, the longest wait first
}

func statusCommand(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "status",
		Short: "Say whether the daemon runs, how agents are and who needs you",
		Long: `Say whether the daemon runs, how many agents are in which state, who needs you and what to do next.
The exit code is 0 if the daemon runs, and 1 if it does not.`,
		Example: "  understudy status\n  understudy status --json",
		RunE:    func(c *cobra.Command, _ []string) error { return showStatus(c.Context(), a) },
	})
}

func showStatus(ctx context.Context, a *cli.App) error {
	s, err := readStatus(ctx, a)
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(s)
	} else {
		printStatus(a, s)
	}
	if !s.Running && err == nil {
		return cli.ErrSilent
	}
	return err
}

// readStatus asks the daemon. That it does not run or is not ready is an answer.
func readStatus(ctx context.Context, a *cli.App) (s status, err error) {
	if s.Data, err = a.DataRoot(); err != nil {
		return s, err
	}
	s.Agents, s.Needs = map[daemon.AgentState]int{}, []views.Attention{}
	c := a.Client()
	health, err := c.Health(ctx)
	if err != nil {
		s.Problem = cli.Sentence(err)
		return s, ctx.Err()
	}
	s.Running, s.Version = true, health.Version
	if _, err := c.Ready(ctx); err != nil {
		s.Problem = cli.Sentence(err)
		return s, ctx.Err()
	}
	s.Ready = true
	err = readWork(ctx, a, c, &s)
	if told, ok := errors.AsType[*daemon.Error](err); ok && told.Kind == daemon.KindUnavailable {
		s.Ready, s.Problem, err = false, cli.Sentence(err), nil // the database has gone away in between
	}
	return s, err
}

// readWork reads how agents and pipelines are.
func readWork(ctx context.Context, a *cli.App, c *api.Client, s *status) error {
	active, err := activeAgents(ctx, c)
	if err != nil {
		return err
	}
	for i := range active {
		s.Agents[active[i].State]++
		if active[i].Unread && active[i].State == daemon.Idle {
			s.Finished++
		}
	}
	for _, state := range []daemon.PipelineStatus{daemon.PipelinePending, daemon.PipelineRunning, daemon.PipelineWaiting} {
		list, err := c.Pipelines(ctx, api.ListOptions{Status: string(state), Limit: 500})
		if err != nil {
			return err
		}
		s.Pipelines += len(list)
	}
	needs, err := c.Attention(ctx)
	if len(needs) > 0 {
		s.Needs = needs
	}
	return err
}

func printStatus(a *cli.App, s status) {
	u := a.UI(a.Stdout)
	running := "runs, version " + s.Version
	database := "answers"
	switch {
	case !s.Running:
		u.Fields("daemon", s.Problem, "data", s.Data)
		return
	case !s.Ready:
		database = s.Problem
	}
	u.Fields("daemon", running, "data", s.Data, "database", database, "agents", s.agentWords(), "pipelines", s.pipelineWords())
	if !s.Ready {
		return
	}
	if len(s.Needs) == 0 {
		u.Printf("\nnobody needs you\n")
		return
	}
	u.Printf("\n%s\n", u.Bold(fmt.Sprintf("needs you: %d", len(s.Needs))))
	const most = 8
	for i := range s.Needs[:min(most, len(s.Needs))] {
		n := &s.Needs[i]
		u.Printf("  %s\n", u.Hang(fmt.Sprintf("%s: %s: %s", needy(n), words.Terminal(n.Why), words.Terminal(n.Next))))
	}
	if more := len(s.Needs) - most; more > 0 {
		u.Printf("  and %d more: `understudy top` shows all\n", more)
	}
}

// agentWords says how many agents are in which state.
func (s *status) agentWords() string {
	var parts []string
	if s.Finished > 0 {
		parts = append(parts, fmt.Sprintf("%d finished", s.Finished))
	}
	for _, state := range []daemon.AgentState{daemon.Waiting, daemon.Limited, daemon.Working, daemon.Idle, daemon.Starting} {
		n := s.Agents[state]
		if state == daemon.Idle {
			n -= s.Finished
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(parts) == 0 {
		return "none is active"
	}
	return strings.Join(parts, ", ")
}

// pipelineWords says how many pipelines are under way; "": none.
func (s *status) pipelineWords() string {
	if s.Pipelines == 0 {
		return ""
	}
	return fmt.Sprintf("%d open", s.Pipelines)
}

// needy names what an Attention is about.
func needy(n *views.Attention) string {
	name := ""
	switch {
	case n.Agent != nil && n.About == views.AboutAgent:
		name = n.Agent.Name
	case n.Pipeline != nil:
		name = n.Pipeline.Title
	}
	if name == "" {
		return fmt.Sprintf("%s %d", n.About, n.ID)
	}
	return fmt.Sprintf("%s %d (%s)", n.About, n.ID, words.Terminal(name))
}
