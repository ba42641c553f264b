package dashboard

import (
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/secrets"
)

// part is a line of agents, or a part of one: agents of which each goes on with the work of the one before, after its end. A line
// that branches, or of which two agents lived at the same time, has several parts.
type part struct {
	lives []*pictures.Life // the newest first
}

func (p *part) newest() *pictures.Life { return p.lives[0] }
func (p *part) oldest() *pictures.Life { return p.lives[len(p.lives)-1] }

// name says what a part is about: the name of its newest agent, and what else there is to say.
func (p *part) name() (name, also string) {
	newest, oldest := p.newest(), p.oldest()
	if slices.ContainsFunc(p.lives, func(l *pictures.Life) bool { return l.Name != newest.Name }) {
		also = "and others "
	}
	switch len(p.lives) {
	case 1:
		also += fmt.Sprintf("· agent %d", newest.ID)
	case 2:
		also += fmt.Sprintf("· agents %d → %d", oldest.ID, newest.ID)
	default:
		also += fmt.Sprintf("· agents %d → … → %d", oldest.ID, newest.ID)
	}
	return words.Clip(words.Page(secrets.Mask(newest.Name)), 80), also
}

// parts returns the agents of a picture, those of the newest part first. All agents that follow each other are in one part.
func (t *timeline) parts() (out []*part) {
	waits := map[int64][]*part{} // the parts whose oldest agent goes on with the work of this one
	for i := range slices.Backward(t.Timeline.Lives) {
		l := &t.Timeline.Lives[i]
		var mine *part
		for _, p := range waits[l.ID] {
			if mine == nil && l.EndedAt != nil && !l.EndedAt.After(p.oldest().CreatedAt) {
				mine = p
			}
		}
		if mine == nil {
			mine = &part{}
			out = append(out, mine)
		}
		mine.lives = append(mine.lives, l)
		if l.PreviousAgentID != nil {
			waits[*l.PreviousAgentID] = append(waits[*l.PreviousAgentID], mine)
		}
	}
	return out
}

// place makes a row for each part, and returns in which row each agent is. If there are too many parts, there is no room for those
// that ended first.
func (t *timeline) place() (rows map[int64]int) {
	parts := t.parts()
	if len(parts) > mostTracks {
		end := func(p *part) time.Time {
			if at := p.newest().EndedAt; at != nil {
				return *at
			}
			return t.Until
		}
		slices.SortStableFunc(parts, func(a, b *part) int { return end(b).Compare(end(a)) })
		for _, p := range parts[mostTracks:] {
			t.Hidden += len(p.lives)
		}
		parts = parts[:mostTracks]
	}
	rows = map[int64]int{}
	for i, p := range parts {
		t.Tracks = append(t.Tracks, track{part: p})
		for _, l := range p.lives {
			rows[l.ID] = i
		}
	}
	return rows
}
