package api

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/peers"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
)

// CreateAgent starts an agent.
func (c agentCalls) CreateAgent(ctx context.Context, in agents.NewAgent) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", "/api/agents", in)
}

// Agents lists agents, the newest first.
func (c agentCalls) Agents(ctx context.Context, o ListOptions) ([]daemon.Agent, error) {
	return call[[]daemon.Agent](ctx, c, "GET", "/api/agents"+o.query(), nil)
}

// Agent returns one agent.
func (c agentCalls) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "GET", at("agents", id, ""), nil)
}

// AssignPersona gives a persona to an agent that registered by itself.
func (c agentCalls) AssignPersona(ctx context.Context, id int64, slug string) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "PATCH", at("agents", id, ""), changeRequest{Persona: slug})
}

// RenameAgent gives an agent another name.
func (c agentCalls) RenameAgent(ctx context.Context, id int64, name string) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "PATCH", at("agents", id, ""), changeRequest{Name: &name})
}

// NotifyWhenFinished sets whether the operator is notified when an agent has finished a turn: "on", "off", or "" for what its
// persona says.
func (c agentCalls) NotifyWhenFinished(ctx context.Context, id int64, says string) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "PATCH", at("agents", id, ""), changeRequest{NotifyFinished: &says})
}

// SeeAgent tells the daemon that the operator has seen what an agent has finished, as the row that they were shown says it. If
// nothing in that row is unread, SeeAgent does nothing.
func (c agentCalls) SeeAgent(ctx context.Context, seen *daemon.Agent) error {
	if !seen.Unread || !seen.Active() || seen.FinishedAt == nil {
		return nil
	}
	_, err := call[daemon.Agent](ctx, c, "POST", at("agents", seen.ID, "/seen"), seenRequest{seen.FinishedAt.UTC().Format(time.RFC3339Nano)})
	return err
}

// ResumeAgent starts a new agent that continues the session of an ended agent.
func (c agentCalls) ResumeAgent(ctx context.Context, id int64) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", id, "/resume"), struct{}{})
}

// ResumeAgents does that for several agents; without ids for all that died and whose work nobody continues. It says of each
// what became of it.
func (c agentCalls) ResumeAgents(ctx context.Context, ids ...int64) ([]views.Resumption, error) {
	var body resumeAgentsRequest
	if len(ids) > 0 {
		body.IDs = &ids
	}
	return call[[]views.Resumption](ctx, c, "POST", "/api/agents/resume", body)
}

// StopAgent ends an agent. With force the daemon sends a signal without typing /exit first.
func (c agentCalls) StopAgent(ctx context.Context, id int64, force bool) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", id, "/stop"), stopRequest{Force: force})
}

// Usage sums up what agents have used.
func (c *Client) Usage(ctx context.Context, by views.UsageBy, q daemon.UsageQuery) (views.UsageReport, error) {
	of := map[string]any{"by": by, "persona": q.Persona, "host": q.Host, "pipeline_id": q.PipelineID, "since": q.Since}
	if len(q.AgentIDs) == 1 {
		of["agent_id"] = q.AgentIDs[0]
	}
	return call[views.UsageReport](ctx, c, "GET", "/api/usage"+query(of), nil)
}

// Budget returns how much of a persona's budget is used today.
func (c personaCalls) Budget(ctx context.Context, slug string) (usage.BudgetState, error) {
	return call[usage.BudgetState](ctx, c, "GET", "/api/personas/"+url.PathEscape(slug)+"/budget", nil)
}

// GoOn lets a persona's agents go on for the rest of the day although its budget is used up.
func (c personaCalls) GoOn(ctx context.Context, slug string) (usage.BudgetState, error) {
	return call[usage.BudgetState](ctx, c, "POST", "/api/personas/"+url.PathEscape(slug)+"/budget/go-on", struct{}{})
}

// Screen returns the screen of an agent's pane, as "text" or "html".
func (c agentCalls) Screen(ctx context.Context, id int64, format string) (string, error) {
	b, err := c.fetch(ctx, "GET", at("agents", id, "/screen?format="+url.QueryEscape(format)), nil)
	return string(b), err
}

// Diff returns what has changed in an agent's working directory since the agent began.
func (c agentCalls) Diff(ctx context.Context, id int64, in agents.DiffRequest) (agents.AgentDiff, error) {
	return diffAt(ctx, c, at("agents", id, "/diff"), in)
}

func diffAt(ctx context.Context, c caller, path string, in agents.DiffRequest) (agents.AgentDiff, error) {
	return call[agents.AgentDiff](ctx, c, "GET", path+query(map[string]any{"file": in.Files, "stat": in.Stat}), nil)
}

// SendMessage sends a message to an agent. If command is true, the text is a command of the runtime.
func (c agentCalls) SendMessage(ctx context.Context, id int64, text string, command bool) (daemon.Delivery, error) {
	return call[daemon.Delivery](ctx, c, "POST", at("agents", id, "/messages"), messageRequest{Text: text, Command: command})
}

// Messages lists an agent's deliveries, the newest first.
func (c agentCalls) Messages(ctx context.Context, id int64, o ListOptions) ([]daemon.Delivery, error) {
	return call[[]daemon.Delivery](ctx, c, "GET", at("agents", id, "/messages"+o.query()), nil)
}

// CancelMessages cancels a queued message or command of an agent, and returns it. If id is 0, it cancels all of them.
func (c agentCalls) CancelMessages(ctx context.Context, agentID, id int64) ([]daemon.Delivery, error) {
	return call[[]daemon.Delivery](ctx, c, "DELETE", at("agents", agentID, "/messages"), cancelMessagesRequest{givenID(id)})
}

// Peers returns an agent and the peers that it may see. Only an agent's client may call it.
func (c agentCalls) Peers(ctx context.Context, agentID int64) (peers.Peers, error) {
	return call[peers.Peers](ctx, c, "GET", at("agents", agentID, "/peers"), nil)
}

// SendToPeer sends a message from one agent to another. to is the other agent's id or its persona's slug. Only an
// agent's client may call it.
func (c agentCalls) SendToPeer(ctx context.Context, agentID int64, to, text string) (PeerDelivery, error) {
	return call[PeerDelivery](ctx, c, "POST", at("agents", agentID, "/peers/messages"), peerMessageRequest{To: to, Text: text})
}

// DecideLimit decides what is done about the limit that an agent has hit.
func (c agentCalls) DecideLimit(ctx context.Context, agentID int64, in limits.LimitDecision) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", agentID, "/limit"), in)
}

// RequestHandoff requests a handoff of an agent. It does not wait for the end of the handoff.
func (c handoffCalls) RequestHandoff(ctx context.Context, agentID int64, in handoffs.HandoffRequest) (Initiated, error) {
	body := handoffRequest{Reason: in.Reason, Focus: in.Focus, Mode: in.Mode, Force: in.Force, Keep: in.Keep, DropMessages: in.DropMessages, InPlace: in.InPlace}
	switch len(in.Heirs) {
	case 0:
	case 1:
		heir := in.Heirs[0]
		body.ToPersona, body.Runtime, body.Model, body.PermissionMode = heir.Persona, heir.Runtime, heir.Model, heir.PermissionMode
	default:
		for _, heir := range in.Heirs {
			raw, err := json.Marshal(heir)
			if err != nil {
				return Initiated{}, err
			}
			body.To = append(body.To, raw)
		}
	}
	return call[Initiated](ctx, c, "POST", at("agents", agentID, "/handoff"), body)
}

// LatestHandoff returns an agent's newest handoff.
func (c handoffCalls) LatestHandoff(ctx context.Context, agentID int64) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "GET", at("agents", agentID, "/handoff"), nil)
}

// CancelHandoff cancels a handoff of an agent, if its document is not recorded yet. If id is 0, it cancels the agent's
// newest handoff; otherwise it cancels the handoff with that id.
func (c handoffCalls) CancelHandoff(ctx context.Context, agentID, id int64) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "DELETE", at("agents", agentID, "/handoff"), cancelRequest{givenID(id)})
}

// Handoffs lists handoffs, the newest first.
func (c handoffCalls) Handoffs(ctx context.Context, o ListOptions) ([]daemon.Handoff, error) {
	return call[[]daemon.Handoff](ctx, c, "GET", "/api/handoffs"+o.query(), nil)
}

// Handoff returns one handoff.
func (c handoffCalls) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "GET", at("handoffs", id, ""), nil)
}

// RetryHandoff retries a handoff from the phase that failed. If mode is "", the handoff keeps its mode.
func (c handoffCalls) RetryHandoff(ctx context.Context, id int64, mode daemon.Mode) (daemon.Handoff, error) {
	return c.RetryHandoffAs(ctx, id, handoffs.Retry{Mode: mode})
}

// RetryHandoffAs retries a handoff with further choices.
func (c handoffCalls) RetryHandoffAs(ctx context.Context, id int64, in handoffs.Retry) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "POST", at("handoffs", id, "/retry"), in)
}

// Line lists the handoffs of a handoff's agent, of its predecessors and of its successors, the newest first.
func (c handoffCalls) Line(ctx context.Context, handoffID int64) ([]daemon.Handoff, error) {
	return call[[]daemon.Handoff](ctx, c, "GET", at("handoffs", handoffID, "/line"), nil)
}

// Attention lists the agents, handoffs and pipelines that need a person. The one that waits longest comes first; agents that died
// come last.
func (c *Client) Attention(ctx context.Context) ([]views.Attention, error) {
	return call[[]views.Attention](ctx, c, "GET", "/api/attention", nil)
}

// AttentionCount counts what needs a person.
func (c *Client) AttentionCount(ctx context.Context) (views.AttentionCount, error) {
	return call[views.AttentionCount](ctx, c, "GET", "/api/attention/count", nil)
}

// Runtimes lists the runtimes that the daemon knows, and whether it can start their agents.
func (c *Client) Runtimes(ctx context.Context) ([]engine.RuntimeInfo, error) {
	return call[[]engine.RuntimeInfo](ctx, c, "GET", "/api/runtimes", nil)
}

// Transitions returns the transitions of a handoff, in order.
func (c handoffCalls) Transitions(ctx context.Context, id int64) ([]daemon.Transition, error) {
	return call[[]daemon.Transition](ctx, c, "GET", at("handoffs", id, "/transitions"), nil)
}

// Record returns what a handoff passed on beside its document.
func (c handoffCalls) Record(ctx context.Context, id int64) (Record, error) {
	return call[Record](ctx, c, "GET", at("handoffs", id, "/record"), nil)
}

// Document returns a handoff's document.
func (c handoffCalls) Document(ctx context.Context, id int64) ([]byte, error) {
	return c.fetch(ctx, "GET", at("handoffs", id, "/document"), nil)
}

// ContextFile returns a handoff's context file.
func (c handoffCalls) ContextFile(ctx context.Context, id int64) ([]byte, error) {
	return c.fetch(ctx, "GET", at("handoffs", id, "/context"), nil)
}

// Health succeeds if the daemon answers.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET", "/healthz", nil)
}

// Ready succeeds if the database takes writes and tmux answers.
func (c *Client) Ready(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET", "/readyz", nil)
}

// DashboardLink makes a link that opens the dashboard one time.
func (c *Client) DashboardLink(ctx context.Context, who LinkFor) (DashboardLink, error) {
	return call[DashboardLink](ctx, c, "POST", "/api/dashboard/links", who)
}

// Logins lists the browsers that are signed in to the dashboard, the newest first.
func (c *Client) Logins(ctx context.Context) ([]Login, error) {
	return call[[]Login](ctx, c, "GET", "/api/dashboard/logins", nil)
}

// RevokeLogins ends the logins with these ids, or all logins if no id is given. It returns the ended logins.
func (c *Client) RevokeLogins(ctx context.Context, ids ...string) (gone []Login, err error) {
	if len(ids) == 0 {
		return call[[]Login](ctx, c, "DELETE", "/api/dashboard/logins", nil)
	}
	for _, id := range ids {
		one, err := call[[]Login](ctx, c, "DELETE", "/api/dashboard/logins/"+url.PathEscape(id), nil)
		if err != nil {
			return gone, err
		}
		gone = append(gone, one...)
	}
	return gone, nil
}

// NotificationPreferences returns the notification preferences of the daemon's host.
func (c *Client) NotificationPreferences(ctx context.Context) (tell.Preferences, error) {
	return call[tell.Preferences](ctx, c, "GET", "/api/notifications/preferences", nil)
}

// SetNotificationPreferences changes the preferences. A field that is nil in in stays as it is.
func (c *Client) SetNotificationPreferences(ctx context.Context, in notices.PreferenceChange) (tell.Preferences, error) {
	return call[tell.Preferences](ctx, c, "PUT", "/api/notifications/preferences", preferencesRequest{in.Errors, in.Waiting, in.Completed, in.Desktop, ""})
}

// ReloadSettings makes the daemon read its settings again, and returns which have changed.
func (c *Client) ReloadSettings(ctx context.Context) (engine.Reloaded, error) {
	return call[engine.Reloaded](ctx, c, "POST", "/api/settings/reload", struct{}{})
}

// TestNotification makes the daemon send a notification now: to a target of its settings, or to the desktop if target
// is "".
func (c *Client) TestNotification(ctx context.Context, target string) (notices.Tested, error) {
	return call[notices.Tested](ctx, c, "POST", "/api/notifications/test", testRequest{target})
}

// NotificationTargets returns the targets of notifications beside the desktop.
func (c *Client) NotificationTargets(ctx context.Context) ([]notices.TargetReport, error) {
	return call[[]notices.TargetReport](ctx, c, "GET", "/api/notifications/targets", nil)
}

// Prune makes the daemon delete now the rows that its settings do not keep, and returns how many it deleted. If dry is
// true, the daemon only counts these rows.
func (c *Client) Prune(ctx context.Context, dry bool) (daemon.PruneReport, error) {
	return call[daemon.PruneReport](ctx, c, "POST", "/api/prune", map[string]bool{"dry_run": dry})
}

// Dialog returns the dialog that an agent's pane shows now.
func (c agentCalls) Dialog(ctx context.Context, agentID int64) (sight.Dialog, error) {
	return call[sight.Dialog](ctx, c, "GET", at("agents", agentID, "/dialog"), nil)
}

// AnswerDialog takes a choice of the dialog with that id, if it is still open, and returns what has become of the answer.
func (c agentCalls) AnswerDialog(ctx context.Context, agentID int64, dialog string, choice int) (daemon.DialogAnswer, error) {
	return call[daemon.DialogAnswer](ctx, c, "POST", at("agents", agentID, "/dialog"), dialogAnswerRequest{dialog, choice})
}

// BeginKeys lets an agent's pane take keys. It needs a client that calls over TCP.
func (c agentCalls) BeginKeys(ctx context.Context, agentID int64) (daemon.KeysTaken, error) {
	return call[daemon.KeysTaken](ctx, c, "PUT", at("agents", agentID, "/keys"), struct{}{})
}

// TypeKeys types a batch of keys.
func (c agentCalls) TypeKeys(ctx context.Context, agentID int64, in dialogs.KeyBatch) (dialogs.KeysTyped, error) {
	return call[dialogs.KeysTyped](ctx, c, "POST", at("agents", agentID, "/keys"), in)
}

// EndKeys ends a session of keys.
func (c agentCalls) EndKeys(ctx context.Context, agentID int64, session string) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "DELETE", at("agents", agentID, "/keys"), keysEndRequest{session})
}

// DismissAgent tells the daemon that the operator has seen that an agent died.
func (c agentCalls) DismissAgent(ctx context.Context, id int64) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", id, "/dismiss"), struct{}{})
}

// DismissAgents does that for several agents.
func (c agentCalls) DismissAgents(ctx context.Context, ids []int64) ([]daemon.Agent, error) {
	return call[[]daemon.Agent](ctx, c, "POST", "/api/agents/dismiss", dismissAgentsRequest{ids})
}

// AgentTimeline returns what happened to an agent and its line in the last "day", "week" or "month".
func (c agentCalls) AgentTimeline(ctx context.Context, id int64, span string) (pictures.Timeline, error) {
	return call[pictures.Timeline](ctx, c, "GET", at("agents", id, "/timeline?span="+url.QueryEscape(span)), nil)
}

// Durations compares how long a handoff took with the last other completed handoffs.
func (c handoffCalls) Durations(ctx context.Context, handoffID int64) (pictures.Durations, error) {
	return call[pictures.Durations](ctx, c, "GET", at("handoffs", handoffID, "/durations"), nil)
}
