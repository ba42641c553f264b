package handoffs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// fork is a one-shot of an agent's session. It is running, or it has ended and the daemon has still to read its answer. It
// belongs to one attempt, which the handoff and its ForkedAt identify.
type fork struct {
	handoff  int64
	forkedAt time.Time
	cancel   context.CancelFunc
	done     chan struct{} // closed when texts and err are set
	texts    []string      // the messages of the answer
	err      error
}

// generate has a fork of the session write the document. A fork sees the session as it is when the fork begins, so generate
// begins the fork when the agent is idle. If the agent is given work meanwhile, generate forks the session anew, because the
// document would lack that work.
func (r *handoffRun) generate() outcome {
	h, a := r.h, r.agent
	switch {
	case h.Mode == daemon.ModeTranscript && h.ForkedAt == nil:
		return r.beginFork() // the transcript shows what there is, and without one the daemon writes the document
	case a.SessionID == nil || a.RegisteredAt == nil && !a.Active():
		return r.notGenerated(daemon.CodeNoSession, "the agent never had a session")
	case h.ForkedAt == nil && (a.AtRest() || !a.Active()) && r.d.conversationIsEmpty(a): // otherwise beginFork waits for the end of the first turn
		return r.notGenerated(daemon.CodeNoSession, "the session has no conversation yet that could be forked")
	case h.ForkedAt == nil:
		return r.beginFork()
	case a.LastPrompt > h.StopHook:
		r.d.EndFork(a.ID)
		if err := os.Remove(h.FilePath); err != nil && !errors.Is(err, os.ErrNotExist) {
			return outcome{err: err}
		}
		return r.forkAnew()
	case sight.FileHasContent(h.FilePath):
		// An earlier daemon wrote the document. The document is complete, because a rename put it there.
		return moveTo(daemon.Verifying, "the generated document is there", daemon.Change{})
	case r.d.forkLost(h, a):
		return r.forkAnew() // the fork of an earlier daemon ended with that daemon
	}
	// The limit of the phase is checked below, with its own message. So the fork gets a minute more.
	f, err := r.d.forkOf(r.ctx, h, a, r.settings.DocumentTimeout+time.Minute)
	if err != nil {
		return r.notGenerated(daemon.CodeGenerationFailed, "%s", words.TrimDot(err.Error()))
	}
	select {
	case <-f.done:
		return r.takeGenerated(f)
	default:
	}
	if left := r.d.TimeLeft(*h.ForkedAt, r.settings.DocumentTimeout); left > 0 {
		return stayFor(left, daemon.HoldGenerating.Hold())
	}
	r.d.EndFork(a.ID)
	return r.notGenerated(daemon.CodeDocumentTimeout, "the document was not generated in time (document_timeout %s)", r.settings.DocumentTimeout)
}

// forkAnew clears ForkedAt, so that the next look forks the session again. The time of the phase begins anew.
func (r *handoffRun) forkAnew() outcome {
	r.h.Metrics.Phases[daemon.Generating] += daemon.Elapsed(r.h.PhaseAt, r.now).Milliseconds()
	r.h.ForkedAt, r.h.PhaseAt = nil, r.now
	return outcome{wrote: true}
}

// beginFork commits the intention to fork the session, as soon as the agent is idle.
func (r *handoffRun) beginFork() outcome {
	a := r.agent
	if a.Active() && (!a.AtRest() || daemon.AwaitedTasks(a, r.settings.Background) > 0 || a.RegisteredAt == nil) {
		hold := r.busy()
		switch {
		case a.AtRest() && daemon.AwaitedTasks(a, r.settings.Background) > 0:
			hold = daemon.HoldTasks.Hold()
		case a.State == daemon.Working || hold.None():
			hold = daemon.HoldTurn.Hold() // busy would promise an instruction, which this mode does not give
		}
		if left := r.d.TimeLeft(r.h.PhaseAt, r.settings.BusyTimeout); left > 0 {
			return stayFor(left, hold)
		}
		return r.notGenerated(daemon.CodeBusyTimeout, "the agent was not idle within %s: %s%s", r.settings.BusyTimeout, hold.Words(), r.paneShows())
	}
	if a.Active() && !r.d.Sighted(a.ID).Settled() {
		return stayFor(sight.ForkSettle, r.h.Hold.Value()) // wait: if the agent is busy after all, its state will say so
	}
	if !takeForkPlace(&r.d.Forks, a.ID) {
		return stayFor(time.Second, daemon.HoldForks.Hold())
	}
	r.h.ForkedAt = &r.now
	r.h.IgnoreHooksUpTo(a.LastHook)
	r.d.Forks.Change(a.ID, func(m *ForkMemory) { m.committedAt = r.now })
	return outcome{hold: daemon.HoldGenerating.Hold(), wrote: true}
}

// maxForks is how many documents may be generated at once. Each is a process of a runtime with a session in memory.
const maxForks = 4

// takeGenerated writes the document from the answer of a fork that has ended.
func (r *handoffRun) takeGenerated(f *fork) outcome {
	text := theDocument(f.texts)
	switch {
	case f.err != nil && r.ctx.Err() != nil:
		return outcome{err: f.err} // the daemon ends; the next one forks the session again
	case f.err != nil:
		return r.notGenerated(daemon.CodeGenerationFailed, "%s", words.TrimDot(words.FirstLine(f.err.Error(), 500)))
	case strings.TrimSpace(text) == "":
		return r.notGenerated(daemon.CodeGenerationEmpty, "generation produced no content")
	case r.h.Mode == daemon.ModeTranscript: // rather than fail, the daemon writes the document itself
		var bad *data.DocumentError
		if errors.As(r.checkSubstance(data.Document{Path: r.h.FilePath, Bytes: []byte(text)}), &bad) {
			return r.notGenerated(daemon.Code(bad.Code), "%s", bad.Message)
		}
	}
	if err := data.WriteSole(r.h.FilePath, []byte(strings.TrimRight(text, "\n")+"\n"), 0o600); err != nil {
		return r.notGenerated(daemon.CodeGenerationFailed, "the document could not be written: %v", err)
	}
	return moveTo(daemon.Verifying, generatedBy(r), daemon.Change{})
}

// theDocument returns the message that is the document: the last message that has any of the fields. If none has, it returns
// the last message. The fields count first, because a model that tried to use a tool after all may end with "Done.".
func theDocument(texts []string) string {
	for i := len(texts) - 1; i >= 0; i-- {
		if _, ok := data.Extract(texts[i]); ok {
			return texts[i]
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// notGenerated makes the outcome of a failure. Its message begins with the words that the contract demands. Hint says what
// to do next.
func (r *handoffRun) notGenerated(code daemon.Code, format string, args ...any) outcome {
	if canWriteItself(r, code) {
		return writeItself(r, fmt.Sprintf(format, args...))
	}
	hint := fmt.Sprintf("the agent goes on as it was: `understudy handoff retry %d` forks its session again; with `--mode agent` the agent itself is asked", r.h.ID)
	if code == data.DocumentSaysNothing || code == data.DocumentSecret {
		hint += ", and with `--force` this document is taken as it is"
	}
	return outcome{fail: &daemon.Failure{Phase: r.h.Phase, Code: code, Message: "Handoff failed: " + fmt.Sprintf(format, args...), Hint: hint}}
}

// readDocument reads the document and checks it.
func (r *handoffRun) readDocument() (data.Document, error) {
	doc, err := data.ReadDocument(r.d.Data.Handoffs(r.h.Persona), r.h.FilePath, r.settings.MaxDocumentBytes)
	if err == nil {
		err = r.checkSubstance(doc)
	}
	if err == nil {
		err = r.checkSecrets(doc)
	}
	if err == nil && !r.h.Retrying { // a retry asks for another one
		err = r.checkAge(doc)
	}
	return doc, err
}

// checkAge refuses a document that was written before the agent was asked for it, if the agent was given work in between: it answers an
// earlier instruction, which had failed meanwhile. Without such work the agent may well say that the document is there.
func (r *handoffRun) checkAge(doc data.Document) error {
	if r.h.DeliveryID == nil {
		return nil // nobody asked the agent
	}
	dl, err := r.d.Store.Delivery(r.ctx, *r.h.DeliveryID)
	if err != nil {
		return fmt.Errorf("delivery %d: %w", *r.h.DeliveryID, err)
	}
	if dl.TypedAt == nil || doc.ModTime.After(*dl.TypedAt) || r.d.ShownAfter(*dl.TypedAt)(doc.ModTime) || !documentOutdated(r, doc) {
		return nil
	}
	return &data.DocumentError{Code: data.DocumentMissing, Message: fmt.Sprintf(
		"handoff document %q answers an earlier instruction; the agent was given work since then, and has not written it anew", r.h.FilePath)}
}

// checkSubstance refuses a generated document that says nothing. It does not measure a document that the agent itself wrote,
// which knew what it left out, nor one that the daemon put together, because then nobody else could write one.
func (r *handoffRun) checkSubstance(doc data.Document) error {
	if by := writerOf(r.h, doc.Bytes); r.h.Forced || by == daemon.WrittenByAgent || by == daemon.WrittenByDaemon {
		return nil
	}
	return data.CheckSubstance(doc, r.settings.MinWords)
}

// forkOf returns the fork of this attempt. If this daemon has not started the fork yet, forkOf starts it.
func (d *Flow) forkOf(ctx context.Context, h *daemon.Handoff, a *daemon.Agent, limit time.Duration) (*fork, error) {
	f := d.Forks.Of(a.ID).oneShot
	if f != nil && f.handoff == h.ID && f.forkedAt.Equal(*h.ForkedAt) {
		return f, nil
	}
	d.EndFork(a.ID)
	ask, err := d.writerFor(ctx, h, a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	f = &fork{handoff: h.ID, forkedAt: *h.ForkedAt, cancel: cancel, done: make(chan struct{})}
	id := a.ID
	d.Forks.Change(id, func(m *ForkMemory) { m.oneShot, m.hasPlace = f, true })
	d.Lanes.Spawn(func() {
		defer cancel()
		f.texts, f.err = ask(ctx)
		d.Forks.Change(id, func(m *ForkMemory) { m.hasPlace = m.hasPlace && m.oneShot != f })
		close(f.done)
		d.Wake(id)
	})
	return f, nil
}

// forkLost reports whether an earlier run of the daemon committed the handoff's fork. Such a fork ended with that run.
func (d *Flow) forkLost(h *daemon.Handoff, a *daemon.Agent) bool {
	m := d.Forks.Of(a.ID)
	return (m.oneShot == nil || m.oneShot.handoff != h.ID) && !h.ForkedAt.Equal(m.committedAt)
}

// ForkedAgents returns the ids of the agents whose sessions are being forked. The sweep wakes these agents. If another host
// cancels a handoff and the wake of that commit is lost, only a look at the agent ends its fork.
func (d *Flow) ForkedAgents() []int64 {
	return d.Forks.IDs(func(m ForkMemory) bool { return m.hasPlace })
}

// EndFork ends an agent's fork at once, if there is one.
func (d *Flow) EndFork(agentID int64) {
	var f *fork
	d.Forks.Change(agentID, func(m *ForkMemory) { f, *m = m.oneShot, ForkMemory{} })
	if f != nil {
		f.cancel()
	}
}

// questionFor returns the function that has a fork of an agent's session write the document: by a one-shot of the runtime, or
// by the server that it runs for the agent.
func (d *Flow) questionFor(rt *runtimes.Runtime, h *daemon.Handoff, a *daemon.Agent) (func(context.Context) ([]string, error), error) {
	prompt, err := d.forkPrompt(h)
	switch {
	case err != nil:
		return nil, err
	case !rt.Can.Copies():
	case rt.Can.Registers == runtimes.RegistersByServer:
		c, err := d.Server(a)
		return func(ctx context.Context) ([]string, error) { return c.Ask(ctx, prompt) }, err
	case rt.Fork != nil:
		job, err := d.forkJob(rt, prompt, a)
		return func(ctx context.Context) ([]string, error) { return d.runFork(ctx, rt, job) }, err
	}
	return nil, fmt.Errorf("%s cannot copy a session", rt.Title)
}

// forkPrompt is what the fork of a session is asked.
func (d *Flow) forkPrompt(h *daemon.Handoff) (string, error) {
	var b strings.Builder
	in := agents.Instruction{Ref: h.Ref, Focus: d.focusOf(h), Headings: d.furtherHeadings(h)}
	if err := agents.Prompts().ExecuteTemplate(&b, "generate.md", in); err != nil {
		return "", fmt.Errorf("prompt generate: %w", err)
	}
	return b.String(), nil
}

// runFork runs the one-shot and reads its answer.
func (d *Flow) runFork(ctx context.Context, rt *runtimes.Runtime, job engine.OneShot) ([]string, error) {
	res, err := d.OneShot(ctx, job)
	if err != nil {
		return nil, err
	}
	texts, err := rt.ForkAnswer(res.Stdout)
	if err != nil && res.Exit != 0 && len(res.Stdout) == 0 {
		return nil, fmt.Errorf("the runtime ended with status %d: %s", res.Exit, cmp.Or(sight.LastLine(res.Stderr), "it said nothing"))
	}
	return texts, err
}

// forkJob makes the one-shot that forks an agent's session. The one-shot runs with the agent's environment, and in the
// agent's directory, because the runtime looks for sessions there.
func (d *Flow) forkJob(rt *runtimes.Runtime, prompt string, a *daemon.Agent) (engine.OneShot, error) {
	spec := runtimes.ForkSpec{
		Command: d.Settings().Runtimes[a.Runtime], SessionID: *a.SessionID, Binary: d.Binary, Dir: d.Data.Launch(a.ID), Prompt: prompt,
	}
	if a.TranscriptPath != nil {
		spec.Transcript = *a.TranscriptPath
		// Without the level, which may not be known, the copy answers with the CLI's own.
		if level, err := transcript.Effort(rt, spec.Transcript); err == nil && slices.Contains(rt.Can.Efforts, level) {
			spec.Effort = level
		}
	}
	if skill := runtimes.SkillFile(spec.Dir); sight.FileHasContent(skill) {
		spec.Skill = skill
	}
	cmd, err := rt.Fork(spec)
	if err != nil {
		return engine.OneShot{}, err
	}
	if err := errors.Join(agents.ClearOneShot(d.Launcher, a), sight.WriteFiles(cmd.Files)); err != nil {
		return engine.OneShot{}, err
	}
	env := sight.With(append(d.EnvironOf(a), "UNDERSTUDY_ONESHOT=1"), cmd.Env)
	return agents.OneShotInside(d.Launcher, rt, a, engine.OneShot{Argv: cmd.Argv, Dir: a.Cwd, Env: env, Stdin: cmd.Stdin})
}

// ForkMemory is what a run of the daemon remembers about the fork of an agent's session. The fork may outlive the agent, but
// not the Run. The next Run forks the session anew.
type ForkMemory struct {
	hasPlace    bool      // the fork runs or is about to, and has one of the [maxForks] places
	oneShot     *fork     // the fork, which runs or waits to be read; nil: none was started
	committedAt time.Time // the last Handoff.ForkedAt that was committed since Run began
}

// takeForkPlace gives an agent's fork one of the [maxForks] places. It returns false if forks of other agents have them all.
func takeForkPlace(forks *engine.Memory[ForkMemory], agentID int64) (has bool) {
	forks.ChangeAmong(agentID, func(m *ForkMemory, all map[int64]ForkMemory) {
		taken := 0
		for _, other := range all {
			if other.hasPlace {
				taken++
			}
		}
		m.hasPlace = m.hasPlace || taken < maxForks
		has = m.hasPlace
	})
	return has
}

// RememberedForks returns the agents whose forks are remembered, also those that have ended by themselves.
func RememberedForks(d *Flow) []int64 {
	return d.Forks.IDs(func(ForkMemory) bool { return true })
}
