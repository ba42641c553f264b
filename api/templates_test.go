package api

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/personas"
)

func TestTemplateOnTheWire(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]personas.Template{
		`{"name":"a","description":"","steps":[],"file":"/f","problem":"line 3: it is no list"}`: {
			Name: "a", File: "/f", Problem: "line 3: it is no list",
		},
		`{"name":"a","description":"d","steps":[` +
			`{"agent":"qa","description":"x","prompt":"y","approval":true,"remind_after":3600,"timeout":1.5,"runtime":"codex","model":"gpt-5","next":[{"when":{"heading":"Verdict","contains":"not ready"},"goto":2}],"otherwise":"stop","max_rounds":3},` +
			`{"agent":"dev","description":"","prompt":"","approval":false,"remind_after":null,"timeout":null,"runtime":"","model":"","next":[],"otherwise":"","max_rounds":0}],"file":"/f","problem":null}`: {
			Name: "a", Description: "d", File: "/f", Steps: []personas.TemplateStep{
				{Agent: "qa", Description: "x", Prompt: "y", Approval: true, RemindAfter: time.Hour, Timeout: 1500 * time.Millisecond, Runtime: "codex", Model: "gpt-5",
					Next: []personas.Rule{{When: personas.Condition{Heading: "Verdict", Contains: "not ready"}, Goto: 2}}, Otherwise: personas.Stop, MaxRounds: 3},
				{Agent: "dev"},
			},
		},
	} {
		if got := must(json.Marshal(template(in)))(t); string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// templatesOf returns two templates, one of them broken.
func templatesOf(t testing.TB) *personas.Templates {
	t.Helper()
	dir := t.TempDir()
	writeTemplates(t, dir)
	return must(personas.OpenTemplates(dir))(t)
}

// writeTemplates writes a template that can be run and one that cannot.
func writeTemplates(t testing.TB, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"quick.yaml":  "name: quick\ndescription: Mends.\nsteps:\n  - agent: developer\n    timeout: 90s\n  - agent: reviewer\n    approval: true\n",
		"broken.yaml": "name: broken\nsteps: 7\n",
	} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	none := build(t, nil)
	if got := none.mainDoor().do("GET", "/api/templates", ""); got.status != 200 || string(got.body) != "[]\n" {
		t.Errorf("without templates: %d %q", got.status, got.body)
	}
	h := build(t, func(s *Server) { s.Templates = templatesOf(t) })
	got := map[string]Template{}
	for _, template := range must(h.client.Templates(t.Context()))(t) {
		got[template.Name] = template
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"broken", "quick"}) {
		t.Fatalf("templates: %q", names)
	}
	if quick := got["quick"]; quick.Problem != nil || quick.Description != "Mends." || len(quick.Steps) != 2 || quick.Steps[0].Timeout == nil ||
		*quick.Steps[0].Timeout != 90 || !quick.Steps[1].Approval || quick.Steps[1].Timeout != nil || filepath.Base(quick.File) != "quick.yaml" {
		t.Errorf("quick: %+v", quick)
	}
	if broken := got["broken"]; broken.Problem == nil || broken.Steps == nil || len(broken.Steps) != 0 {
		t.Errorf("broken: %+v", broken)
	}
}
