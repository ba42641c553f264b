package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/personas"
)

// Peers is what an agent may know about itself and about the other agents on its host.
type Peers struct {
	You      PeerSelf      `json:"you"`
	Personas []PeerPersona `json:"personas"` // all personas that are not archived, sorted by slug
}

// PeerSelf is what the asking agent learns about itself.
type PeerSelf struct {
	Peer
	Persona         *string            `json:"persona"`
	Generation      int                `json:"generation"`
	PreviousAgentID *int64             `json:"previous_agent_id"`
	Context         *daemon.ContextUse `json:"context"`
}

// PeerPersona is a persona with the active agents that play it on the asking agent's host, the newest first.
type PeerPersona struct {
	Slug        string `json:"slug"`
	Role        string `json:"role"`
	Description string `json:"description"`
	Agents      []Peer `json:"agents"`
}

// Peers returns what an agent may know about itself and about the other agents on its host.
func (d *Room) Peers(ctx context.Context, agentID int64) (Peers, error) {
	a, err := d.Agent(ctx, agentID)
	if err != nil {
		return Peers{}, err
	}
	active, err := d.activeBeside(ctx, &a, "")
	if err != nil {
		return Peers{}, err
	}
	playing := map[string][]Peer{}
	for i := range active {
		if slug := active[i].PersonaSlug(); slug != "" {
			playing[slug] = append(playing[slug], peerOf(&active[i]))
		}
	}
	out := Peers{
		You:      PeerSelf{Peer: peerOf(&a), Persona: a.Persona, Generation: a.Generation, PreviousAgentID: a.PreviousAgentID, Context: a.Context},
		Personas: []PeerPersona{},
	}
	for _, p := range d.Personas.List() {
		if p.Archived {
			continue
		}
		agents := playing[p.Slug]
		if agents == nil {
			agents = []Peer{}
		}
		out.Personas = append(out.Personas, PeerPersona{Slug: p.Slug, Role: p.Role, Description: p.Description, Agents: agents})
	}
	return out, nil
}

// activeBeside lists the active agents on an agent's host, the newest first. The agent itself is among them. slug narrows
// the list to one persona; "": all agents.
func (d *Room) activeBeside(ctx context.Context, a *daemon.Agent, slug string) ([]daemon.Agent, error) {
	return d.AllAgents(ctx, daemon.AgentFilter{Active: true, Host: a.Host, Persona: slug})
}

// SendToPeer queues a text from one agent for another agent. to is the receiver's id or a persona's slug; with a slug,
// the newest active agent of that persona gets the text. The daemon types the sender's name in the first line. The
// receiver can't mistake the text for a command, nor a part of it for the words of somebody else.
func (d *Room) SendToPeer(ctx context.Context, fromID int64, to, text string) (daemon.Delivery, error) {
	for {
		dl, err := d.sendToPeer(ctx, fromID, to, text)
		if !errors.Is(err, daemon.ErrMoved) || ctx.Err() != nil {
			return dl, err
		}
	}
}

// sendToPeer is one attempt of SendToPeer. It reads the sender's row, then counts the sender's messages, and commits the
// row together with the new message. If another message of the sender was committed in between, Commit returns ErrMoved.
func (d *Room) sendToPeer(ctx context.Context, fromID int64, to, text string) (daemon.Delivery, error) {
	from, err := d.Agent(ctx, fromID)
	switch {
	case err != nil:
		return daemon.Delivery{}, err
	case !from.Active():
		return daemon.Delivery{}, daemon.ErrAgentNotActive
	}
	typed, err := peerText(&from, text)
	if err != nil {
		return daemon.Delivery{}, err
	}
	if found := d.Settings().Handoff.Secrets.Refused(text); found != "" {
		return daemon.Delivery{}, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeTextHasSecret, "The text seems to have secrets: %s. Leave them out, and say where they are kept", found)
	}
	peer, err := d.addressee(ctx, &from, to)
	if err != nil {
		return daemon.Delivery{}, err
	}
	if err := d.maySend(ctx, fromID); err != nil {
		return daemon.Delivery{}, err
	}
	return d.QueueMessage(ctx, peer, typed, false, &from)
}

// peerText returns the text to type for a message from an agent. The daemon writes the first line, and each line of the
// message begins with "> ". No blank line follows the first line, because Claude Code takes a text of more than three
// lines for pasted.
func peerText(from *daemon.Agent, text string) (string, error) {
	if n := utf8.RuneCountInString(text); n > MaxPeerText {
		return "", daemon.Errorf(daemon.KindTooLarge, daemon.CodeTextTooLong, "The text has %d characters but at most %d may be sent to an agent: put it into a file and name that", n, MaxPeerText)
	}
	if err := deliveries.CheckTyped(text); err != nil {
		return "", err
	}
	const nonJoiner = '\u200c' // A runtime drops it, or turns it into the end of a line; the other joiner is part of many emoji.
	if i := strings.IndexFunc(text, func(r rune) bool { return words.Unseen(r) && !unicode.IsControl(r) || r == nonJoiner }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return "", daemon.Errorf(daemon.KindInvalid, daemon.CodeBadText, "The text has the invisible character U+%04X at byte %d: leave it out", r, i)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "", daemon.Errorf(daemon.KindInvalid, daemon.CodeBadText, "The text is empty")
	}
	who := strconv.FormatInt(from.ID, 10)
	if slug := from.PersonaSlug(); slug != "" {
		who += " (" + slug + ")"
	}
	return fmt.Sprintf("Message from agent %s, not from the operator:\n> %s", who, strings.ReplaceAll(runtimes.Unmentioned(text), "\n", "\n> ")), nil
}

// addressee returns the id of the agent that to names by id or by persona. It refuses agents on other hosts, and agents
// that a person started and that have no persona.
func (d *Room) addressee(ctx context.Context, from *daemon.Agent, to string) (int64, error) {
	id, err := strconv.ParseInt(to, 10, 64)
	if err != nil {
		if id, err = d.newestOf(ctx, from, to); err != nil {
			return 0, err
		}
	}
	if id == from.ID {
		return 0, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeOwnMessage, "That is agent %d itself: name another agent by its id", id)
	}
	a, err := d.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, daemon.ErrNotFound):
	case err != nil:
		return 0, err
	case a.Active() && a.Host == from.Host && (a.Managed || a.Persona != nil):
		return id, nil
	}
	return 0, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeNoSuchPeer, "There is no active agent %d to write to: list the personas, which name their agents", id)
}

// newestOf returns the id of the newest active agent on the sender's host that plays a persona.
func (d *Room) newestOf(ctx context.Context, from *daemon.Agent, slug string) (int64, error) {
	if _, err := personas.ParseSlug(slug); err != nil {
		return 0, &daemon.Error{Kind: daemon.KindUnprocessable, Code: daemon.CodeUnknownPersona, Cause: err,
			Message: fmt.Sprintf("%.80q is neither an agent's id nor a persona: list the personas, which name their agents", slug)}
	}
	playing, err := d.activeBeside(ctx, from, slug)
	switch {
	case err != nil:
		return 0, err
	case len(playing) == 0:
		return 0, daemon.Errorf(daemon.KindUnprocessable, daemon.CodePersonaNotPlayed, "Nobody plays %s now: list the personas, which name their agents", slug)
	}
	return playing[0].ID, nil
}

// maySend refuses a message of an agent that has reached MaxPeerRecent or MaxPeerOpen.
func (d *Room) maySend(ctx context.Context, agentID int64) error {
	sent, err := d.Store.Sent(ctx, agentID, d.Now().Add(-daemon.PeerWindow))
	switch {
	case err != nil:
		return err
	case sent.Recent >= MaxPeerRecent && sent.First != nil:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeTooManyMessages, "Agent has sent %d messages in %d minutes: the next one may be sent at %s UTC",
			sent.Recent, int(daemon.PeerWindow.Minutes()), sent.First.Add(daemon.PeerWindow+time.Second).UTC().Format(time.TimeOnly))
	case sent.Open >= MaxPeerOpen:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeTooManyMessages, "Agent has %d messages that were not taken yet: the next one may be sent when one of them was", sent.Open)
	}
	return nil
}

// Peer is what an agent learns about another agent.
type Peer struct {
	ID      int64             `json:"id"`
	Name    string            `json:"name"`
	State   daemon.AgentState `json:"state"`
	Trouble string            `json:"trouble"` // the code of its trouble; "": it has none
}

// The limits on messages between agents. They limit the cost of two agents that answer each other without end. The
// messages are counted in the database, so a restart of the daemon does not reset the count.
const (
	MaxPeerText   = 4000 // characters
	MaxPeerOpen   = 5    // messages of one sender without a verdict
	MaxPeerRecent = 20   // messages of one sender in daemon.PeerWindow
)

func peerOf(a *daemon.Agent) Peer {
	p := Peer{ID: a.ID, Name: a.Name, State: a.State}
	if a.Trouble != nil {
		p.Trouble = a.Trouble.Code
	}
	return p
}
