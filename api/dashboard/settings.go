package dashboard

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// settings is what the operator sets here, and what is set elsewhere.
type settings struct {
	Notify  daemon.NotificationPreferences
	Auto    daemon.AutoSettings
	Runs    daemon.PipelineSettings
	Host    string
	Root    string // the data directory
	Version string
}

// Settings draws the page of what is told and how this daemon is set up.
func (p *Pages) Settings(ctx context.Context) (*Page, error) {
	preferences, err := p.Daemon.NotificationPreferences(ctx)
	if err != nil {
		return nil, err
	}
	return p.page("settings", "Settings", "settings", "operator", &settings{
		Notify: preferences, Auto: p.Daemon.Settings.Handoff.Auto, Runs: p.Daemon.Settings.Pipeline,
		Host: p.Daemon.Host, Root: p.Daemon.Data.Root(), Version: p.Version,
	}), nil
}
