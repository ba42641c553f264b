package stories

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// wantHeard fails unless exactly these messages are passed on.
func wantHeard(t testing.TB, what string, got, want []heard) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: messages\n got %q\nwant %q", what, got, want)
	}
}

// exchange is one turn: a person's text and the agent's answer.
func exchange(agent, prompt, answer string) []heard {
	return []heard{{agent, "user", prompt}, {agent, "assistant", answer}}
}

// TestConversationIsPassedOnThroughGenerations: A handoff passes on what was said in all generations, oldest first.
// It leaves out tool calls and what the daemon typed. It passes on only as many of the newest messages as the setting
// allows.
func TestConversationIsPassedOnThroughGenerations(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.MaxMessages = 7
		r.start()
		a := r.startAgent(con)
		const pasted = "several lines\n\n## of which\n> one is a heading"
		r.talk(a.ID, "one @say first answer", "@edit main.go", pasted)
		first := slices.Concat(
			exchange(a.Name, "one @say first answer", "first answer"),
			exchange(a.Name, "@edit main.go", "Edited main.go."),
			exchange(a.Name, pasted, r.answers(a.ID)[2]),
		)
		h, c, next := r.handOver(a.ID)
		wantHeard(t, "first generation", c.messages, first)
		if strings.Contains(c.text, h.Ref) || strings.Contains(c.text, instructed) || strings.Contains(c.text, "document is written") {
			t.Errorf("context file holds our own instruction or its answer:\n%s", c.text)
		}

		r.talk(next.ID, "two @say second answer")
		took := heard{a.Name, "assistant", r.answers(next.ID)[0]}
		second := append([]heard{took}, exchange(a.Name, "two @say second answer", "second answer")...)
		h, c, next = r.handOver(next.ID)
		wantHeard(t, "second generation", c.messages, slices.Concat(first[2:], second))
		if strings.Contains(c.text, "] understudy:") {
			t.Errorf("context file holds what we typed:\n%s", c.text)
		}
		if rec := r.recordOf(h.ID); len(rec.Messages) != 3 || rec.Messages[1].Text != "two @say second answer" || rec.Messages[1].Agent != a.Name {
			t.Errorf("record holds %+v, want the messages of its own session alone", rec.Messages)
		}

		r.talk(next.ID, "three @say third answer")
		took = heard{a.Name, "assistant", r.answers(next.ID)[0]}
		third := append([]heard{took}, exchange(a.Name, "three @say third answer", "third answer")...)
		_, c, _ = r.handOver(next.ID)
		wantHeard(t, "third generation", c.messages, slices.Concat(first[5:], second, third))
	})
}

// TestRoleMayAskForAllMessages: A role that asks for all messages gets them, whatever max_messages says.
func TestRoleMayAskForAllMessages(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.MaxMessages, r.cfg.Settings.Handoff.IncludeAllMessages = 1, true
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "one @say first answer", "two @say second answer")
		_, _, next := r.handOver(a.ID)
		r.talk(next.ID, "three @say third answer")
		_, c, _ := r.handOver(next.ID)
		wantHeard(t, "all", c.messages, slices.Concat(
			exchange(a.Name, "one @say first answer", "first answer"),
			exchange(a.Name, "two @say second answer", "second answer"),
			[]heard{{a.Name, "assistant", r.answers(next.ID)[0]}},
			exchange(a.Name, "three @say third answer", "third answer"),
		))
	})
}

// TestContextIsCutToItsLimit: The context file adds at most the configured number of bytes to the document. The
// newest messages stay. The operator and the successor are told what was left out.
func TestContextIsCutToItsLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit    int64
		messages bool
		told     []string
	}{
		{5000, true, nil},
		{1000, false, []string{
			"There was no room for the structured header; all of it is in the document.",
			"There was no room for the messages, 1 in all.",
			"The messages of the transcript were cut to the newest 1000 bytes.",
		}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.limit), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Handoff.MaxContextBytes = tt.limit
				r.start()
				a := r.startAgent(con)
				for _, word := range []string{"one", "two", "three"} {
					r.talk(a.ID, word+" @say "+word+strings.Repeat(" and so on", 70)) // shorter than text that counts as pasted
				}
				h, c, _ := r.handOver(a.ID)
				beside := len(c.text) - len(wrapperOpens) - len(c.document) - len(wrapperCloses)
				if beside > int(tt.limit) || tt.messages && beside < int(tt.limit)-1000 {
					t.Errorf("%d bytes beside the document, want at most %d, with as many messages as fit", beside, tt.limit)
				}
				if c.document != r.readFile(h.FilePath) {
					t.Errorf("the document was cut:\n%s", c.document)
				}
				all := []heard{}
				for _, word := range []string{"one", "two", "three"} {
					answer := word + strings.Repeat(" and so on", 70)
					all = append(all, exchange(a.Name, word+" @say "+answer, answer)...)
				}
				n := len(c.messages)
				if tt.messages != (n > 0 && n < len(all)) {
					t.Fatalf("%d messages", n)
				}
				wantHeard(t, "cut", c.messages, all[len(all)-n:])
				if n > 0 {
					tt.told = []string{fmt.Sprintf("There was room for the last %d of %d messages only.", n, len(all))}
				}
				for _, part := range tt.told {
					if !strings.Contains(c.text, part) || !slices.ContainsFunc(h.Warnings, func(w string) bool { return strings.Contains(w, part) }) {
						t.Errorf("want the warning %q, got %q and the file\n%s", part, h.Warnings, c.text)
					}
				}
			})
		})
	}
}

// TestDecisionsOfTheLineArePassedOn: The decisions of the whole line are stored and passed on, those of the outgoing
// agent first. At most fifty are passed on, unless the role asks for all.
func TestDecisionsOfTheLineArePassedOn(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all %v", all), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Handoff.IncludeAllMessages = all
				r.start()
				most := func(list []string) []string {
					if all {
						return list
					}
					return list[:50]
				}
				a := r.startAgent(con)
				var many []string
				for i := range 52 {
					many = append(many, fmt.Sprintf("@decide Early choice %d", i+1))
				}
				r.talk(a.ID, strings.Join(many, "\n"))
				h, c, next := r.handOver(a.ID)
				stored := r.recordOf(h.ID).Decisions
				if len(stored) != 54 || stored[53].Summary != "Early choice 52" || stored[0].Agent != a.Name || stored[0].Timestamp.IsZero() {
					t.Fatalf("stored %d decisions %+v, want the agent's 54", len(stored), stored)
				}
				wantDecisions(t, c, most(summaries(stored)))

				r.talk(next.ID, "@decide Use a table — lookup.go grows by one line for each")
				h, c, _ = r.handOver(next.ID)
				own := r.recordOf(h.ID).Decisions
				if len(own) != 3 {
					t.Fatalf("stored %+v, want the successor's three decisions alone", own)
				}
				if d := own[2]; d.Summary != "Use a table" || d.Rationale != "lookup.go grows by one line for each" || !slices.Equal(d.RelatedArtifacts, []string{"lookup.go"}) {
					t.Errorf("decision %+v", d)
				}
				// The scripted agent always makes the first two decisions: they are passed on once.
				wantDecisions(t, c, most(append(summaries(own), summaries(stored[2:])...)))
				if rec := r.recordOf(h.ID); rec.Agent != a.Name || rec.Persona != con {
					t.Errorf("decisions of %s, %s; want %s, %s", rec.Agent, rec.Persona, a.Name, con)
				}
			})
		})
	}
}

// wantDecisions fails unless the context file has these decisions, in this order.
func wantDecisions(t testing.TB, c contextFile, want []string) {
	t.Helper()
	ok := len(c.decisions) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.HasPrefix(c.decisions[i], want[i])
	}
	if !ok {
		t.Errorf("decisions\n got %q\nwant %q", c.decisions, want)
	}
}

// TestTouchedFilesAreNamed: The context file names the files that the work touched, and what happened to them. It
// never names files of the data directory, even if that lies in the same repository.
func TestTouchedFilesAreNamed(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.work = filepath.Dir(r.root) // The data directory lies in it, like ./.data in a checkout.
		tree := cmdtest.RepoAt(t, r.work)
		tree.Git("init", "-q")
		tree.Write(".gitignore", "/behave\n/home/\n/work/\n/data/*\n!/data/personas/\n")
		tree.Write("old.go", "one\n")
		tree.Write("gone.go", "one\n")
		tree.Write("still.go", "one\n")
		tree.Commit(time.Now().Add(-time.Hour))
		r.start()
		a := r.startAgent(con)
		experience := filepath.Join(r.dir.Persona(con), "experience.md")
		r.talk(a.ID, "@edit old.go @edit done.go @edit "+experience)
		tree.Write("sub/new.go", "x\n")
		tree.Git("add", "done.go")
		tree.Git("commit", "-qm", "done")
		tree.Git("add", "-f", experience)
		tree.Git("commit", "-qm", "what we learnt")
		committed := time.Now().Unix()
		tree.Git("rm", "-q", "gone.go")
		r.await("another second than that of the commits, which tell no more", func() (bool, string) {
			return time.Now().Unix() > committed, "the same"
		})
		h, c, next := r.handOver(a.ID)
		want := []string{"`done.go`: committed", "`gone.go`: deleted, +0 -1", "`old.go`: modified, +1 -0", "`sub/`: untracked"}
		if !slices.Equal(c.files, want) {
			t.Errorf("files touched\n got %q\nwant %q", c.files, want)
		}
		r.wantWarned(h, c)
		if rec := r.recordOf(h.ID); !rec.Progress || len(rec.References) != len(want) || rec.References[0] != (data.Reference{Path: "done.go", Note: "committed"}) {
			t.Errorf("record %v of %+v", rec.Progress, rec.References)
		}

		// The successor did nothing, and the work tree is unchanged: what its predecessor committed comes last.
		_, c, _ = r.handOver(next.ID)
		if got := paths(c.files); !slices.Equal(got, []string{"gone.go", "old.go", "sub/", "done.go"}) {
			t.Errorf("files touched %q, want what is not committed, then what the predecessor committed", got)
		}
	})
}

// TestTouchedFilesAreFoundThroughALink: git resolves the link in the path of the working directory, and the files are
// found all the same.
func TestTouchedFilesAreFoundThroughALink(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		tree := cmdtest.RepoAt(t, r.work)
		tree.Git("init", "-q")
		tree.Write("old.go", "one\n")
		tree.Commit(time.Now().Add(-time.Hour))
		link := filepath.Join(filepath.Dir(r.root), "link")
		if err := os.Symlink(r.work, link); err != nil {
			t.Fatal(err)
		}
		r.work = link
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "@edit old.go @edit new.go")
		h, c, _ := r.handOver(a.ID)
		if want := []string{"`new.go`: untracked", "`old.go`: modified, +1 -0"}; !slices.Equal(c.files, want) {
			t.Errorf("files touched\n got %q\nwant %q", c.files, want)
		}
		r.wantWarned(h, c)
	})
}

// TestMissingFilesInADocumentAreWarnedOf: A document that names missing files is passed on. The operator and the
// successor are told of them.
func TestMissingFilesInADocumentAreWarnedOf(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		t.Run(fmt.Sprintf("git %v", git), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				what := "names ghost.go, which is not in the working directory."
				if git {
					tree := cmdtest.RepoAt(t, r.work)
					tree.Git("init", "-q")
					tree.Write("old.go", "one\n")
					tree.Commit(time.Now().Add(-time.Hour))
					what = "names ghost.go, which is not in the working directory and not known to git."
				}
				r.start()
				a := r.startAgent(con)
				r.talk(a.ID, "@edit real.go")
				r.misbehave("claims")
				h, c, _ := r.handOver(a.ID)
				if !strings.Contains(*h.Structured.WhatWasDone, "real.go, ghost.go") && !strings.Contains(*h.Structured.WhatWasDone, "ghost.go, real.go") {
					t.Fatalf("document claims %s", *h.Structured.WhatWasDone)
				}
				r.wantWarned(h, c, what) // Without git there is no warning about git.
				if got := paths(c.files); !slices.Equal(got, []string{"real.go"}) {
					t.Errorf("files touched %q, want real.go", c.files)
				}
				r.sit(false, "handoff", "show", fmt.Sprint(h.ID)).awaitPrinted(`warning +.*ghost\.go`, 1)
			})
		})
	}
}

// TestBadTranscriptIsAWarning: Whatever state a transcript is in, it causes a warning at most. The handoff goes on.
func TestBadTranscriptIsAWarning(t *testing.T) {
	t.Parallel()
	replace := func(make func(path string) error) func(string) error {
		return func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return make(path)
		}
	}
	add := func(b []byte) func(string) error {
		return func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write(b)
			return err
		}
	}
	tests := map[string]struct {
		spoil   func(path string) error
		warning string
		heard   bool // The readable messages are passed on.
	}{
		"truncated": {add([]byte(`{"type":"user","message":{"role":"us`)), "1 line of the transcript could not be read", true},
		"long line": {add(append(bytes.Repeat([]byte("x"), 10<<20), '\n')), "1 line of the transcript is longer than 4 MB", true},
		"binary":    {add(bytes.Repeat([]byte{0, 0xff, 0x1b, '\n'}, 5)), "5 lines of the transcript could not be read", true},
		"gone":      {os.Remove, "no such file", false},
		"fifo":      {replace(func(path string) error { return syscall.Mkfifo(path, 0o600) }), "not a regular file", false},
		"folder":    {replace(func(path string) error { return os.Mkdir(path, 0o700) }), "not a regular file", false},
		"garbage":   {replace(func(path string) error { return os.WriteFile(path, []byte("\x00\x01garbage"), 0o600) }), "1 line of the transcript could not be read", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.start()
				a := r.startAgent(con)
				r.talk(a.ID, "one @say first answer")
				// The story spoils the transcript only after the turn with the document has ended, because the agent
				// itself appends to it until then.
				r.misbehave("no-document")
				h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
				if err := tt.spoil(*r.getAgent(a.ID).TranscriptPath); err != nil {
					t.Fatal(err)
				}
				r.writeDocument(h)
				r.retryHandoff(h.ID)
				h = r.awaitPhase(h.ID, daemon.Completed)
				c := r.contextOf(h)
				r.wantWarned(h, c, tt.warning, "The role developer requires Current Story, Architecture Decisions, Code Patterns")
				if h.Degraded || h.Structured == nil {
					t.Errorf("handoff %+v: degraded", h)
				}
				want := exchange(a.Name, "one @say first answer", "first answer")
				if !tt.heard {
					want = nil
				}
				wantHeard(t, name, c.messages, want)
			})
		})
	}
}
