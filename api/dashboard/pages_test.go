package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

const slug = "developer-con-1"

// pages has the pages of a daemon that does not run, with a database in memory.
type pages struct {
	*Pages
	t     testing.TB
	store *memory.Store
	now   time.Time
}

func build(t testing.TB) *pages {
	t.Helper()
	dir := value(data.Open(filepath.Join(t.TempDir(), "data")))(t)
	store := memory.New()
	store.SetHost("elsewhere", dir.Root())
	people := value(personas.Open(dir.Personas()))(t)
	templates := value(personas.OpenTemplates(dir.Pipelines()))(t)
	h := &pages{t: t, store: store, now: time.Now().UTC().Truncate(time.Second)}
	rooms := house.New(engine.Config{
		Host: "here", Store: store, Data: dir, Personas: people, Templates: templates, Binary: "/bin/sh",
		Settings: engine.Settings{Handoff: daemon.DefaultHandoff},
		Terminal: func(string) (engine.Terminal, error) { return nil, errors.New("there is none") },
		Notifier: silent{}, Version: func(context.Context, []string) string { return "" },
	})
	h.Pages = &Pages{Personas: people, Templates: templates, House: rooms}
	value(people.Create(t.Context(), personas.New{Role: "developer", Name: "con"}))(t)
	return h
}

type silent struct{}

func (silent) Notify(context.Context, tell.Notification) (string, error) { return "nowhere", nil }

func (h *pages) commit(c *daemon.Change) {
	h.t.Helper()
	must(h.t, h.store.Commit(h.t.Context(), c))
}

// agent commits an idle agent with a pane.
func (h *pages) agent(change func(*daemon.Agent)) *daemon.Agent {
	h.t.Helper()
	pane, persona := "%1", slug
	a := &daemon.Agent{
		ID: value(h.store.NextID(h.t.Context(), daemon.AgentIDs))(h.t), Name: "con", Persona: &persona, Runtime: "claude", Host: "here",
		State: daemon.Idle, StateAt: h.now, Generation: 1, AgentSession: daemon.AgentSession{Cwd: "/work"}, CreatedAt: h.now, RegisteredAt: &h.now, AgentPane: daemon.AgentPane{Pane: &pane, PaneSocket: "/s"},
	}
	if change != nil {
		change(a)
	}
	h.commit(&daemon.Change{NewAgent: a})
	return a
}

// handoff commits a handoff of an agent in its first phase, and then its transitions.
func (h *pages) handoff(a *daemon.Agent, change func(*daemon.Handoff), moves ...daemon.Phase) *daemon.Handoff {
	h.t.Helper()
	id := value(h.store.NextID(h.t.Context(), daemon.HandoffIDs))(h.t)
	out := &daemon.Handoff{
		ID: id, Ref: fmt.Sprint("ref-", id), AgentID: a.ID, Persona: a.PersonaSlug(), Reason: "manual", Mode: daemon.ModeAgent,
		Phase: daemon.Requested, FilePath: fmt.Sprintf("/nowhere/%d.md", id), SourceAgent: a.Name, TargetAgent: a.Name, Generation: a.Generation,
		Warnings: []string{}, Metrics: daemon.Metrics{Phases: map[daemon.Phase]int64{}}, CreatedAt: h.now, PhaseAt: h.now, Host: a.Host,
	}
	if change != nil {
		change(out)
	}
	if out.Heirs == nil {
		out.Heirs = []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: out.Persona}, AgentID: out.SuccessorID}}
	}
	failure := out.Error
	out.Error = nil
	h.commit(&daemon.Change{NewHandoff: out})
	for i, to := range moves {
		c := &daemon.Change{Move: &daemon.Move{Handoff: out, From: out.Phase, Cause: "cause"}}
		at := h.now.Add(time.Duration(i+1) * time.Second)
		out.Metrics.Phases[out.Phase] += 1000
		out.Phase, out.PhaseAt = to, at
		switch to {
		case daemon.Recorded:
			out.RecordedAt = &at
			c.NewRecord = &daemon.Record{HandoffID: id, AgentID: a.ID, Agent: a.Name, Persona: out.Persona, At: at,
				Document: "# Document\n\n**done**", Context: "# Context\n\n*kept*",
				Decisions: []data.Decision{{Summary: "One key", Rationale: "two would drift", RelatedArtifacts: []string{"scan.go"}}},
				Todos:     []data.Todo{{Text: "Mend the callers", Status: "in_progress"}}, References: []data.Reference{{Path: "b.go", Note: "new"}}}
			for i := range 52 {
				c.NewRecord.Messages = append(c.NewRecord.Messages, data.Message{Role: "user", Text: fmt.Sprintf("message %d.", i), At: at})
			}
		case daemon.Failed, daemon.Cancelled:
			out.Error = failure
			out.CompletedAt = &at
		case daemon.Completed:
			out.CompletedAt = &at
		}
		h.commit(c)
	}
	return out
}

func (h *pages) delivery(a *daemon.Agent, text string, verdict daemon.Verdict) *daemon.Delivery {
	h.t.Helper()
	d := &daemon.Delivery{ID: value(h.store.NextID(h.t.Context(), daemon.DeliveryIDs))(h.t), AgentID: a.ID, Kind: daemon.KindMessage,
		Text: text, State: daemon.DeliveryQueued, CreatedAt: h.now}
	if verdict != "" {
		d.State, d.Verdict, d.Evidence, d.DecidedAt = daemon.DeliveryDone, &verdict, text, &h.now
	}
	h.commit(&daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
	return d
}

func (h *pages) event(typ string, agentID int64, payload map[string]any) {
	h.t.Helper()
	body := value(json.Marshal(payload))(h.t)
	h.commit(&daemon.Change{Events: []*event.Event{{Type: event.Type(typ), Host: "here", AgentID: &agentID, Payload: body}}})
}

// drawn writes a page and parses it.
func drawn(t testing.TB, page *Page) (*html.Node, string) {
	t.Helper()
	var b bytes.Buffer
	must(t, page.Write(&b))
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return words.Hidden(r) && !strings.ContainsRune("\n\t\u200c\u200d", r) }); i >= 0 {
		t.Errorf("page %s has %q", page.name, b.String()[i:min(b.Len(), i+20)])
	}
	return value(html.Parse(bytes.NewReader(b.Bytes())))(t), b.String()
}

// find returns the element with an id, or nil.
func find(n *html.Node, id string) *html.Node {
	for d := range n.Descendants() {
		if attribute(d, "id") == id {
			return d
		}
	}
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textIn returns the text in a node, with one space between words.
func textIn(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// calls are the API calls and dialogs of a page's buttons.
func calls(n *html.Node) (out []string) {
	main := find(n, "main")
	for d := range main.Descendants() {
		for _, name := range []string{"data-call", "data-open", "data-send"} {
			if v := attribute(d, name); v != "" {
				out = append(out, v+attribute(d, "data-body"))
			}
		}
	}
	return out
}

func wantCalls(t *testing.T, what string, n *html.Node, want ...string) {
	t.Helper()
	equal(t, what+": buttons do", calls(n), want)
}

func wantText(t *testing.T, n *html.Node, id string, want ...string) {
	t.Helper()
	part := find(n, id)
	if part == nil {
		t.Errorf("there is no #%s", id)
		return
	}
	holds(t, "#"+id, textIn(part), want...)
}

// TestNoTemplateHidesAnother: of two templates with one name the later file wins, and the pages with the other one break.
func TestNoTemplateHidesAnother(t *testing.T) {
	t.Parallel()
	define := regexp.MustCompile(`\{\{-? *define "([^"]+)"`)
	from := map[string]string{}
	for _, file := range value(fs.Glob(files, "html/*.html"))(t) {
		for _, m := range define.FindAllStringSubmatch(string(value(fs.ReadFile(files, file))(t)), -1) {
			equal(t, fmt.Sprintf("another file with template %q", m[1]), from[m[1]], "")
			from[m[1]] = file
		}
	}
	if len(from) == 0 {
		t.Error("no template was found")
	}
}

var must, equal, holds = wardentest.Must, wardentest.Equal, wardentest.Holds

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }
