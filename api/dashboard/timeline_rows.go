package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
)

// part is a line of agents, or a part of one: agents of which each goes on with the work of the one before, after its end. A line
// that branches, or of which two agents lived at the same time, has several parts.
type part struct {
	line  int              // lines count from the one with the newest agent
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
	return words.Clip(words.Page(newest.Name), 80), also
}

// parts returns the agents of a picture by line, those of the newest line first. All agents that follow each other are in one part.
func (t *timeline) parts() (out []*part) {
	known, waits := map[int64]*pictures.Life{}, map[int64][]*part{} // waits: the parts whose oldest agent goes on with the work of this one
	for i := range t.Timeline.Lives {
		known[t.Timeline.Lives[i].ID] = &t.Timeline.Lives[i]
	}
	lines := map[int64]int{} // by the id of the oldest agent that is known
	for i := range slices.Backward(t.Timeline.Lives) {
		l := &t.Timeline.Lives[i]
		var mine *part
		for _, p := range waits[l.ID] {
			if mine == nil && l.EndedAt != nil && !l.EndedAt.After(p.oldest().CreatedAt) {
				mine = p
			}
		}
		if mine == nil {
			first := root(l, known)
			if _, is := lines[first]; !is {
				lines[first] = len(lines)
			}
			mine = &part{line: lines[first]}
			out = append(out, mine)
		}
		mine.lives = append(mine.lives, l)
		if l.PreviousAgentID != nil {
			waits[*l.PreviousAgentID] = append(waits[*l.PreviousAgentID], mine)
		}
	}
	slices.SortStableFunc(out, func(a, b *part) int { return cmp.Compare(a.line, b.line) })
	return out
}

// root returns the id of the oldest known agent of an agent's line.
func root(l *pictures.Life, known map[int64]*pictures.Life) int64 {
	for range known { // no line has more agents, so the walk ends even if the rows form a circle
		if l.PreviousAgentID == nil || known[*l.PreviousAgentID] == nil {
			break
		}
		l = known[*l.PreviousAgentID]
	}
	return l.ID
}

// place makes the rows, and returns in which row each agent is. Each part has a row of its own, unless there are more parts than
// rows: then a whole part stands before others in a row that is free until then. Those that ended first are those for which there
// is no room.
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
		for _, p := range parts {
			free := slices.IndexFunc(t.Tracks, func(tr track) bool {
				return p.newest().EndedAt != nil && !p.newest().EndedAt.After(tr.parts[len(tr.parts)-1].oldest().CreatedAt) &&
					!slices.ContainsFunc(tr.parts, func(other *part) bool { return other.line == p.line })
			})
			switch {
			case len(t.Tracks) < mostTracks:
				t.Tracks = append(t.Tracks, track{parts: []*part{p}})
			case free < 0:
				t.Hidden += len(p.lives)
			default:
				t.Tracks[free].parts = append(t.Tracks[free].parts, p)
			}
		}
		slices.SortStableFunc(t.Tracks, func(a, b track) int { return cmp.Compare(a.parts[0].line, b.parts[0].line) })
	} else {
		for _, p := range parts {
			t.Tracks = append(t.Tracks, track{parts: []*part{p}})
		}
	}
	rows = map[int64]int{}
	for i := range t.Tracks {
		for _, l := range t.Tracks[i].lives() {
			rows[l.ID] = i
		}
	}
	return rows
}

// lives returns the agents of a row, the newest first.
func (tr *track) lives() (out []*pictures.Life) {
	for _, p := range tr.parts {
		out = append(out, p.lives...)
	}
	return out
}
