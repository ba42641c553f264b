package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/personas"
)

// RuntimeOf returns an agent's runtime. If that is no longer configured, the runtime that it returns can do nothing.
func (d *Engine) RuntimeOf(a *daemon.Agent) *runtimes.Runtime {
	rt, _ := d.Settings().RuntimeNamed(a.Runtime)
	return rt
}

// RuntimeNamed returns the runtime of that name. With an error it returns a runtime that can do nothing.
func (s *Settings) RuntimeNamed(name string) (*runtimes.Runtime, error) {
	if rt := s.Generic[name]; rt != nil {
		return rt, nil
	}
	return catalog.For(name)
}

// RuntimeInfo is what people are shown of a runtime.
type RuntimeInfo struct {
	Name    string          `json:"name"`
	Title   string          `json:"title"`
	Command []string        `json:"command"` // as configured; empty: it is not configured
	Version string          `json:"version"` // as the CLI prints it; "": it cannot be run, or does not say
	Problem string          `json:"problem"` // why agents of this runtime cannot be started, with the fix; "": they can
	Facts   []runtimes.Fact `json:"facts"`
	Cannot  []string        `json:"cannot"` // sentences
}

// Runtimes returns the runtimes that understudy knows and those that are configured, in a fixed order. It may run each
// configured command once, to ask for its version.
func (d *Engine) Runtimes(ctx context.Context) []RuntimeInfo {
	names := catalog.Names()
	for _, name := range slices.Sorted(maps.Keys(d.Settings().Runtimes)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	infos := make([]RuntimeInfo, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { infos[i] = d.runtimeInfo(ctx, name) }) // some CLIs take a second to print their version
	}
	wg.Wait()
	return infos
}

func (d *Engine) runtimeInfo(ctx context.Context, name string) RuntimeInfo {
	rt, err := d.Settings().RuntimeNamed(name)
	command := d.Settings().Runtimes[name]
	info := RuntimeInfo{Name: name, Title: rt.Title, Command: append([]string{}, command...), Facts: rt.Facts(), Cannot: append([]string{}, rt.Can.Cannot...)}
	if err == nil {
		err = d.CheckRuntime(name)
	}
	if err == nil {
		info.Version = d.Version(ctx, command)
		if rt.CheckVersion != nil {
			err = rt.CheckVersion(info.Version)
		}
	}
	if err != nil {
		info.Problem = cmp.Or(err.Error(), "it cannot be started")
	}
	return info
}

// CheckFallback refuses a persona whose fallback names a runtime that is not known or has no command. A runtime that is not
// installed now may be installed when it is needed.
func (d *Engine) CheckFallback(p *personas.Persona) error {
	for name := range strings.SplitSeq(p.Fallback, ",") {
		_, known := catalog.For(name)
		switch _, configured := d.Settings().Runtimes[name]; {
		case name == "":
		case known != nil:
			return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownRuntime, "Persona %s names %q as its fallback, which is no known runtime: correct the line fallback in its skill.md", p.Slug, name)
		case !configured:
			return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownRuntime, "Persona %s names %q as its fallback, which is not configured: set runtimes.%s.command in config.yaml", p.Slug, name, name)
		}
	}
	return nil
}

// runtimeNames names the configured runtimes, for a sentence.
func (d *Engine) runtimeNames() string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(d.Settings().Runtimes)), ", "), "none")
}

// CheckRuntime refuses a runtime that is not configured, not known or not installed; the error is a 422.
func (d *Engine) CheckRuntime(name string) error {
	command, ok := d.Settings().Runtimes[name]
	if !ok {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownRuntime, "Runtime %q is not configured, but these are: %s; or set runtimes.%s.command in config.yaml",
			name, d.runtimeNames(), name)
	}
	if _, err := d.Settings().RuntimeNamed(name); err != nil {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownRuntime, "Runtime %q is not known", name)
	}
	if err := d.Lookup(command); err != nil {
		return &daemon.Error{Kind: daemon.KindUnprocessable, Code: daemon.CodeRuntimeMissing, Message: "The runtime's command cannot be run: " + err.Error()}
	}
	return nil
}
