package dashboard

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// houseDay is the data of the page of a day.
type houseDay struct {
	*daemon.House
	Before, After string // the days before and after; After "": the day is today
	Ticks         []tick
	Top           int // agents at the upper end of the picture
	Bars          []bars
	Says          string
}

// bars are the parts of all bars in one colour.
type bars struct {
	State daemon.AgentState
	Path  string
}

// shownStates are the states that the picture of a day stacks up, the lowest first.
var shownStates = []daemon.AgentState{daemon.Working, daemon.Waiting, daemon.Limited}

// House draws the page of a day; "": of today.
func (p *Pages) House(ctx context.Context, day string) (*Page, error) {
	in, err := p.Daemon.House(ctx, day)
	if err != nil {
		return nil, err
	}
	begins := in.From.Local()
	ends := daemon.DayBegins(begins, 1)
	out := &houseDay{House: in, Before: daemon.DayBegins(begins, -1).Format(time.DateOnly), Ticks: axis{begins, ends}.ticks()}
	if ends.Before(time.Now()) {
		out.After = ends.Format(time.DateOnly)
	}
	out.draw(axis{begins, ends})
	return p.page("house", "The house on "+in.Day, "agents", "minute", out), nil // with each event it would read a day
}

// draw draws a bar for each slot.
func (h *houseDay) draw(a axis) {
	most := 0.0
	for i := range h.Slots {
		sum := 0.0
		for _, state := range shownStates {
			sum += h.Slots[i].Average(state)
		}
		most = max(most, sum)
	}
	h.Top = max(int(math.Ceil(most)), 1)
	for n, state := range shownStates {
		var b strings.Builder
		for i := range h.Slots {
			s := &h.Slots[i]
			below := 0.0
			for _, other := range shownStates[:n] {
				below += s.Average(other)
			}
			if high := s.Average(state); high > 0 {
				x, w := stretched*a.share(s.At), stretched*(a.share(s.At.Add(15*time.Minute))-a.share(s.At))
				fmt.Fprintf(&b, "M%s %sh%sv%sH%sz", decimal(x+w*.08), decimal(100-100*(below+high)/float64(h.Top)), decimal(w*.84),
					decimal(100*high/float64(h.Top)), decimal(x+w*.08))
			}
		}
		h.Bars = append(h.Bars, bars{state, b.String()})
	}
	var says []string
	for _, s := range h.States {
		says = append(says, fmt.Sprintf("%s %s for %s", words.Count(s.Agents, "agent"), s.State, secs(s.Seconds)))
	}
	h.Says = fmt.Sprintf("The house on %s: %s.", h.Day, strings.Join(says, ", "))
}

// Hours are the slots added up to hours, without hours in which nothing happened.
func (h *houseDay) Hours() (out []daemon.HouseSlot) {
	for i := 0; i < len(h.Slots); i += 4 {
		hour := daemon.HouseSlot{At: h.Slots[i].At}
		for _, s := range h.Slots[i:min(i+4, len(h.Slots))] {
			hour.Length += s.Length
			hour.Working, hour.Waiting, hour.Limited = hour.Working+s.Working, hour.Waiting+s.Waiting, hour.Limited+s.Limited
		}
		if hour.Working+hour.Waiting+hour.Limited > 0 {
			out = append(out, hour)
		}
	}
	return out
}

// Active are the agents that were not idle all day.
func (h *houseDay) Active() (out []daemon.HouseAgent) {
	for _, a := range h.Agents {
		if a.Working+a.Waiting+a.Limited > 0 {
			out = append(out, a)
		}
	}
	return out
}

// Busy says whether anything happened.
func (h *houseDay) Busy() bool { return len(h.Hours()) > 0 }
