package daemon

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// IsNameOf reports whether freeName has made a name from a persona's slug, so that nobody has given it.
func IsNameOf(name, slug string) bool {
	number, numbered := strings.CutPrefix(name, slug+"-")
	n, err := strconv.Atoi(number)
	return name == slug || numbered && err == nil && n > 1
}

// The limits of a pane's size. On a smaller screen the daemon would miss the texts that it looks for; a larger screen costs
// memory.
const (
	MinColumns, MaxColumns = 80, 500
	MinRows, MaxRows       = 24, 200
)

// PaneSize returns the size of a new pane for a terminal of the given size: the terminal's size, within the limits.
func PaneSize(columns, rows int) (int, int) {
	return min(max(columns, MinColumns), MaxColumns), min(max(rows, MinRows), MaxRows)
}

// Elapsed returns the time between two times in rows; 0, if the clock was set back in between.
func Elapsed(from, to time.Time) time.Duration { return max(to.Sub(from), 0) }

// WriteAgent adds an agent's row to the change, unless the change has it already.
func (c *Change) WriteAgent(a *Agent) {
	if !slices.ContainsFunc(c.Agents, func(other *Agent) bool { return other.ID == a.ID }) {
		c.Agents = append(c.Agents, a)
	}
}

// Takes reports whether the change itself takes a delivery out of the queue.
func (c *Change) Takes(dl *Delivery) bool {
	return slices.ContainsFunc(c.Deliveries, func(own *Delivery) bool { return own.ID == dl.ID && own.State != DeliveryQueued })
}

// IDKind names a sequence of ids.
type IDKind string

// The sequences of ids.
const (
	AgentIDs    IDKind = "agents"
	HandoffIDs  IDKind = "handoffs"
	DeliveryIDs IDKind = "deliveries"
	PipelineIDs IDKind = "pipelines"
	StepIDs     IDKind = "steps"
	OutputIDs   IDKind = "step_handoffs"
	WorktreeIDs IDKind = "worktrees"
)

// Within reports whether a path is a folder or something in it.
func Within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// HostWaiting returns the error for a host whose lock a database session holds. The session may belong to a daemon that
// is dead. held describes the session.
func HostWaiting(held string) error {
	return Errorf(KindUnavailable, CodeHostWaiting,
		"The daemon waits for %s, which holds this host and says nothing: it goes on when the database ends that session, within seconds if it was this version's", held)
}

// ReasonLimit is the reason of a handoff that the daemon requests for an agent with a limit.
const ReasonLimit = "usage_limit"

const (
	// unknownReset is how long a limit is taken to last if the runtime did not say it.
	UnknownReset = time.Hour
	// limitLook is how long a lane waits at most before it looks at a limit again. A timer does not go on while the machine
	// sleeps.
	LimitLook = time.Minute
)

// WaitsForFg is the WaitsFor of an agent that a signal has stopped.
const WaitsForFg = "`fg` in its pane: it was stopped there, as by Ctrl-Z"

var notPlain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// PlainName makes a name of a-z, 0-9 and - with at most limit bytes.
func PlainName(name string, limit int) string {
	name = strings.Trim(notPlain().ReplaceAllString(strings.ToLower(name), "-"), "-")
	if len(name) > limit {
		name = strings.Trim(name[:limit], "-")
	}
	return cmp.Or(name, "agent")
}

const (
	MaxWaitsFor    = 200 // runes
	MaxLastMessage = 600 // runes
	maxAsked       = 600 // runes
)

// PaneShows stands in a sentence before what a pane shows. The sentence begins with why the agent has ended, or does
// nothing.
const PaneShows = "; its pane shows "
