package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
)

type permissionAnswerRequest struct {
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
	Digest   string `json:"digest"`
}

func (s *Server) listPermissions(c echo.Context) error {
	p := paramsOf(c)
	f := daemon.PermissionFilter{AgentID: p.id("agent_id"), Open: p.oneOf("state", "open") == "open", Before: p.id("before"), Limit: p.limit()}
	if p.err != nil {
		return p.err
	}
	list, err := s.Permissions.List(c.Request().Context(), f)
	return replyList(c, list, err)
}

func (s *Server) showPermission(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Permissions.Permission)
}

// answerPermission notes where the answer comes from. The domain refuses a process that runs inside an agent.
func (s *Server) answerPermission(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Permission, error) {
		var in permissionAnswerRequest
		if err := decode(c, &in); err != nil {
			return daemon.Permission{}, err
		}
		return s.Permissions.Answer(ctx, id, permissions.Answer{
			Verdict: daemon.PermissionVerdict(in.Verdict), Sentence: in.Sentence, Digest: in.Digest,
			From: cameFrom(c), Sender: sender(c.Request()),
		})
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
