package api

import (
	"context"
	_ "embed"
	"encoding/json"
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

// routes returns the routes of the main socket. TCP has the same routes, behind guardTCP.
func (s *Server) routes() []route {
	return slices.Concat(s.pipelineRoutes("/pipelines"), s.pipelineRoutes("/api/pipelines"), s.worktreeRoutes(), s.dashboardRoutes(), []route{
		{"POST", "/api/agents", "", s.createAgent},
		{"GET", "/api/agents", "state persona limit before", s.listAgents},
		{"GET", "/api/agents/:id", "", s.showAgent},
		{"POST", "/api/agents/resume", "", s.resumeAgents},
		{"POST", "/api/agents/dismiss", "", s.dismissAgents},
		{"PATCH", "/api/agents/:id", "", s.changeAgent},
		{"POST", "/api/agents/:id/seen", "", s.seeAgent},
		{"POST", "/api/agents/:id/resume", "", s.resumeAgent},
		{"POST", "/api/agents/:id/dismiss", "", s.dismissAgent},
		{"POST", "/api/agents/:id/stop", "", s.stopAgent},
		{"POST", "/api/agents/:id/limit", "", s.decideLimit},
		{"GET", "/api/agents/:id/screen", "format", s.showScreen},
		{"GET", "/api/agents/:id/dialog", "", s.showDialog},
		{"POST", "/api/agents/:id/dialog", "", s.answerDialog},
		{"PUT", "/api/agents/:id/keys", "", s.beginKeys},
		{"POST", "/api/agents/:id/keys", "", s.typeKeys},
		{"DELETE", "/api/agents/:id/keys", "", s.endKeys},
		{"GET", "/api/agents/:id/diff", "stat file", s.showDiff},
		{"GET", "/api/agents/:id/timeline", "span", s.showAgentTimeline},

		{"POST", "/api/agents/:id/messages", "", s.sendMessage},
		{"GET", "/api/agents/:id/messages", "limit before", s.listMessages},
		{"DELETE", "/api/agents/:id/messages", "", s.cancelMessages},

		{"POST", "/api/agents/:id/handoff", "", s.requestHandoff},
		{"GET", "/api/agents/:id/handoff", "", s.latestHandoff},
		{"DELETE", "/api/agents/:id/handoff", "", s.cancelHandoff},
		{"GET", "/api/handoffs", "persona status limit before", s.listHandoffs},
		{"GET", "/api/handoffs/:id", "", s.showHandoff},
		{"POST", "/api/handoffs/:id/retry", "", s.retryHandoff},
		{"GET", "/api/handoffs/:id/transitions", "", s.listTransitions},
		{"GET", "/api/handoffs/:id/durations", "", s.showDurations},
		{"GET", "/api/handoffs/:id/line", "", s.listLine},
		{"GET", "/api/handoffs/:id/record", "", s.showRecord},
		{"GET", "/api/handoffs/:id/document", "", s.showDocument},
		{"GET", "/api/handoffs/:id/context", "", s.showContext},

		{"GET", "/api/attention", "", s.listAttention},
		{"GET", "/api/attention/count", "", s.countAttention},

		{"GET", "/api/permissions", "agent_id state limit before", s.listPermissions},
		{"GET", "/api/permissions/:id", "", s.showPermission},
		{"POST", "/api/permissions/:id", "", s.answerPermission},

		{"GET", "/api/runtimes", "", s.listRuntimes},

		{"POST", "/api/personas", "", s.createPersona},
		{"GET", "/api/personas", "archived", s.listPersonas},
		{"GET", "/api/personas/:slug", "", s.showPersona},
		{"PATCH", "/api/personas/:slug", "", s.renamePersona},
		{"DELETE", "/api/personas/:slug", "", s.archivePersona},
		{"GET", "/api/personas/:slug/budget", "", s.showBudget},
		{"POST", "/api/personas/:slug/budget/go-on", "", s.goOnWithoutBudget},
		{"GET", "/api/usage", "by since agent_id persona pipeline_id host", s.showUsage},
		{"GET", "/api/personas/:slug/handoffs", "status limit before", s.listPersonaHandoffs},

		{"GET", "/api/templates", "", s.listTemplates},
		{"POST", "/api/settings/reload", "", s.reloadSettings},
		{"GET", "/api/notifications/preferences", "", s.showPreferences},
		{"PUT", "/api/notifications/preferences", "", s.setPreferences},
		{"GET", "/api/notifications/targets", "", s.listTargets},
		{"POST", "/api/notifications/test", "", s.testNotification},
		{"GET", "/api/events", "after types agent_id handoff_id pipeline_id", s.streamEvents},
		{"POST", "/api/prune", "", s.prune},
		{"GET", "/api/audit", auditParams + " limit before", s.listAudit},
		{"GET", "/api/audit/export", auditParams + " format", s.exportAudit},
		{"GET", "/api/openapi.yaml", "", s.showOpenAPI},
		{"POST", "/hooks/:event", "", s.takeHook},
		{"GET", "/healthz", "", s.showHealth},
		{"GET", "/readyz", "", s.showReady},
		{"GET", "/metrics", "", s.showMetrics},
	})
}

// pipelineRoutes returns the routes of pipelines at one of their two addresses.
func (s *Server) pipelineRoutes(base string) []route {
	return []route{
		{"POST", base, "", s.createPipeline},
		{"GET", base, "status template limit before", s.listPipelines},
		{"GET", base + "/:id", "", s.showPipeline},
		{"POST", base + "/:id/abort", "", s.abortPipeline},
		{"POST", base + "/:id/resume", "", s.resumePipeline},
		{"POST", base + "/:id/approve", "", s.approvePipeline},
		{"POST", base + "/:id/reject", "", s.rejectPipeline},
	}
}

func (s *Server) worktreeRoutes() []route {
	return []route{
		{"GET", "/api/worktrees", "all limit before", s.listWorktrees},
		{"GET", "/api/worktrees/:id", "", s.showWorktree},
		{"GET", "/api/worktrees/:id/diff", "stat file", s.showWorktreeDiff},
		{"POST", "/api/worktrees/:id/merge", "", s.mergeWorktree},
		{"POST", "/api/worktrees/:id/remove", "", s.removeWorktree},
		{"POST", "/api/worktrees/:id/restore", "", s.restoreWorktree},
	}
}

// hookRoutes returns the routes of the hook socket. Only this socket has the routes for the reports of an agent's status
// line and for messages between agents.
func (s *Server) hookRoutes() []route {
	return []route{
		{"POST", "/hooks/:event", "", s.takeHook},
		{"POST", "/api/agents/:id/handoff", "", s.ownAgent(s.requestOwnHandoff)},
		{"GET", "/api/agents/:id/handoff", "", s.ownAgent(s.latestHandoff)},
		{"DELETE", "/api/agents/:id/handoff", "", s.ownAgent(s.cancelHandoff)},
		{"POST", "/api/agents/:id/messages", "", s.ownAgent(s.sendOwnMessage)},
		{"GET", "/api/agents/:id/messages", "limit before", s.ownAgent(s.listMessages)},
		{"POST", "/api/agents/:id/context", "", s.ownAgent(s.reportContext)},
		{"GET", "/api/agents/:id/peers", "", s.ownAgent(s.showPeers)},
		{"POST", "/api/agents/:id/peers/messages", "", s.ownAgent(s.sendToPeer)},
	}
}

func (s *Server) router(routes []route) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.handleError
	e.IPExtractor = echo.ExtractIPDirect() // otherwise echo believes the X-Forwarded-For of any client
	e.SchemeExtractor = echo.ExtractSchemeDirect()
	e.Pre(withoutSlash)
	e.Use(s.measured(routes), s.recovered, hardened, readsApart)
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

// replyOne calls get with the id in the address, and answers with the result.
func replyOne[T any](c echo.Context, status int, get func(context.Context, int64) (T, error)) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	v, err := get(c.Request().Context(), id)
	return reply(c, status, v, err)
}

// reply answers with v as JSON. If err is not nil, it returns err and answers nothing.
func reply[T any](c echo.Context, status int, v T, err error) error {
	if err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Blob(status, "application/json", append(b, '\n'))
}

// replyList answers with an array, never with null.
func replyList[T any](c echo.Context, list []T, err error) error {
	if list == nil {
		list = []T{}
	}
	return reply(c, http.StatusOK, list, err)
}

func (s *Server) showOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", openAPI)
}
