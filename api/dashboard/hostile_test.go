package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// filled writes text into every field that an agent or its document can fill. It returns the pages by name.
func filled(t *testing.T, text string) map[string]*html.Node {
	t.Helper()
	h := build(t)
	later := h.now.Add(time.Hour)
	must(t, h.Personas.Archive(t.Context(), slug))
	value(h.Personas.Create(t.Context(), personas.New{Role: "tester", Name: "eve", Skill: strings.ReplaceAll(text, "\x00", "")}))(t)
	fill := func(a *daemon.Agent) {
		pane := text
		a.Name, a.Persona, a.Runtime, a.Cwd, a.Note, a.WaitsFor, a.LastMessage, a.Pane, a.SessionID = text, &text, text, text, text, text, text, &pane, &pane
		a.CreatedAt = h.now.Add(-time.Hour) // so that there is a timeline
		a.State, a.Trouble = daemon.Waiting, &daemon.Trouble{Code: daemon.TroubleCodes()[0], Message: text, Since: h.now}
	}
	old := h.agent(func(a *daemon.Agent) {
		fill(a)
		a.State, a.EndedAt, a.EndReason = daemon.Ended, &h.now, &text
	})
	heir := h.agent(func(a *daemon.Agent) {
		fill(a)
		a.PreviousAgentID, a.Generation = &old.ID, 2
	})
	away := h.agent(func(a *daemon.Agent) {
		fill(a)
		a.Host = "elsewhere"
	})
	plain := h.agent(func(a *daemon.Agent) {
		fill(a)
		persona := "tester-eve-1"
		a.Persona = &persona
	})
	words := func(o *daemon.Handoff) {
		o.Reason, o.Focus, o.Note, o.Deadline, o.FilePath, o.Ref = text, text, text, &later, fmt.Sprint(o.ID, text), fmt.Sprint(o.ID, text)
		o.Warnings, o.ContextPath, o.ContextChecksum, o.InjectionPrompt = []string{text, text}, &text, &text, &text
		o.Structured = &daemon.Structured{WhatWasDone: &text, DecisionsMade: &text, OpenQuestions: &text, NextAgentContext: &text}
		o.Error = &daemon.Failure{Phase: daemon.Instructing, Code: daemon.Code(text), Message: text, Hint: text}
	}
	recorded := h.handoff(old, func(o *daemon.Handoff) { words(o); o.SuccessorID = &heir.ID }, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying,
		daemon.Recorded, daemon.ShuttingDown, daemon.Spawning)
	failed := h.handoff(heir, words, daemon.Instructing, daemon.Failed)
	open := h.handoff(away, words, daemon.Instructing)
	h.handoff(plain, words, daemon.Instructing)
	for _, v := range []daemon.Verdict{"", daemon.Submitted, daemon.NotSubmitted} {
		h.delivery(heir, text, v)
	}
	h.event("agent_stop_failed", heir.ID, map[string]any{"message": text})
	h.event("agent_ended", heir.ID, map[string]any{"reason": text})
	h.event("delivery_submitted", heir.ID, map[string]any{"evidence": text, "kind": text})

	out := map[string]*html.Node{}
	ctx := t.Context()
	add := func(name string) func(*Page, error) {
		return func(page *Page, err error) { out[name], _ = drawn(t, value(page, err)(t)) }
	}
	for name, id := range map[string]int64{"old": old.ID, "heir": heir.ID, "away": away.ID, "plain": plain.ID} {
		add("agent " + name)(h.Agent(ctx, id, pictures.Day))
	}
	for name, id := range map[string]int64{"recorded": recorded.ID, "failed": failed.ID, "open": open.ID} {
		add("handoff " + name)(h.Handoff(ctx, id))
	}
	h.Daemon.Differ = written{text}
	changed := h.agent(func(a *daemon.Agent) { fill(a); a.Base = &worktree.Base{At: h.now, Commit: text, Branch: text} })
	add("diff")(h.Diff(ctx, changed.ID, agents.DiffRequest{}))
	h.Daemon.Keeper = keeping{text: text}
	tree := &daemon.Worktree{
		ID: 1, Host: "here", Repository: text, Path: text, Workdir: text, Branch: text, Base: text, BaseCommit: text, State: daemon.TreeStanding, KeptRef: text, CreatedAt: h.now,
		Last: &daemon.TreeOutcome{Do: daemon.TreeRemove, Says: text}, Copied: []worktree.Copied{{Path: text, Bytes: 1}},
	}
	inTree := &daemon.Agent{ID: value(h.store.NextID(ctx, daemon.AgentIDs))(t), Runtime: "claude", Host: "here", Generation: 1, CreatedAt: h.now, StateAt: h.now, WorktreeID: &tree.ID}
	fill(inTree)
	inTree.State, inTree.EndedAt, inTree.EndReason = daemon.Ended, &h.now, &text
	h.commit(&daemon.Change{NewWorktree: tree, NewAgent: inTree})
	add("agent in a tree")(h.Agent(ctx, inTree.ID, pictures.Day))
	add("work trees")(h.Worktrees(ctx, true, 0))
	add("handoffs")(h.Handoffs(ctx, daemon.HandoffFilter{}))
	add("handoffs of a persona")(h.Handoffs(ctx, daemon.HandoffFilter{Persona: text}))
	add("personas")(h.People(ctx))
	add("persona")(h.Persona(ctx, "tester-eve-1"))
	add("document")(h.Document(ctx, recorded.ID))
	add("home")(h.Home(ctx))
	add("pipeline")(h.page("pipeline", text, "pipelines", "", &pipeline{run: run{Pipeline: daemon.Pipeline{Title: text}}}), nil)
	return out
}

// keeping looks at trees in which all has the same name.
type keeping struct {
	worktree.Keeper
	text string
}

func (k keeping) Look(context.Context, worktree.Place) worktree.Look {
	return worktree.Look{Branch: k.text, Commit: k.text, Busy: k.text, Uncommitted: []string{k.text}, UncommittedCount: 9, Ignored: []string{k.text}, IgnoredCount: 1, Bytes: 1}
}

// written is a directory in which all has the same name and content.
type written struct{ text string }

func (w written) Begin(context.Context, string, time.Time) (worktree.Base, error) {
	return worktree.Base{}, worktree.ErrNone
}

func (w written) Diff(context.Context, worktree.DiffQuery) (worktree.Diff, error) {
	size := int64(1)
	text := w.text
	return worktree.Diff{Top: text, Commit: text, Branch: text, Incomplete: text, FileCount: 2, Files: []worktree.FileDiff{
		{Path: text, OldPath: text, Status: "renamed", Note: text, Cut: true, Hunks: []worktree.Hunk{{Section: text, Lines: []string{"+" + text, "-" + text, `\` + text, " " + text}}}},
		{Path: text, Status: "untracked", Binary: true, Size: &size},
	}}, nil
}

// spoken are the attributes that contain text for people.
var spoken = []string{"title", "data-label", "data-confirm", "data-done", "aria-label", "value", "content", "datetime", "href", "selected"}

// placed are the attributes that say where a part of a picture is. That depends on the moment at which the page is drawn.
var placed = []string{"x", "x1", "x2", "width", "d", "points", "text-anchor", "data-tick"}

// shape is a page without its text: its elements with their attributes, without those that Markdown made.
func shape(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node, int)
	walk = func(n *html.Node, depth int) {
		if class := attribute(n, "class"); class == "grid" || strings.HasPrefix(class, "tick") {
			return // how many round times an axis has depends on the moment, too
		}
		if n.Type == html.ElementNode {
			fmt.Fprintf(&b, "%*s%s", depth, "", n.Data)
			for _, a := range n.Attr {
				if slices.Contains(spoken, a.Key) || slices.Contains(placed, a.Key) {
					a.Val = ""
				}
				fmt.Fprintf(&b, " %s=%q", a.Key, a.Val)
			}
			b.WriteString("\n")
			if strings.Contains(attribute(n, "class"), "markdown") {
				return
			}
		}
		for c := range n.ChildNodes() {
			walk(c, depth+1)
		}
	}
	walk(n, 0)
	return b.String()
}

// TestHostileText fills the pages with texts that try to become HTML, scripts or links. The pages must have the same
// elements as with a plain word, and their links must stay on their page or on the daemon.
func TestHostileText(t *testing.T) {
	t.Parallel()
	want := filled(t, "word")
	// One text has all the tricks: a text that breaks out does so in every field.
	for _, text := range []string{
		`"'><script>alert(1)</script><img src=x onerror=alert(1)> onclick=alert(1) x="</title></textarea></pre></main><!-- {{.}} ` + "`${1}` javascript:alert(1) \x1b[31m\x1b]8;;x\x07\u202e\u2066\x00" + `&lt;b&gt; //evil.example ../../x?a=b&c#d`,
		strings.Repeat("w", 5000),
	} {
		for name, got := range filled(t, text) {
			if a, b := shape(want[name]), shape(got); a != b {
				t.Errorf("%s has another shape:\n%s", name, difference(a, b))
			}
			for n := range got.Descendants() {
				if href := attribute(n, "href"); href != "" && !strings.HasPrefix(href, "#") && (!strings.HasPrefix(href, "/") || strings.HasPrefix(href, "//")) &&
					attribute(n, "rel") != "noopener noreferrer nofollow" {
					t.Errorf("%s has a link to %q", name, href)
				}
			}
		}
	}
}

// difference returns the first lines that differ.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: want %q, got %q", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(y), len(x))
}

// TestPagesMaskSecrets fills the pages with a secret. Only the attributes may have it, by which pages act.
func TestPagesMaskSecrets(t *testing.T) {
	t.Parallel()
	secret := "ghp_" + "R7kq2LmZ9xTb4WcV1nYs8dPf" + "3GhJ6aQe5uKi"
	shown := 0
	for name, page := range filled(t, "It is '"+secret+"' & https://app:"+secret[4:20]+"@x.example/y, `"+secret+"`") {
		for n := range page.Descendants() {
			if n.Type == html.TextNode && strings.Contains(n.Data, secret[4:16]) {
				t.Errorf("%s shows %q", name, n.Data)
			}
			shown += strings.Count(n.Data, "ghp_R7…[masked: github-token]")
		}
	}
	if shown == 0 {
		t.Error("nothing is shown masked")
	}
	decides := `<pre class="text shown" tabindex="0">token=q1w2e3r4t5y6u7i8&amp;~/x.sh</pre>` // what would run is part of it
	wardentest.Equal(t, "what a person decides by", masked(decides), decides)
}
