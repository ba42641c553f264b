package storetest

import "github.com/understudyd/understudy/daemon"

// hold draws what holds a row and its note. Some notes are those of an older daemon, which has left the hold as it was.
func (d *drawer) hold() (*daemon.Hold, string) {
	h := &daemon.Hold{
		Kind: one(d, daemon.HoldBudget, daemon.HoldBrokeOff, daemon.HoldNoPane, "unknown"), Since: d.at(), Until: maybe(d, d.at()),
		HoldDetail: daemon.HoldDetail{AgentID: int64(d.rand.IntN(2)), Says: d.word()},
	}
	before := one(d, nil, h)
	return before, one(d, h.Words(), before.Words(), d.word(), "the agent is in a turn")
}

func (d *drawer) context() *daemon.ContextUse {
	if d.half() {
		return nil
	}
	return &daemon.ContextUse{Tokens: d.rand.Int64N(1e12), Limit: maybe(d, int64(200_000)), Percent: maybe(d, d.rand.Float64()), Source: d.word()}
}
