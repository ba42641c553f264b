package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

type peerMessageRequest struct {
	To   string `json:"to"` // an agent's id or a persona's slug
	Text string `json:"text"`
}

// PeerDelivery is the answer to an agent that sends a message to another agent.
type PeerDelivery struct {
	ID        int64                `json:"id"`
	ToAgentID int64                `json:"to_agent_id"`
	State     daemon.DeliveryState `json:"state"`
}

func (s *Server) showPeers(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Peers.Peers)
}

func (s *Server) sendToPeer(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var in peerMessageRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	if in.To == "" {
		return invalid(codeInvalidField, "Field \"to\" must name an agent or a persona")
	}
	dl, err := s.Peers.SendToPeer(c.Request().Context(), id, in.To, in.Text)
	return reply(c, http.StatusAccepted, PeerDelivery{ID: dl.ID, ToAgentID: dl.AgentID, State: dl.State}, err)
}
