package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	one, two := int64(1), int64(2)
	h.commit(&daemon.Change{Events: []*event.Event{
		{Type: "agent_idle", At: noon, Host: "h1", AgentID: &one, Payload: json.RawMessage(`{"message": "Needle"}`)},
		{Type: "handoff_failed", At: noon.Add(time.Hour), Host: "h1", AgentID: &one, HandoffID: &two},
		{Type: "pipeline_done", At: noon.Add(2 * time.Hour), Host: "h2", PipelineID: &two},
	}})
	for want, f := range map[string]daemon.AuditFilter{
		"3 2 1": {},
		"2 1":   {AgentID: 1},
		"2":     {HandoffID: 2, Types: []string{"handoff_failed", "agent_idle"}},
		"3":     {PipelineID: 2, TypePrefix: "pipeline_", Host: "h2"},
		"1":     {Text: "nEEdle", Until: noon.Add(time.Minute)},
		"3 2":   {Since: noon.Add(time.Hour).In(time.FixedZone("", 3600)), Limit: 2, Before: 4},
		"":      {Persona: "nobody-1"},
	} {
		equal(t, fmt.Sprintf("%+v", f), ids(value(h.client.Audit(t.Context(), f))(t)), want)
	}
	d := h.mainDoor()
	for query, code := range map[string]string{
		"?since=yesterday": "invalid_parameter", "?until=2026-13-01T00:00:00Z": "invalid_parameter", "?types=A": "invalid_parameter",
		"?type_prefix=%25": "invalid_parameter", "?agent_id=0": "invalid_id", "?limit=501": "invalid_parameter", "?before=x": "invalid_id",
		"?format=md": "unknown_parameter", "?q=" + strings.Repeat("x", 201): "invalid_parameter",
	} {
		d.do("GET", "/api/audit"+query, "").wants(t, query, 400, code)
	}
	d.do("GET", "/api/audit/export?format=pdf", "").wants(t, "format", 400, "invalid_parameter")
	d.do("GET", "/api/audit/export?limit=7", "").wants(t, "limit", 400, "unknown_parameter")
}

// TestAuditExport exports more than a page of events, from two days.
func TestAuditExport(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	day := time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)
	c := &daemon.Change{}
	const all = 2*eventsPage + 1
	for i := range all {
		c.Events = append(c.Events, &event.Event{Type: "agent_idle", At: day.Add(time.Duration(i) * 5 * time.Second), Host: "h1"})
	}
	h.commit(c)
	answer := h.mainDoor().do("GET", "/api/audit/export?type_prefix=agent_", "")
	if name := answer.header.Get("Content-Disposition"); !regexp.MustCompile(`^attachment; filename="understudy-audit-\d{8}T\d{6}Z\.json"$`).MatchString(name) {
		t.Errorf("Content-Disposition: %s", name)
	}
	var events []event.Event
	must(t, json.Unmarshal(answer.body, &events))
	if len(events) != all || events[0].ID != all || events[all-1].ID != 1 {
		t.Errorf("%d events", len(events))
	}
	var b bytes.Buffer
	must(t, h.client.ExportAudit(t.Context(), daemon.AuditFilter{Host: "h1"}, "md", &b))
	if n := strings.Count(b.String(), "\n## 2026-03-0"); n != 2 || !strings.HasSuffix(b.String(), fmt.Sprintf("\n\n%d events\n", all)) {
		t.Errorf("%d days in %.600s", n, &b)
	}
	b.Reset()
	must(t, h.client.ExportAudit(t.Context(), daemon.AuditFilter{Host: "nowhere"}, "json", &b))
	equal(t, "none", b.String(), "[\n]\n")
	err := h.client.ExportAudit(t.Context(), daemon.AuditFilter{AgentID: -1}, "md", &b)
	wantError(t, err, daemon.KindInvalid, "invalid_id", "")
}

// TestAuditMarkdownIsText: the report shows texts of agents as text, even if they look like markup.
func TestAuditMarkdownIsText(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"<script>alert(1)</script>", "<img src=x onerror=y>", "![x](http://evil/x.png)", "[a](javascript:b)", "a | b | c", "`code`", "**bold** _it_ ~~no~~",
		"http://evil.example/a", "https://evil.example", "www.evil.example", "me@evil.example", "mailto:me@evil.example", "<http://evil.example>",
		"# head", "- [x] item", "&lt;b&gt; &#60;", `back\slash \| \`, "line\none\r\n\n# two", "\x1b[31mred\x07", "[^1]: note", "a\u202Eb", "ftp://evil.example/x", "{% raw %}",
		"|---|", "1. one", "\\|x", "$x$", "xmpp:me@evil.example/a",
	}
	m := &markdownExport{}
	b := m.head(daemon.AuditFilter{Text: hostile[0], Host: hostile[2]}, time.Now())
	var page []event.Event
	for i, text := range hostile {
		payload := value(json.Marshal(map[string]string{"message": text + " end"}))(t)
		page = append(page, event.Event{ID: int64(i + 1), Type: "agent_waiting", Host: hostile[0], Payload: payload})
	}
	b = append(b, value(m.events(page))(t)...)
	b = append(b, m.end()...)
	var html bytes.Buffer
	must(t, goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Convert(b, &html))
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(html.String(), -1) {
		if name := strings.Trim(tag, "</>"); !strings.Contains(" h1 h2 p ul li table thead tbody tr th td ", " "+name+" ") {
			t.Errorf("the report has %s", tag)
		}
	}
	equal(t, "rows of the events", strings.Count(html.String(), "<tr>"), len(hostile)+1)
	equal(t, "cells of the events", strings.Count(html.String(), "<td>"), 5*len(hostile))
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt; end", "![x](http://evil/x.png) end", "a | b | c end", "**bold** _it_ ~~no~~ end", "[31mred end", "&amp;lt;b&amp;gt; &amp;#60; end", `back\slash \| \ end`} {
		holds(t, "shown as it is", html.String(), "<td>"+want)
	}
	if strings.ContainsAny(string(b), "<>\x1b\u202E") {
		t.Errorf("the report itself:\n%s", b)
	}
}
