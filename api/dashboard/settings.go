package dashboard

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/tell"
)

// settings is what the operator sets here, and what is set elsewhere.
type settings struct {
	Browsers []Browser
	Notify   tell.Preferences
	Auto     daemon.AutoSettings
	Runs     daemon.PipelineSettings
	Host     string
	Root     string // the data directory
	Version  string
}

// Browser is one that is signed in to the dashboard.
type Browser struct {
	Login       string // its id
	Name        string // as people call it
	Since, Used time.Time
	This        bool // it asks for the page
}

// Settings draws the page of what is told, who is signed in and how this daemon is set up.
func (p *Pages) Settings(ctx context.Context, browsers []Browser) (*Page, error) {
	preferences, err := p.Daemon.NotificationPreferences(ctx)
	if err != nil {
		return nil, err
	}
	return p.page("settings", "Settings", "settings", "operator", &settings{
		Browsers: browsers,
		Notify:   preferences, Auto: p.Daemon.Settings.Handoff.Auto, Runs: p.Daemon.Settings.Pipeline,
		Host: p.Daemon.Host, Root: p.Daemon.Data.Root(), Version: p.Version,
	}), nil
}
