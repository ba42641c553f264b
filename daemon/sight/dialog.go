package sight

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// errNoDialog says that the pane of an agent shows no dialog.
func errNoDialog(agentID int64) *daemon.Error {
	return daemon.Errorf(daemon.KindNotFound, daemon.CodeNoDialog, "Agent %d shows no dialog", agentID)
}

// ReadDialog looks at an agent's pane and reads the dialog in it.
func (d *Sight) ReadDialog(ctx context.Context, a *daemon.Agent) (*ShownDialog, error) {
	term, err := d.TerminalOf(a)
	if err != nil {
		return nil, err
	}
	view, err := term.Look(ctx, a.Ref())
	switch {
	case errors.Is(err, tmux.ErrGone):
		return nil, daemon.ErrAgentNoPane
	case err != nil:
		return nil, fmt.Errorf("agent %d: screen: %w", a.ID, err)
	}
	read := d.RuntimeOf(a).ReadDialog(runtimes.View{Text: view.Screen, Title: view.Title})
	if read.Name == "" || !d.InFront(a) {
		return nil, errNoDialog(a.ID)
	}
	s := &ShownDialog{Read: read, Command: view.Command, Dialog: Dialog{AgentID: a.ID, Name: read.Name, Choices: []DialogChoice{}}}
	for i, c := range read.Choices {
		s.Choices = append(s.Choices, DialogChoice{Number: i + 1, Label: words.Line(c.Label), Selected: c.Selected, Input: c.Input})
	}
	rows := read.Text
	if len(read.Below) > 0 {
		rows = append(append(slices.Clone(rows), ""), read.Below...)
	}
	s.Text = Visible(strings.Join(rows, "\n"))
	if read.Why != "" {
		s.Why = fmt.Sprintf("%s: answer it in its pane, `understudy agent attach %d`", read.Why, a.ID)
	}
	s.ID = Fingerprint(a, &read)
	return s, nil
}

// Dialog is a dialog that stands in an agent's pane, as its screen shows it now.
type Dialog struct {
	AgentID int64          `json:"agent_id"`
	ID      string         `json:"id"`   // the fingerprint of this very dialog: an answer names it, so that no other one is answered
	Name    string         `json:"name"` // what it asks for, in one line
	Text    string         `json:"text"`
	Choices []DialogChoice `json:"choices"`
	// Why says why no choice can be taken from here; "": each can be, but for those with Input.
	Why string `json:"why"`
}

// DialogChoice is one answer that a dialog offers.
type DialogChoice struct {
	Number   int    `json:"number"` // from 1 on
	Label    string `json:"label"`
	Selected bool   `json:"selected"` // Enter would take it now
	Input    bool   `json:"input"`    // it asks for a text, so it is answered in the pane
}

// ShownDialog is a dialog with the look in which it was read.
type ShownDialog struct {
	Dialog
	Read    runtimes.Dialog
	Command string // the program of the pane
}

// Sight returns what tmux must find unchanged when a key is pressed: the program, and the row of the choice that is selected.
func (s *ShownDialog) Sight() tmux.Sight {
	return tmux.Sight{Command: s.Command, Row: s.Read.Choices[s.Selected()].Row}
}

// Selected returns the index of the choice that Enter would take now.
func (s *ShownDialog) Selected() int { return s.Read.Selected() }

// Asks returns what the dialog asks for, as an agent's WaitsFor has it.
func (s *ShownDialog) Asks() string { return words.Clip(words.Line(s.Name), daemon.MaxWaitsFor) }

// Fingerprint returns the checksum of all that makes a dialog this very one: what it says above its choices, the choices, since
// when the agent waits, and how many dialogs were answered before it. The row that is selected is no part of it, nor is the text
// below the choices, which may follow the row.
func Fingerprint(a *daemon.Agent, read *runtimes.Dialog) string {
	sum := sha256.New()
	since, nth := int64(0), 0
	if a.State == daemon.Waiting {
		since = a.StateAt.UnixMicro()
	}
	if in := a.DialogAnswer; in != nil {
		if nth = in.Nth; in.Open() {
			nth--
		}
	}
	fmt.Fprintf(sum, "%d %d %d\n%s\n%s\n", a.ID, since, nth, read.Name, strings.Join(read.Text, "\n"))
	for _, c := range read.Choices {
		fmt.Fprintf(sum, "\x00%s", c.Label)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// RecentPermissions is how many permissions of an agent are looked at for one whose dialog stands.
const RecentPermissions = 20

// FirstAsked returns the permission of an agent whose dialog stands in the pane, but for the one with the id except: of those that are
// open, the one that was asked first. nil: there is none. The agent has waited since the time waits. A permission that nobody has
// answered in time is not open any more, but its dialog still stands if the agent has waited ever since.
func FirstAsked(list []daemon.Permission, except int64, waits time.Time) (first *daemon.Permission) {
	for i := range list {
		p := &list[i]
		stands := p.State == daemon.PermissionOpen || p.State == daemon.PermissionUnanswered && p.EndedAt != nil && !p.EndedAt.Before(waits)
		if p.ID != except && stands && (first == nil || p.ID < first.ID) {
			first = p
		}
	}
	return first
}

// AskedFor says what an agent waits for, as waitsFor says it.
func AskedFor(p *daemon.Permission) string {
	return fmt.Sprintf("permission for %s", p.Line())
}

// Visible writes characters that no screen shows as their numbers, because they can make a command look like another one.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && words.Hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
