package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// Audit returns the events that match the filter, the newest first.
func (c *Client) Audit(ctx context.Context, f daemon.AuditFilter) ([]event.Event, error) {
	return call[[]event.Event](ctx, c, "GET", "/api/audit"+auditQuery(f, ""), nil)
}

// ExportAudit writes all events that match the filter to w, as "json" or "md". It ignores the filter's Before and Limit.
// If it fails, it may have written a part.
func (c *Client) ExportAudit(ctx context.Context, f daemon.AuditFilter, format string, w io.Writer) error {
	f.Before, f.Limit = 0, 0
	response, err := c.open(ctx, "GET", "/api/audit/export"+auditQuery(f, format), http.Header{}, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return &daemon.Error{Kind: daemon.KindUnavailable, Code: codeCutOff, Message: "the export was cut off by the daemon: its log says why; try again", Cause: err}
		}
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func auditQuery(f daemon.AuditFilter, format string) string {
	return query(map[string]any{
		"types": strings.Join(f.Types, ","), "type_prefix": f.TypePrefix, "agent_id": f.AgentID, "handoff_id": f.HandoffID, "pipeline_id": f.PipelineID,
		"host": f.Host, "persona": f.Persona, "since": f.Since, "until": f.Until, "q": f.Text, "before": f.Before, "limit": f.Limit, "format": format,
	})
}
