package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

// auditParams are the parameters that filter the audit.
const auditParams = "types type_prefix agent_id handoff_id pipeline_id host persona since until q"

const (
	maxSearch     = 200              // runes
	exportTimeout = 30 * time.Second // how long the client may take to receive a page of an export
)

func auditFilter(p *params) daemon.AuditFilter {
	filter := p.audit()
	filter.Before, filter.Limit = p.id("before"), p.limit()
	return filter
}

// audit returns the filter that the parameters describe.
func (p *params) audit() daemon.AuditFilter {
	f := daemon.AuditFilter{
		Types: p.types(), TypePrefix: p.text("type_prefix"),
		AgentID: p.id("agent_id"), HandoffID: p.id("handoff_id"), PipelineID: p.id("pipeline_id"),
		Host: p.text("host"), Persona: p.text("persona"), Since: p.time("since"), Until: p.time("until"), Text: p.text("q"),
	}
	if f.TypePrefix != "" && !eventType().MatchString(f.TypePrefix) {
		p.fail(invalid(daemon.CodeInvalidParameter, "Parameter \"type_prefix\" must be how types of events begin, such as handoff_"))
	}
	if utf8.RuneCountInString(f.Text) > maxSearch {
		p.fail(invalid(daemon.CodeInvalidParameter, "Parameter \"q\" must have at most %d characters", maxSearch))
	}
	return f
}

// types returns the requested types of events. nil stands for all types.
func (p *params) types() []string {
	text := p.text("types")
	if text == "" {
		return nil
	}
	types := strings.Split(text, ",")
	if slices.ContainsFunc(types, func(t string) bool { return !eventType().MatchString(t) }) {
		p.fail(invalid(daemon.CodeInvalidParameter, "Parameter \"types\" must be types of events, separated by commas"))
	} else if err := views.CheckEventTypes(types); err != nil {
		p.fail(err)
	}
	return types
}

// time returns the time in a parameter. If the parameter is absent, it returns the zero time.
func (p *params) time(name string) time.Time {
	if !p.values.Has(name) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, p.text(name))
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		p.fail(invalid(daemon.CodeInvalidParameter, "Parameter %q must be a time such as 2006-01-02T15:04:05Z", name))
	}
	return t
}

// exporter writes events in one format.
type exporter interface {
	head(f daemon.AuditFilter, at time.Time) []byte
	events(page []event.Event) ([]byte, error)
	end() []byte
}

// exportAudit answers with all events that match the parameters. It reads and writes them page by page, and begins with
// the newest, so that an export never contains events that are logged after its first page was read.
func (s *Server) exportAudit(c echo.Context) error {
	p := paramsOf(c)
	filter := p.audit()
	format := p.oneOf("format", "json", "md")
	if p.err != nil {
		return p.err
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.streams, cancel)()
	now := time.Now().UTC()
	var out exporter = &jsonExport{}
	contentType := "application/json"
	if format == "md" {
		out, contentType = &markdownExport{}, "text/markdown; charset=utf-8"
	} else {
		format = "json"
	}
	filter.Limit = eventsPage
	page, err := s.Daemon.Audit(ctx, filter) // before the head is written, because the daemon may refuse the search
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="understudy-audit-%s.%s"`, now.Format("20060102T150405Z"), format))
	h.Set("Connection", "close") // do not use the connection again, because it keeps the deadline of the last write
	w := &exportWriter{w: c.Response(), control: http.NewResponseController(c.Response())}
	w.write(out.head(filter, now))
	for w.err == nil {
		b, err := out.events(page)
		if err != nil {
			w.err = err
			break
		}
		w.write(b)
		if len(page) < eventsPage {
			w.write(out.end())
			break
		}
		filter.Before = page[len(page)-1].ID
		if page, err = s.Daemon.Audit(ctx, filter); err != nil {
			w.err = err
		}
	}
	if w.err != nil {
		s.Log.Warn("export of the log cut off", "error", w.err)
		panic(http.ErrAbortHandler) // cut the connection: nothing else shows the client that the export is not complete
	}
	return nil
}

// exportWriter writes pages, each with a deadline. After a write has failed, it writes nothing more.
type exportWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (w *exportWriter) write(b []byte) {
	if w.err == nil {
		w.err = w.control.SetWriteDeadline(time.Now().Add(exportTimeout))
	}
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// jsonExport writes an array with a line for each event.
type jsonExport struct{ begun bool }

func (*jsonExport) head(daemon.AuditFilter, time.Time) []byte { return []byte("[") }

func (j *jsonExport) events(page []event.Event) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range page {
		if j.begun {
			b.WriteByte(',')
		}
		j.begun = true
		line, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.ID, err)
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	return b.Bytes(), nil
}

func (*jsonExport) end() []byte { return []byte("\n]\n") }
