package api

import (
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
)

type permissionAnswerRequest struct {
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
	Digest   string `json:"digest"`
}

func permissionFilter(p *params) daemon.PermissionFilter {
	return daemon.PermissionFilter{AgentID: p.id("agent_id"), Open: p.oneOf("state", "open") == "open", Before: p.id("before"), Limit: p.limit()}
}

// answerPermission notes where the answer comes from. The domain refuses a process that runs inside an agent.
func (h operatorHandlers) answerPermission(c echo.Context, id int64, in permissionAnswerRequest) (daemon.Permission, error) {
	return h.Permissions.Answer(c.Request().Context(), id, permissions.Answer{
		Verdict: daemon.PermissionVerdict(in.Verdict), Sentence: in.Sentence, Digest: in.Digest,
		From: cameFrom(c), Sender: sender(c.Request()),
	})
}

// cameFrom says for the log where a request came from.
func cameFrom(c echo.Context) string {
	peer := sender(c.Request())
	switch {
	case peer != nil:
		return fmt.Sprintf("process %d of this machine", peer.PID)
	case c.Request().Header.Get("Authorization") != "":
		return "token, from " + c.RealIP()
	}
	return "browser, from " + c.RealIP()
}
