package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

// site is the dashboard: its pages, the files that they load, and the gate before them.
type site struct {
	gate
	pages  *dashboard.Pages
	static map[string]dashboard.File
}

// dashboardRoutes returns the routes of the pages, and of the files that the pages load.
func (s *site) dashboardRoutes() []route {
	return []route{
		{"GET", "/login", "key", s.login},
		{"POST", "/login", "", created(s.signIn)},
		{"GET", helloPath, "challenge", reply(s.hello)},
		{"POST", "/api/dashboard/links", "", created(fromBody(s.createDashboardLink))},
		{"GET", "/api/dashboard/logins", "", reply(plain(s.listLogins))},
		{"DELETE", "/api/dashboard/logins", "", reply(act(s.revokeLogins))},
		{"DELETE", "/api/dashboard/logins/:login", "", reply(actByKey(s.revokeLogin))},
		{"GET", "/", "", s.page(plain(s.pages.Home))},
		{"GET", "/ui/pipelines", "status before", s.page(filtered(pipelineFilter, s.pages.Pipelines))},
		{"GET", "/ui/pipelines/:id", "", s.page(byKey(s.pages.Pipeline))},
		{"GET", "/ui/log", "q kind agent handoff pipeline since before", s.page(s.logPage)},
		{"GET", "/ui/settings", "", s.page(s.settingsPage)},
		{"GET", "/ui/agents/:id", "span", s.page(filteredByKey(span, s.pages.Agent))},
		{"GET", "/ui/agents/:id/diff", "file", s.page(filteredByKey(diffRequest, s.pages.Diff))},
		{"GET", "/ui/worktrees", "all before", s.page(filtered(treeFilterOf, s.worktreesPage))},
		{"GET", "/ui/worktrees/:id/diff", "file", s.page(filteredByKey(diffRequest, s.pages.WorktreeDiff))},
		{"GET", "/ui/personas", "", s.page(plain(s.pages.People))},
		{"GET", "/ui/personas/:slug", "", s.page(byKey(s.pages.Persona))},
		{"GET", "/ui/handoffs", "persona status before", s.page(filtered(handoffFilter, s.pages.Handoffs))},
		{"GET", "/ui/handoffs/:id", "", s.page(byKey(s.pages.Handoff))},
		{"GET", "/ui/handoffs/:id/document", "", s.page(byKey(s.pages.Document))},
		{"GET", "/ui/handoffs/:id/context", "", s.page(byKey(s.pages.Context))},
		{"GET", "/ui/static/:name", "", s.showStatic},
	}
}

func (s *site) worktreesPage(ctx context.Context, f treeFilter) (*dashboard.Page, error) {
	return s.pages.Worktrees(ctx, f.all, f.before)
}

// logPage draws the page of the log, with the filter of the page's form.
func (s *site) logPage(c echo.Context) (*dashboard.Page, error) {
	p := paramsOf(c)
	f := dashboard.LogFilter{
		Kind: p.text("kind"), Agent: p.text("agent"), Handoff: p.text("handoff"), Run: p.text("pipeline"), Text: p.text("q"), Since: p.text("since"),
	}
	want := daemon.AuditFilter{TypePrefix: f.Kind, Text: f.Text, Before: p.id("before")}
	number := func(name, text string) int64 {
		if text == "" {
			return 0
		}
		n, err := parseID(name, text)
		p.fail(err)
		return n
	}
	want.AgentID, want.HandoffID, want.PipelineID = number("Agent", f.Agent), number("Handoff", f.Handoff), number("Pipeline", f.Run)
	if hours := number("Since", f.Since); hours != 0 {
		want.Since = time.Now().Add(-time.Duration(min(hours, maxHours)) * time.Hour)
	}
	if p.err != nil {
		return nil, p.err
	}
	export := want
	export.Before = 0
	f.Address, f.Export = p.values, strings.TrimPrefix(auditQuery(export, ""), "?")
	return s.pages.Log(c.Request().Context(), f, want)
}

// settingsPage draws the page with the settings and the browsers that are signed in, including the browser that asks.
func (s *site) settingsPage(c echo.Context) (*dashboard.Page, error) {
	var browsers []dashboard.Browser
	mine := requestLogin(c.Request())
	for _, one := range s.logins.list(time.Now()) {
		browsers = append(browsers, dashboard.Browser{
			Login: one.ID, Name: one.Browser, Since: one.CreatedAt, Used: one.UsedAt, This: mine != nil && mine.ID == one.ID,
		})
	}
	return s.pages.Settings(c.Request().Context(), browsers)
}

const maxHours = 24 * 365 * 100 // fits into a time.Duration

// page answers with a page. If there is an error and a browser will show the answer, it answers with a page that shows the
// error.
func (s *site) page(draw source[*dashboard.Page]) echo.HandlerFunc {
	return zip(func(c echo.Context) error {
		page, err := draw(c)
		status := http.StatusOK
		if err != nil {
			if !wantsPage(c.Request()) {
				return err
			}
			var body errorBody
			var fault bool
			status, body, fault = errorAnswer(err)
			if fault && !errors.Is(err, context.Canceled) {
				s.Log.Error("page failed", "route", c.Path(), "error", err)
			}
			page = s.pages.Failed(status, body.Error)
		}
		var b bytes.Buffer
		if err := page.Write(&b); err != nil {
			return err
		}
		c.Response().Header().Set("Content-Security-Policy", dashboard.Policy)
		s.proveAnswer(c, b.Bytes())
		return c.HTMLBlob(status, b.Bytes())
	})
}

var zip = middleware.Gzip()

// showStatic answers with a file that pages load. It makes the browser ask each time whether the file has changed, so that
// the pages of a new daemon never run with old scripts.
func (s *site) showStatic(c echo.Context) error {
	f, ok := s.static[c.Param("name")]
	if !ok {
		return errNoRoute
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Etag", f.Version)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Security-Policy", dashboard.Policy) // for worker.js: a worker gets its policy with its script
	if c.Request().Header.Get("If-None-Match") == f.Version {
		return c.NoContent(http.StatusNotModified)
	}
	body := f.Body
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.Zipped
	}
	return c.Blob(http.StatusOK, f.Type, body)
}
