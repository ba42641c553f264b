package serve

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/cmd/internal/targets"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

type notifySettings struct {
	Desktop bool                      `yaml:"desktop"`
	Targets map[string]targetSettings `yaml:"targets"`
}

// targetSettings are one target of notifications beside the desktop. Which fields it has depends on its type.
type targetSettings struct {
	Type        string   `yaml:"type"` // ntfy, webhook or command
	URL         string   `yaml:"url"`
	URLFile     string   `yaml:"url_file"`
	TokenFile   string   `yaml:"token_file"`
	Command     []string `yaml:"command"`
	Levels      []string `yaml:"levels"`
	Types       []string `yaml:"types"`
	IncludeText bool     `yaml:"include_text"`
}

// targetName is short because the name is part of each message's key, which has a limit.
var targetName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,23}$`) })

// problem returns the key of a value that cannot work, below notify, and why; "": there is none.
func (n *notifySettings) problem() (key, why string) {
	for _, name := range slices.Sorted(maps.Keys(n.Targets)) {
		t := n.Targets[name]
		if !targetName().MatchString(name) {
			return "targets." + name, "the name of a target is at most 24 small letters, digits and hyphens"
		}
		if key, why := t.problem(); why != "" {
			return "targets." + name + "." + key, why
		}
	}
	return "", ""
}

func (t *targetSettings) problem() (key, why string) {
	address, command := t.URL != "" || t.URLFile != "", len(t.Command) > 0
	switch t.Type {
	case "ntfy":
		if (t.URL == "") == (t.URLFile == "") {
			return "url", "an ntfy target has the URL of its topic in url, or the file with that URL in url_file"
		}
		if t.URL != "" {
			if err := targets.CheckURL(t.URL); err != nil {
				return "url", err.Error()
			}
		}
	case "webhook":
		if t.URLFile == "" || t.URL != "" {
			return "url_file", "the URL of a webhook is a secret: write it into a file of mode 0600 and name that file here"
		}
	case "command":
		if !command || t.Command[0] == "" {
			return "command", "must be an argument list such as [notify-me, --now]"
		}
		if address || t.TokenFile != "" {
			return "command", "a command takes no url, url_file and token_file"
		}
	default:
		return "type", "must be ntfy, webhook or command"
	}
	if command && t.Type != "command" {
		return "command", "is for targets of type command only"
	}
	for _, level := range t.Levels {
		if !slices.Contains(tell.Levels(), level) {
			return "levels", fmt.Sprintf("%q is none of %s", level, strings.Join(tell.Levels(), ", "))
		}
	}
	for _, of := range t.Types {
		known := slices.Contains(event.Types(), event.Type(of)) || strings.HasPrefix(of, "handoff_")
		if !known && !strings.HasSuffix(of, "*") {
			return "types", fmt.Sprintf("%q is no type of an event: see the event log, or write the beginning and a star, such as pipeline_*", of)
		}
	}
	return "", ""
}

// routes returns the targets in the order of their names. Relative paths of files are below the data directory. It fails
// if a file with a secret cannot be used: the operator is at hand when the daemon starts, and not when it notifies.
func (n *notifySettings) routes(root string, environ []string) ([]tell.Route, error) {
	var out []tell.Route
	for _, name := range slices.Sorted(maps.Keys(n.Targets)) {
		t := n.Targets[name]
		for key, path := range map[string]*string{"url_file": &t.URLFile, "token_file": &t.TokenFile} {
			if *path == "" {
				continue
			}
			if !filepath.IsAbs(*path) {
				*path = filepath.Join(root, *path)
			}
			secret, err := targets.ReadSecret(*path)
			if err == nil && key == "url_file" {
				err = targets.CheckURL(secret)
			}
			if err != nil {
				return nil, fmt.Errorf("settings: notify.targets.%s.%s: %w", name, key, err)
			}
		}
		r := tell.Route{Name: name, Kind: t.Type, Levels: t.Levels, Types: t.Types, IncludeText: t.IncludeText}
		switch t.Type {
		case "ntfy":
			r.Target = &targets.Ntfy{URL: t.URL, URLFile: t.URLFile, TokenFile: t.TokenFile}
		case "webhook":
			r.Target = &targets.Webhook{URLFile: t.URLFile, TokenFile: t.TokenFile}
		default:
			r.Target = &targets.Command{Argv: t.Command, Env: environ}
		}
		out = append(out, r)
	}
	return out, nil
}

// hostName is a name by which browsers may call the daemon: of a host, without its port.
var hostName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$|^[0-9A-Fa-f:]+$`)
})

// remoteProblem returns the key of a value that cannot work among public_url and host_names, and why.
func (s *Settings) remoteProblem() (key, why string) {
	for _, name := range s.HostNames {
		if !hostName().MatchString(name) {
			return "host_names", fmt.Sprintf("%q is not the name of a host: write it without https:// and port, such as desk.tailnet.ts.net", name)
		}
	}
	if s.PublicURL == "" {
		return "", ""
	}
	u, err := url.Parse(s.PublicURL)
	if err != nil || targets.CheckURL(s.PublicURL) != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "public_url", "must be an address without a path, such as https://desk.tailnet.ts.net"
	}
	return "", ""
}

// CheckRemote refuses names of hosts that cannot work, as LoadSettings does, for those that a flag has set.
func (s *Settings) CheckRemote() error {
	if key, why := s.remoteProblem(); why != "" {
		return fmt.Errorf("settings: %s: %s", key, why)
	}
	return nil
}

// names returns the names by which clients may call the daemon besides those of loopback.
func (s *Settings) names() []string {
	out := slices.Clone(s.HostNames)
	if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" && !slices.Contains(out, u.Hostname()) {
		out = append(out, u.Hostname())
	}
	return out
}
