// Package house puts the rooms of the domain together. It is the only package that knows all of them.
package house

import (
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/history"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/marks"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/peers"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// House is a daemon with its rooms.
type House struct {
	Daemon      *intake.Daemon
	Dialogs     *dialogs.Room
	Limits      *limits.Room
	Notices     *notices.Room
	Permissions *permissions.Room
	Pictures    *pictures.Room
	Pipelines   *pipelines.Room
	Usage       *usage.Room
	Worktrees   *worktrees.Room
	History     *history.Room
	Marks       *marks.Room
	Peers       *peers.Room
}

// New makes a daemon with its rooms.
func New(cfg engine.Config) *House {
	d := intake.New(cfg)
	return &House{
		Daemon: d, Pipelines: pipelines.Join(d), Permissions: permissions.Join(d), Limits: limits.Join(d), Dialogs: dialogs.Join(d),
		Notices: notices.Join(d), Pictures: pictures.Join(d), Usage: usage.Join(d), Worktrees: worktrees.Join(d), History: history.Join(d),
		Marks: marks.New(d), Peers: peers.New(d),
	}
}
