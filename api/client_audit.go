package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// Audit returns the events that match the filter, the newest first.
func (c *Client) Audit(ctx context.Context, f daemon.AuditFilter) ([]event.Event, error) {
	return call[[]event.Event](ctx, c, "GET", "/api/audit?"+auditQuery(f).Encode(), nil)
}

// ExportAudit writes all events that match the filter to w, as "json" or "md". It ignores the filter's Before and Limit.
// If it fails, it may have written a part.
func (c *Client) ExportAudit(ctx context.Context, f daemon.AuditFilter, format string, w io.Writer) error {
	f.Before, f.Limit = 0, 0
	q := auditQuery(f)
	q.Set("format", format)
	request, err := http.NewRequestWithContext(ctx, "GET", c.base+"/api/audit/export?"+q.Encode(), nil)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	if err != nil {
		return callError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
		if err != nil {
			return callError(err)
		}
		return answerError(response.StatusCode, body)
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return &daemon.Error{Kind: daemon.KindUnavailable, Code: codeCutOff, Message: "the export was cut off by the daemon: its log says why; try again", Cause: err}
		}
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func auditQuery(f daemon.AuditFilter) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			q.Set(name, strconv.FormatInt(n, 10))
		}
	}
	moment := func(name string, t time.Time) {
		if !t.IsZero() {
			q.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	set("types", strings.Join(f.Types, ","))
	set("type_prefix", f.TypePrefix)
	number("agent_id", f.AgentID)
	number("handoff_id", f.HandoffID)
	number("pipeline_id", f.PipelineID)
	set("host", f.Host)
	set("persona", f.Persona)
	moment("since", f.Since)
	moment("until", f.Until)
	set("q", f.Text)
	number("before", f.Before)
	number("limit", int64(f.Limit))
	return q
}
