package api

import (
	"context"

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

func (h agentHandlers) sendToPeer(ctx context.Context, id int64, in peerMessageRequest) (PeerDelivery, error) {
	if in.To == "" {
		return PeerDelivery{}, invalid(codeInvalidField, "Field \"to\" must name an agent or a persona")
	}
	dl, err := h.Peers.SendToPeer(ctx, id, in.To, in.Text)
	return PeerDelivery{ID: dl.ID, ToAgentID: dl.AgentID, State: dl.State}, err
}
