package dashboard

import (
	"context"
	"html/template"
	"net/url"
	"strconv"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

const pageOfEvents = 100

// log is a page of the event log, the newest events first.
type log struct {
	Events []event.Event
	Filter LogFilter
	Kinds  []string
	Spans  []span
	Older  string // the address of the next page; "": there is no next page
	// Query is the query of the export's address that selects the same events.
	Query template.URL
}

// span is a choice of how far back the page reads the event log.
type span struct{ Value, Words string }

// LogFilter selects events of the event log, by the texts of the page's form. Since is a number of hours.
type LogFilter struct {
	Kind    string // the prefix of the events' types
	Agent   string
	Handoff string
	Run     string
	Text    string
	Since   string
	Address url.Values // the parameters of the page's own address
	Export  string     // the query with which the API exports the same events
}

// Log draws a page of the event log. want is the same filter as filter, in the domain's terms.
func (p *Pages) Log(ctx context.Context, filter LogFilter, want daemon.AuditFilter) (*Page, error) {
	out := &log{
		Filter: filter, Query: template.URL(filter.Export), // it was written with its values escaped
		Kinds: []string{"agent", "handoff", "pipeline", "step", "delivery", "operator", "log", "database", "hook", "template"},
		Spans: []span{{"", "all"}, {"1", "the last hour"}, {"24", "the last day"}, {"168", "the last week"}},
	}
	watch := "all"
	if want.Before != 0 {
		watch = "" // an older page does not change
	}
	page := p.page("log", "Event log", "log", watch, out)
	want.Limit = pageOfEvents
	var err error
	if out.Events, err = p.Daemon.Audit(ctx, want); err != nil {
		return nil, err
	}
	if n := len(out.Events); n == pageOfEvents {
		filter.Address.Set("before", strconv.FormatInt(out.Events[n-1].ID, 10))
		out.Older = "/ui/log?" + filter.Address.Encode()
	}
	return page, nil
}
