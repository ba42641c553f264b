package handoffs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
)

// maxDecisions is how many decisions a context file passes on, unless IncludeAllMessages is set.
const maxDecisions = 50

// maxGenerations is how many earlier generations of a line an assembly reads.
const maxGenerations = 200

// assembled is the result of an assembly: the context for the successor, and the warnings and figures about it.
type assembled struct {
	Context         []byte
	Structured      *daemon.Structured
	Record          daemon.Record
	Warnings        []string
	Validated       bool
	missing         []string // what the successors' roles require and the handoff lacks
	fallback        string   // why this is only the basic context; "": this is the full context
	idleGenerations int      // how many generations in a row made no progress, this one included
	Rendered        data.Rendered
	cleared         []data.Message   // of the agent's earlier sessions, the oldest first
	Files           []data.Reference // those that the agents of the line touched, this one's first
	effort          string           // the thinking level of the session's newest answer; "": not known
	model, mode     string           // what a person has chosen in the session for its successors as well; "": nothing
	parts           []any            // how long each part took, for the log
}

// maxIdle is how many generations in a row may make no progress before the operator is told.
const maxIdle = 5

// goesInCircles reports whether the work may go round in circles: maxIdle generations in a row have filled their
// context without progress.
func (a *assembled) goesInCircles(h *daemon.Handoff) bool {
	return a.idleGenerations >= maxIdle && h.Reason == daemon.ReasonContext
}

// assembly is one attempt to assemble the context of a handoff, or of a step's output. It reads and decides, and writes
// nothing.
type assembly struct {
	d        *Flow
	H        daemon.Handoff
	agent    daemon.Agent
	Doc      data.Document
	settings daemon.HandoffSettings
	step     *daemon.Step // the step whose output is assembled; nil: the document is a handoff's
	out      assembled
	first    int // where the warnings about false claims go, among the others: only a foreign author comes before them
	lapBegan time.Time
}

// maxAssemblies is how many assemblies may run at once. Each may read hundreds of megabytes.
const maxAssemblies = 4

// assemble assembles the context within assembly_timeout, which begins when one of the maxAssemblies places is free. A
// read from a file system that hangs can't be ended. So, after the timeout, the assembly may go on in the background;
// nobody reads its result.
func (r *handoffRun) assemble(doc data.Document) (out assembled, err error) {
	return r.d.Assemble(r.ctx, &assembly{d: r.d, H: *r.h, agent: *r.agent, Doc: doc, settings: r.settings, lapBegan: time.Now()})
}

// Assemble is assemble, also for what a step leaves.
func (d *Flow) Assemble(from context.Context, s *assembly) (out assembled, err error) {
	select {
	case d.assemblies <- struct{}{}:
		defer func() { <-d.assemblies }()
	case <-from.Done():
		return assembled{}, context.Cause(from)
	}
	ctx, cancel := context.WithTimeoutCause(from, s.settings.AssemblyTimeout, fmt.Errorf("it took longer than %s", s.settings.AssemblyTimeout))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				d.Log.Error("assembly of the context panicked", "handoff_id", s.H.ID, "agent_id", s.agent.ID, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				done <- fmt.Errorf("internal error: %v", v)
			}
		}()
		done <- s.run(ctx)
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done: // a result that is ready counts, however late
		default:
			return assembled{}, context.Cause(ctx)
		}
	}
	if err != nil && ctx.Err() != nil && from.Err() == nil {
		err = context.Cause(ctx)
	}
	return s.out, err
}

// underHeadings is the extractor that takes the text under the headings that the instruction asks for.
func underHeadings(_ context.Context, document string) (fields daemon.Structured, ok bool, err error) {
	fields, ok = data.Extract(document)
	return fields, ok, nil
}

// Extract makes the part of the result that comes from the document alone: its fields, if ok, and its decisions.
// Later generations get these decisions as well.
func Extract(h *daemon.Handoff, a *daemon.Agent, doc data.Document, now time.Time, fields daemon.Structured, ok bool) assembled {
	out := assembled{Record: daemon.Record{
		HandoffID: h.ID, AgentID: a.ID, Agent: a.Name, Persona: h.Persona, Document: string(doc.Bytes), At: now,
	}}
	if ok {
		out.Structured = &fields
		if fields.DecisionsMade != nil {
			out.Record.Decisions = data.ParseDecisions(*fields.DecisionsMade, a.Name, now)
		}
	}
	return out
}

// extractFields begins the result with the fields of the document. If the extractor fails, it takes the text under the
// headings.
func (s *assembly) extractFields(ctx context.Context) {
	fields, ok, err := s.d.Extract(ctx, string(s.Doc.Bytes))
	if err != nil {
		fields, ok = data.Extract(string(s.Doc.Bytes))
	}
	s.out = Extract(&s.H, &s.agent, s.Doc, s.d.Now(), fields, ok)
	if err != nil {
		s.warn("The fields are the text under the headings, because the extractor failed: %s.", words.TrimDot(err.Error()))
	}
}

func (s *assembly) run(ctx context.Context) error {
	s.extractFields(ctx)
	if by := writerWarning(&s.H, &s.agent, s.Doc.Bytes); by != "" {
		s.warn("%s", by)
	}
	if s.step == nil {
		s.out.Warnings = append(s.out.Warnings, s.d.Accounts.HandoffWarnings(s.d.Sight, &s.agent, s.H.Heirs)...)
		s.out.Warnings = append(s.out.Warnings, sight.BackgroundWarnings(&s.agent, s.H.Keep)...)
	}
	s.first = len(s.out.Warnings)
	s.out.Warnings = append(s.out.Warnings, secretsWarning(&s.settings, s.Doc.Bytes)...)
	switch {
	case s.out.Structured != nil, s.step != nil && len(s.Doc.Bytes) == 0:
	case s.step != nil:
		s.warn("Step %d (%s)%s", s.step.OrderIndex+1, s.step.AgentName, NoHeadings)
	default:
		s.warn("The document has none of the headings that were asked for: it is passed on as it is.")
	}
	s.noteLap("extract_ms")
	edited := s.readConversation(ctx)
	s.noteLap("transcript_ms")
	line, err := s.d.Store.LineRecords(ctx, s.lineQuery())
	if err != nil {
		return fmt.Errorf("predecessors: %w", err)
	}
	s.noteLap("line_ms")
	s.readWorktree(ctx, edited)
	s.noteLap("worktree_ms")
	steps, err := s.d.stepRecords(ctx, &s.agent, s.step != nil)
	if err != nil {
		return err
	}
	if err := s.validate(ctx, slices.Concat(line, steps)); err != nil {
		return fmt.Errorf("requirements: %w", err)
	}
	s.countProgress(line)
	if s.step != nil { // the next step knows only what it gets from here
		line = slices.Concat(line, steps)
	}
	dirs, err := dirsOf(ctx, s.d.Store, line)
	if err != nil {
		return fmt.Errorf("directories of predecessors: %w", err)
	}
	var left int
	if s.out.Files, left = withEarlier(s.out.Record.References, s.agent.Cwd, line, dirs); left > 0 {
		s.warn("%d files were touched along the line, more than are named: those that were touched first, %d of them, are left out.", left+len(s.out.Files), left)
	}
	s.render(line)
	s.noteLap("render_ms")
	return context.Cause(ctx)
}

// lineQuery asks for the records of the line, with as many messages as MaxMessages allows beside this agent's own messages.
func (s *assembly) lineQuery() daemon.LineQuery {
	q := daemon.LineQuery{AgentID: s.agent.ID, Limit: maxGenerations, MessageBytes: s.settings.MaxContextBytes}
	q.Messages = max(0, s.settings.MaxMessages-len(s.out.Record.Messages)-len(s.out.cleared))
	if s.settings.IncludeAllMessages {
		q.Messages = math.MaxInt32
	}
	return q
}

// noteLap notes, for the log, how long the part since the last call took.
func (s *assembly) noteLap(part string) {
	now := time.Now()
	s.out.parts = append(s.out.parts, part, float64(now.Sub(s.lapBegan).Microseconds())/1000)
	s.lapBegan = now
}

func (s *assembly) warn(format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, fmt.Sprintf(format, args...))
}

// readConversation reads the messages of the outgoing agent's session. It returns the files that were edited in the
// session.
func (s *assembly) readConversation(ctx context.Context) (edited []string) {
	if s.agent.TranscriptPath == nil {
		s.warn("No transcript of agent %d is known: no messages are passed on.", s.agent.ID)
		return nil
	}
	want := transcript.Want{
		Messages: s.settings.MaxMessages, All: s.settings.IncludeAllMessages, MaxBytes: s.settings.MaxContextBytes, Edited: true, Todos: true, Choices: true, Until: s.H.Ref,
	}
	got, err := transcript.Read(ctx, s.d.RuntimeOf(&s.agent), *s.agent.TranscriptPath, want)
	if err != nil && ctx.Err() == nil {
		s.warn("The transcript of agent %d could not be read, no messages are passed on: %s.", s.agent.ID, words.TrimDot(err.Error()))
		return s.readEarlier(ctx, want)
	}
	s.out.Warnings = append(s.out.Warnings, got.Warnings...)
	s.out.Record.Messages, s.out.Record.Todos, s.out.effort = s.said(got.Messages), got.Todos, got.Effort
	s.readChoices(got.Choices)
	want.Messages -= len(got.Messages)
	return slices.Concat(got.Edited, s.readEarlier(ctx, want))
}

// said names the agent in its messages.
func (s *assembly) said(messages []data.Message) []data.Message {
	for i := range messages {
		messages[i].Agent = s.agent.Name
	}
	return messages
}

// readEarlier reads the messages of the sessions that the agent had before, as many as want says, and warns of them. It returns
// the files that were edited in these sessions. The newest maxEarlier sessions are read.
func (s *assembly) readEarlier(ctx context.Context, want transcript.Want) (edited []string) {
	const maxEarlier = 20
	want.Todos, want.Choices, want.Until = false, false, ""
	earlier, err := earlierSessions(ctx, s.d.Store, &s.agent)
	if err != nil && ctx.Err() == nil {
		s.warn("Whether agent %d had earlier sessions could not be read: %s.", s.agent.ID, words.TrimDot(err.Error()))
	}
	for _, e := range earlier[:min(len(earlier), maxEarlier)] {
		got, err := transcript.Read(ctx, s.d.RuntimeOf(&s.agent), e.path, want)
		switch {
		case err != nil && ctx.Err() == nil:
			s.warn("An earlier session of agent %d could not be read: %s.", s.agent.ID, words.TrimDot(err.Error()))
		case got.Count > 0:
			s.warn("Agent %d began a new session: an earlier one ended at %s, and the context has %d of its messages under “%s”. All of it is in %s.",
				s.agent.ID, e.ended.UTC().Format("Jan 2 15:04 UTC"), len(got.Messages), data.EarlierSessions, e.path)
		}
		edited = append(edited, got.Edited...)
		s.out.cleared = slices.Concat(s.said(got.Messages), s.out.cleared)
		want.Messages -= len(got.Messages)
	}
	if n := len(earlier) - maxEarlier; n > 0 {
		s.warn("Agent %d had %d more earlier sessions, which were not read.", s.agent.ID, n)
	}
	return edited
}

// readWorktree finds the files that the agent touched, and compares the document's claims about files with the real files.
func (s *assembly) readWorktree(ctx context.Context, edited []string) {
	var claims []data.Claim
	if s.out.Structured != nil {
		claims = data.Claims(*s.out.Structured)
	}
	q := worktree.Query{Dir: s.agent.Cwd, Since: s.agent.CreatedAt}
	for _, c := range claims {
		q.Names = append(q.Names, c.Path)
	}
	// git may take long in a large repository, and its answer is the least important part.
	gitCtx, cancel := context.WithTimeout(ctx, s.settings.AssemblyTimeout/2)
	tree, err := s.d.Worktree(gitCtx, q)
	cancel()
	switch {
	case err == nil, errors.Is(err, worktree.ErrNone), ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		s.warn("git took longer than %s in %s: the list of touched files may be incomplete.", s.settings.AssemblyTimeout/2, s.agent.Cwd)
	default:
		s.warn("git could not read %s: %s.", s.agent.Cwd, words.TrimDot(err.Error()))
	}
	w := worktree.NewDir(s.agent.Cwd, s.d.Data.Root(), tree, err == nil, edited, s.agent.CreatedAt)
	refs, cut := w.References()
	if cut > 0 {
		s.warn("%d files were touched, more than are named: %d are left out.", cut+len(refs), cut)
	}
	s.out.Record.References = refs
	s.out.Record.Progress = w.Progress() || len(s.out.Record.Decisions) > 0
	s.out.Warnings = slices.Insert(s.out.Warnings, s.first, w.Check(claims)...)
}

// countProgress counts the generations in a row without progress.
func (s *assembly) countProgress(line []daemon.Record) {
	if s.out.Record.Progress {
		return
	}
	s.out.idleGenerations = 1
	for _, rec := range line {
		if rec.Progress {
			break
		}
		s.out.idleGenerations++
	}
	if s.out.goesInCircles(&s.H) {
		s.warn("%d generations in a row have filled their context without touching a file, committing or deciding anything: see whether the work goes round in circles.", s.out.idleGenerations)
	}
}

// render makes the text of the context file, from this handoff and the records of the line.
func (s *assembly) render(line []daemon.Record) {
	decisions := lineDecisions(s.out.Record.Decisions, line)
	if n := len(decisions); !s.settings.IncludeAllMessages && n > maxDecisions {
		decisions = decisions[:maxDecisions]
		s.warn("%d decisions were made along the line, more than are passed on: the oldest %d are left out.", n, n-maxDecisions)
	}
	c := data.Context{
		Source: s.H.SourceAgent, Structured: s.out.Structured, Document: s.Doc.Bytes, Warnings: s.out.Warnings,
		Decisions: decisions, Todos: s.out.Record.Todos, References: s.out.Files, Messages: s.conversation(line), Earlier: s.out.cleared, MaxBytes: s.settings.MaxContextBytes,
	}
	s.out.Rendered = c.Render()
	s.out.Context = s.settings.Secrets.Mask(s.out.Rendered.Bytes)
	s.out.Record.Context = string(s.out.Context)
	s.out.Warnings = append(s.out.Warnings, s.out.Rendered.Cut...)
}

// lineDecisions returns the decisions of an agent and of the line before it, the newest first. An agent repeats
// decisions that it took over, so each is returned once.
func lineDecisions(own []data.Decision, line []daemon.Record) []data.Decision {
	all := slices.Clone(own)
	for _, rec := range line {
		all = append(all, rec.Decisions...)
	}
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(all, func(d data.Decision) bool {
		key := [2]string{d.Summary, d.Rationale}
		again := seen[key]
		seen[key] = true
		return again
	})
}

// conversation returns the newest messages of the line, the oldest first.
func (s *assembly) conversation(line []daemon.Record) []data.Message {
	parts := [][]data.Message{s.out.Record.Messages}
	n, most := len(s.out.Record.Messages), max(0, s.settings.MaxMessages-len(s.out.cleared))
	for _, rec := range line {
		if n >= most && !s.settings.IncludeAllMessages {
			break
		}
		parts = append(parts, rec.Messages)
		n += len(rec.Messages)
	}
	slices.Reverse(parts)
	all := slices.Concat(parts...)
	if !s.settings.IncludeAllMessages {
		all = all[max(0, len(all)-most):]
	}
	return all
}

// furtherHeadings returns the headings that the document of a handoff should have in addition to the four standard ones,
// because the roles of its successors require them.
func (d *Flow) furtherHeadings(h *daemon.Handoff) []string {
	return d.HeadingsFor(rolesOf(h.Targets()))
}
