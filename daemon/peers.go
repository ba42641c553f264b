package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/understudyd/understudy/personas"
)

// Peers is what an agent may know of itself and of those beside it.
type Peers struct {
	You      PeerSelf      `json:"you"`
	Personas []PeerPersona `json:"personas"` // those that are not archived, by slug
}

// PeerSelf is the agent that asks.
type PeerSelf struct {
	Peer
	Persona         *string     `json:"persona"`
	Generation      int         `json:"generation"`
	PreviousAgentID *int64      `json:"previous_agent_id"`
	Context         *ContextUse `json:"context"`
}

// PeerPersona is a persona with the active agents that play it on the asking agent's host, the newest first.
type PeerPersona struct {
	Slug        string `json:"slug"`
	Role        string `json:"role"`
	Description string `json:"description"`
	Agents      []Peer `json:"agents"`
}

// Peer is all that an agent learns of another.
type Peer struct {
	ID      int64      `json:"id"`
	Name    string     `json:"name"`
	State   AgentState `json:"state"`
	Trouble string     `json:"trouble"` // the code; "": it is in none
}

// The limits of what agents send to each other. They also bound what two agents spend that answer each
// other for ever, so they are counted by the sender's rows, which a restart forgets as little as the
// messages.
const (
	maxPeerText   = 4000 // characters
	maxPeerOpen   = 5    // messages of one sender that have no verdict
	maxPeerRecent = 20   // messages of one sender in peerWindow
	peerWindow    = 10 * time.Minute
)

// Peers returns what an agent may know of itself and of the others on its host.
func (d *Daemon) Peers(ctx context.Context, agentID int64) (Peers, error) {
	a, err := d.Agent(ctx, agentID)
	if err != nil {
		return Peers{}, err
	}
	active, err := d.beside(ctx, &a, "")
	if err != nil {
		return Peers{}, err
	}
	playing := map[string][]Peer{}
	for i := range active {
		if slug := active[i].PersonaSlug(); slug != "" {
			playing[slug] = append(playing[slug], active[i].peer())
		}
	}
	out := Peers{
		You:      PeerSelf{Peer: a.peer(), Persona: a.Persona, Generation: a.Generation, PreviousAgentID: a.PreviousAgentID, Context: a.Context},
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

// beside lists the active agents on an agent's host, itself among them, the newest first.
func (d *Daemon) beside(ctx context.Context, a *Agent, slug string) ([]Agent, error) {
	return d.allAgents(ctx, AgentFilter{Active: true, Host: a.Host, Persona: slug})
}

func (a *Agent) peer() Peer {
	p := Peer{ID: a.ID, Name: a.Name, State: a.State}
	if a.Trouble != nil {
		p.Trouble = a.Trouble.Code
	}
	return p
}

// SendToPeer queues a text of one agent for another, who is named by its id or by a persona, whose
// newest active agent gets it. The receiver is told who wrote it. Nothing that a text says can make a
// command of it, or part of it look as if somebody else had written it.
func (d *Daemon) SendToPeer(ctx context.Context, fromID int64, to, text string) (Delivery, error) {
	for {
		dl, err := d.sendToPeer(ctx, fromID, to, text)
		if !errors.Is(err, ErrMoved) || ctx.Err() != nil {
			return dl, err
		}
	}
}

// sendToPeer is one attempt. The sender is read before its messages are counted, and written with the
// new one: whoever was between makes it ErrMoved.
func (d *Daemon) sendToPeer(ctx context.Context, fromID int64, to, text string) (Delivery, error) {
	from, err := d.Agent(ctx, fromID)
	switch {
	case err != nil:
		return Delivery{}, err
	case !from.Active():
		return Delivery{}, errAgentNotActive
	}
	typed, err := peerText(&from, text)
	if err != nil {
		return Delivery{}, err
	}
	peer, err := d.addressee(ctx, &from, to)
	if err != nil {
		return Delivery{}, err
	}
	if err := d.maySend(ctx, fromID); err != nil {
		return Delivery{}, err
	}
	return d.sendMessage(ctx, peer, typed, false, &from)
}

// peerText is what is typed for a text of from. The first line is ours; all others begin with a sign. There is
// no line between them: Claude Code takes no more than three for typed.
func peerText(from *Agent, text string) (string, error) {
	if n := utf8.RuneCountInString(text); n > maxPeerText {
		return "", Errorf(KindTooLarge, CodeTextTooLong, "The text has %d characters but at most %d may be sent to an agent: put it into a file and name that", n, maxPeerText)
	}
	if err := checkTyped(text); err != nil {
		return "", err
	}
	if r, i := unseenIn(text); i >= 0 {
		return "", Errorf(KindInvalid, CodeBadText, "The text has the invisible character U+%04X at byte %d: leave it out", r, i)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "", Errorf(KindInvalid, CodeBadText, "The text is empty")
	}
	who := strconv.FormatInt(from.ID, 10)
	if slug := from.PersonaSlug(); slug != "" {
		who += " (" + slug + ")"
	}
	return fmt.Sprintf("Message from agent %s, not from the operator:\n> %s", who, strings.ReplaceAll(text, "\n", "\n> ")), nil
}

// unseenIn finds the first character that a runtime would drop or turn into the end of a line, or a
// terminal would reorder the line by, and the byte that it begins at; -1: there is none. A joiner is
// part of many emoji.
func unseenIn(s string) (r rune, at int) {
	const joiner = '\u200d'
	for i, c := range s {
		if c != joiner && unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp) {
			return c, i
		}
	}
	return 0, -1
}

// addressee finds the agent that to names, an id or a persona. Those that are not on the sender's host,
// and sessions that a person started without giving them a persona, are nobody's peers.
func (d *Daemon) addressee(ctx context.Context, from *Agent, to string) (int64, error) {
	id, err := strconv.ParseInt(to, 10, 64)
	if err != nil {
		if id, err = d.newestOf(ctx, from, to); err != nil {
			return 0, err
		}
	}
	if id == from.ID {
		return 0, Errorf(KindUnprocessable, CodeOwnMessage, "That is agent %d itself: name another agent by its id", id)
	}
	a, err := d.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return 0, err
	case a.Active() && a.Host == from.Host && (a.Managed || a.Persona != nil):
		return id, nil
	}
	return 0, Errorf(KindUnprocessable, CodeNoSuchPeer, "There is no active agent %d to write to: list the personas, which name their agents", id)
}

// newestOf finds the newest active agent that plays a persona.
func (d *Daemon) newestOf(ctx context.Context, from *Agent, slug string) (int64, error) {
	if _, err := personas.ParseSlug(slug); err != nil {
		return 0, &Error{Kind: KindUnprocessable, Code: CodeUnknownPersona, Cause: err,
			Message: fmt.Sprintf("%.80q is neither an agent's id nor a persona: list the personas, which name their agents", slug)}
	}
	playing, err := d.beside(ctx, from, slug)
	switch {
	case err != nil:
		return 0, err
	case len(playing) == 0:
		return 0, Errorf(KindUnprocessable, CodePersonaNotPlayed, "Nobody plays %s now: list the personas, which name their agents", slug)
	}
	return playing[0].ID, nil
}

// maySend refuses the message of an agent that has sent as many as it may.
func (d *Daemon) maySend(ctx context.Context, agentID int64) error {
	sent, err := d.Store.Sent(ctx, agentID, d.now().Add(-peerWindow))
	switch {
	case err != nil:
		return err
	case sent.Recent >= maxPeerRecent && sent.First != nil:
		return Errorf(KindConflict, CodeTooManyMessages, "Agent has sent %d messages in %d minutes: the next one may be sent at %s UTC",
			sent.Recent, int(peerWindow.Minutes()), sent.First.Add(peerWindow+time.Second).UTC().Format(time.TimeOnly))
	case sent.Open >= maxPeerOpen:
		return Errorf(KindConflict, CodeTooManyMessages, "Agent has %d messages that were not taken yet: the next one may be sent when one of them was", sent.Open)
	}
	return nil
}
