package dashboard

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/tell"
)

// settings is the data of the settings page: the settings that the operator changes on the page, and those of config.yaml.
type settings struct {
	Browsers []Browser
	Notify   tell.Preferences
	Targets  []notices.TargetReport
	Runtimes []engine.RuntimeInfo
	Auto     daemon.AutoSettings
	Runs     daemon.PipelineSettings
	Host     string
	Root     string // the data directory
	Version  string
}

// Browser is a browser that is signed in to the dashboard.
type Browser struct {
	Login       string // the id of its login
	Name        string // its name for people, such as Firefox 140
	Since, Used time.Time
	This        bool // this browser asks for the page
}

// Settings draws the page of notifications, signed-in browsers and this daemon's settings.
func (p *Pages) Settings(ctx context.Context, browsers []Browser) (*Page, error) {
	preferences, err := p.Notices.Preferences(ctx)
	if err != nil {
		return nil, err
	}
	targets, err := p.Notices.Targets(ctx)
	if err != nil {
		return nil, err
	}
	return p.page("settings", "Settings", "settings", "operator", &settings{
		Browsers: browsers,
		Notify:   preferences, Targets: targets, Runtimes: p.Daemon.Runtimes(ctx), Auto: p.Daemon.Settings().Handoff.Auto, Runs: p.Daemon.Settings().Pipeline,
		Host: p.Daemon.Host, Root: p.Daemon.Data.Root(), Version: p.Version,
	}), nil
}
