package api

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

//go:embed openapi.yaml
var openAPI []byte

// route is a row of one of the tables below.
type route struct {
	method  string
	path    string
	params  string // the names of the parameters that the query may have
	handler echo.HandlerFunc
}

// name is the route's method and path.
func (r *route) name() string { return r.method + " " + r.path }

// routes returns the routes of the main socket. TCP has the same routes, behind guardTCP.
func (s *Server) routes() []route {
	agents, handoffs, operator, people := agentHandlers{s.House}, handoffHandlers{s.House}, operatorHandlers{s.House}, personaHandlers{s.House, s.Personas, s.Templates}
	return slices.Concat(s.pipelineRoutes("/pipelines"), s.pipelineRoutes("/api/pipelines"), s.worktreeRoutes(), s.dashboardRoutes(), []route{
		{"POST", "/api/agents", "", created(fromBody(s.Daemon.CreateAgent))},
		{"GET", "/api/agents", "state persona limit before", reply(filtered(agentFilter, s.Daemon.Agents))},
		{"GET", "/api/agents/:id", "", reply(byKey(s.Daemon.Agent))},
		{"POST", "/api/agents/resume", "", reply(fromBody(agents.resumeSeveral))},
		{"POST", "/api/agents/dismiss", "", reply(fromBody(agents.dismissSeveral))},
		{"PATCH", "/api/agents/:id", "", reply(fromBodyByKey(agents.change))},
		{"POST", "/api/agents/:id/seen", "", reply(fromBodyByKey(agents.see))},
		{"POST", "/api/agents/:id/resume", "", created(actByKey(s.Daemon.ResumeAgent))},
		{"POST", "/api/agents/:id/dismiss", "", reply(actByKey(agents.dismiss))},
		{"POST", "/api/agents/:id/stop", "", accepted(fromBodyByKey(agents.stop))},
		{"POST", "/api/agents/:id/limit", "", reply(fromBodyByKey(s.Limits.DecideLimit))},
		{"GET", "/api/agents/:id/screen", "format", agents.screen},
		{"GET", "/api/agents/:id/dialog", "", reply(byKey(s.Dialogs.Dialog))},
		{"POST", "/api/agents/:id/dialog", "", reply(fromBodyByKey(agents.answerDialog))},
		{"PUT", "/api/agents/:id/keys", "", reply(actByKey(agents.beginKeys))},
		{"POST", "/api/agents/:id/keys", "", reply(fromBodyByKey(agents.typeKeys))},
		{"DELETE", "/api/agents/:id/keys", "", reply(fromBodyByKey(agents.endKeys))},
		{"GET", "/api/agents/:id/diff", "stat file", reply(filteredByKey(diffRequest, s.Daemon.AgentDiff))},
		{"GET", "/api/agents/:id/timeline", "span", reply(filteredByKey(span, s.Pictures.AgentTimeline))},

		{"POST", "/api/agents/:id/messages", "", accepted(fromBodyByKey(agents.send))},
		{"GET", "/api/agents/:id/messages", "limit before", reply(filteredByKey(placeOf, agents.messages))},
		{"DELETE", "/api/agents/:id/messages", "", reply(fromBodyByKey(agents.cancelMessages))},

		{"POST", "/api/agents/:id/handoff", "", reply(fromBodyByKey(handoffs.request))},
		{"GET", "/api/agents/:id/handoff", "", reply(byKey(s.Daemon.LatestHandoff))},
		{"DELETE", "/api/agents/:id/handoff", "", reply(fromBodyByKey(handoffs.cancel))},
		{"GET", "/api/handoffs", "persona status limit before", reply(filtered(handoffFilter, s.Daemon.Handoffs))},
		{"GET", "/api/handoffs/:id", "", reply(byKey(s.Daemon.Handoff))},
		{"POST", "/api/handoffs/:id/retry", "", reply(fromBodyByKey(s.Daemon.RetryHandoff))},
		{"GET", "/api/handoffs/:id/transitions", "", reply(byKey(s.Daemon.Transitions))},
		{"GET", "/api/handoffs/:id/durations", "", reply(byKey(s.Pictures.Durations))},
		{"GET", "/api/handoffs/:id/line", "", reply(byKey(s.Daemon.Line))},
		{"GET", "/api/handoffs/:id/record", "", reply(byKey(handoffs.record))},
		{"GET", "/api/handoffs/:id/document", "", markdown(byKey(s.Daemon.Document))},
		{"GET", "/api/handoffs/:id/context", "", markdown(byKey(s.Daemon.ContextFile))},

		{"GET", "/api/attention", "", reply(plain(operator.attention))},
		{"GET", "/api/attention/count", "", reply(plain(s.Daemon.AttentionCount))},

		{"GET", "/api/permissions", "agent_id state limit before", reply(filtered(permissionFilter, s.Permissions.List))},
		{"GET", "/api/permissions/:id", "", reply(byKey(s.Permissions.Permission))},
		{"POST", "/api/permissions/:id", "", reply(fromBodyByKey(operator.answerPermission))},

		{"GET", "/api/runtimes", "", reply(plain(operator.runtimes))},

		{"POST", "/api/personas", "", created(fromBody(people.create))},
		{"GET", "/api/personas", "archived", reply(filtered(isArchived, people.list))},
		{"GET", "/api/personas/:slug", "", reply(byKey(people.show))},
		{"PATCH", "/api/personas/:slug", "", reply(fromBodyByKey(people.rename))},
		{"DELETE", "/api/personas/:slug", "", reply(actByKey(people.archive))},
		{"GET", "/api/personas/:slug/budget", "", reply(byKey(people.budget))},
		{"POST", "/api/personas/:slug/budget/go-on", "", reply(actByKey(people.goOn))},
		{"GET", "/api/usage", "by since agent_id persona pipeline_id host", reply(filtered(usageQueryOf, operator.usage))},
		{"GET", "/api/personas/:slug/handoffs", "status limit before", reply(filteredByKey(handoffFilter, people.handoffs))},

		{"GET", "/api/templates", "", reply(plain(people.listTemplates))},
		{"POST", "/api/settings/reload", "", reply(act(s.Daemon.Reload))},
		{"GET", "/api/notifications/preferences", "", reply(plain(s.Notices.Preferences))},
		{"PUT", "/api/notifications/preferences", "", reply(fromBody(operator.setPreferences))},
		{"GET", "/api/notifications/targets", "", reply(plain(s.Notices.Targets))},
		{"POST", "/api/notifications/test", "", reply(fromBody(operator.testNotification))},
		{"GET", "/api/events", "after types agent_id handoff_id pipeline_id", s.streamEvents},
		{"POST", "/api/prune", "", reply(fromBody(operator.prune))},
		{"GET", "/api/audit", auditParams + " limit before", reply(filtered(auditFilter, s.Daemon.Audit))},
		{"GET", "/api/audit/export", auditParams + " format", s.exportAudit},
		{"GET", "/api/openapi.yaml", "", showOpenAPI},
		{"POST", "/hooks/:event", "", s.takeHook},
		{"GET", "/healthz", "", reply(s.health)},
		{"GET", "/readyz", "", reply(plain(s.ready))},
		{"GET", "/metrics", "", s.showMetrics},
	})
}

// pipelineRoutes returns the routes of pipelines at one of their two addresses.
func (s *Server) pipelineRoutes(base string) []route {
	pipelines := pipelineHandlers{s.House}
	return []route{
		{"POST", base, "", created(fromBody(pipelines.create))},
		{"GET", base, "status template limit before", reply(filtered(pipelineFilter, pipelines.list))},
		{"GET", base + "/:id", "", reply(byKey(s.Pipelines.Pipeline))},
		{"POST", base + "/:id/abort", "", reply(actByKey(s.Pipelines.AbortPipeline))},
		{"POST", base + "/:id/resume", "", reply(fromBodyByKey(pipelines.resume))},
		{"POST", base + "/:id/approve", "", reply(decision(s.Pipelines.ApprovePipeline))},
		{"POST", base + "/:id/reject", "", reply(decision(s.Pipelines.RejectPipeline))},
	}
}

func (s *Server) worktreeRoutes() []route {
	trees := treeHandlers{s.House}
	return []route{
		{"GET", "/api/worktrees", "all limit before", reply(filtered(treeFilterOf, trees.list))},
		{"GET", "/api/worktrees/:id", "", reply(byKey(s.Worktrees.ShowWorktree))},
		{"GET", "/api/worktrees/:id/diff", "stat file", reply(filteredByKey(diffRequest, s.Worktrees.WorktreeDiff))},
		{"POST", "/api/worktrees/:id/merge", "", accepted(fromBodyByKey(s.Worktrees.MergeWorktree))},
		{"POST", "/api/worktrees/:id/remove", "", accepted(fromBodyByKey(s.Worktrees.RemoveWorktree))},
		{"POST", "/api/worktrees/:id/restore", "", accepted(actByKey(s.Worktrees.RestoreWorktree))},
	}
}

// hookRoutes returns the routes of the hook socket: hooks, and what an agent may do that has the secret of its launch.
func (s *Server) hookRoutes() []route {
	routes := s.ownRoutes()
	for i := range routes {
		routes[i].handler = s.ownAgent(routes[i].handler)
	}
	return append([]route{{"POST", "/hooks/:event", "", s.takeHook}}, routes...)
}

// ownRoutes returns what an agent may do about itself, and to its peers. The main socket has some of them, where they may do more
// for the operator.
func (s *Server) ownRoutes() []route {
	agents, handoffs, paid := agentHandlers{s.House}, handoffHandlers{s.House}, s.floods.ofAgent
	return []route{
		{"POST", "/api/agents/:id/handoff", "", paid(loadRequests, reply(fromBodyByKey(handoffs.requestOwn)))},
		{"GET", "/api/agents/:id/handoff", "", reply(byKey(s.Daemon.LatestHandoff))},
		{"DELETE", "/api/agents/:id/handoff", "", paid(loadRequests, reply(fromBodyByKey(handoffs.cancel)))},
		{"POST", "/api/agents/:id/messages", "", paid(loadRequests, accepted(fromBodyByKey(agents.sendOwn)))},
		{"GET", "/api/agents/:id/messages", "limit before", reply(filteredByKey(placeOf, agents.messages))},
		{"POST", "/api/agents/:id/context", "", paid(loadContext, reply(fromBodyByKey(agents.reportContext)))},
		{"GET", "/api/agents/:id/peers", "", reply(byKey(s.Peers.Peers))},
		{"POST", "/api/agents/:id/peers/messages", "", paid(loadRequests, accepted(fromBodyByKey(agents.sendToPeer)))},
	}
}

func (s *Server) router(routes []route, guards ...echo.MiddlewareFunc) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.handleError
	e.IPExtractor = echo.ExtractIPDirect() // otherwise echo believes the X-Forwarded-For of any client
	e.SchemeExtractor = echo.ExtractSchemeDirect()
	e.Pre(withoutSlash)
	e.Use(append([]echo.MiddlewareFunc{s.measured(routes), recovered, hardened, readsApart, withOrigin}, guards...)...)
	for _, r := range routes {
		e.Add(r.method, r.path, withParams(r.params, r.handler))
	}
	return e
}

// withoutSlash makes /pipelines/ the same address as /pipelines. Scripts rely on it.
func withoutSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if u := c.Request().URL; u.RawPath == "" && (u.Path == "/pipelines/" || u.Path == "/api/pipelines/") {
			u.Path = strings.TrimSuffix(u.Path, "/")
		}
		return next(c)
	}
}

// hardened sets headers that forbid browsers to guess the type of an answer, to run scripts in it, and to frame or cache
// it.
func hardened(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// readsApart makes GET requests use database connections of their own, so that hooks and the daemon's work never wait for
// them.
func readsApart(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.Method == http.MethodGet {
			c.SetRequest(r.WithContext(daemon.AsReader(r.Context())))
		}
		return next(c)
	}
}

func showOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", openAPI)
}
