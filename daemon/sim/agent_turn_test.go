package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// mood is how slow and how unreliable an agent is.
type mood struct {
	start, hands, think, exit        time.Duration // the longest time that it takes for these
	trust, ignoreTerm, ignoreExit    bool
	deaf                             bool // it always ignores /exit
	surprises                        float64
	swallow, asks, fails, background float64 // chances, for each turn or Enter
	noDocument, late, hangs, crashes float64
	compacts, limits, unread         float64
	gates, delegates, moves          float64
	held, refuses                    float64
}

func newMood(rng *rand.Rand, p *plan) mood {
	m := mood{
		start: between(rng, 100*time.Millisecond, 6*time.Second), hands: between(rng, time.Millisecond, 400*time.Millisecond),
		think: between(rng, 50*time.Millisecond, 8*time.Second), exit: between(rng, time.Millisecond, 4*time.Second),
	}
	if rng.IntN(4) == 0 { // this one reads its keyboard slowly
		m.hands *= 4
	}
	odds := func(n float64) float64 {
		if rng.Float64() < 0.4 {
			return n
		}
		return 0
	}
	swallow, asks, fails, background, hangs, crashes := odds(0.5), odds(0.2), odds(0.2), odds(0.3), odds(0.1), odds(0.2)
	trust, ignoreTerm, ignoreExit := rng.Float64() < 0.2, rng.Float64() < 0.2, rng.Float64() < 0.1
	noDocument, late := odds(0.3), odds(0.3)
	compacts := odds(0.2)
	if p.has("agents misbehave") {
		m.swallow, m.asks, m.fails, m.background, m.hangs, m.crashes = swallow, asks, fails, background, hangs, crashes
		m.trust, m.ignoreTerm, m.ignoreExit = trust, ignoreTerm, ignoreExit
	}
	if p.has("agents compact") {
		m.compacts = compacts
	}
	for _, of := range []struct {
		class  string
		chance *float64
		n      float64
	}{
		{"usage limits", &m.limits, 0.4}, {"briefings unread", &m.unread, 0.4}, {"dialogs over texts", &m.surprises, 0.5}, {"stops blocked", &m.gates, 0.6},
		{"sub-agents ask", &m.delegates, 0.5}, {"sessions move", &m.moves, 0.4}, {"prompts refused", &m.refuses, 0.4},
	} {
		if p.has(of.class) {
			*of.chance = odds(of.n)
		}
	}
	if p.has("starts held") {
		m.held = 0.8
	}
	if p.has("documents fail") {
		m.noDocument, m.late = noDocument, late
	}
	return m
}

// odd draws whether the agent misbehaves in one way.
func (a *agent) odd(what string, chance float64) bool {
	hit := a.rng.Float64() < chance && time.Now().Before(a.w.plan.until)
	if hit {
		a.w.plan.count(what)
	}
	return hit
}

// typed takes an input that the daemon types into the pane.
func (a *agent) typed(in tmuxtest.Input) {
	if a.answersDialog(in) {
		a.w.fail("%.60q was typed into the dialog %q of agent %d", cmp.Or(in.Text, in.Key.String()), a.dialog.Title, a.id)
	}
	if a.dead {
		a.w.fail("%.60q was typed into the shell that agent %d has left", cmp.Or(in.Text, in.Key.String()), a.id)
		return
	}
	if in.Text != "" {
		a.pastedAt = time.Now()
	}
	if had := time.Since(a.pastedAt); in.Key == tmux.Enter && had < a.cli.rt.Can.EnterAfter {
		a.w.fail("Enter was pressed %s after a paste in the pane of agent %d, which drops it", had, a.id)
	}
	a.inputs = append(a.inputs, in)
	if in.Text != "" {
		a.surprise()
	}
	nudge(a.keys)
}

// surprise opens, now and then, a dialog over a text that was just typed to an idle agent. Keys that the agent has not read by
// then are lost in the dialog, and an Enter among them answers it. The daemon does not know the dialogs of a generic runtime.
func (a *agent) surprise() {
	if a.cli == linesCLI || !a.ready && !a.held || a.busy() || a.leaving || a.dialog != nil || !a.odd("dialog over a text", a.mood.surprises) {
		return
	}
	go func() {
		a.do("opens a dialog over a text", 0, a.mood.hands)
		if a.dialog == nil && !a.busy() && !a.leaving {
			asksFeedback(a, "over a text", "")
		}
	}()
}

// answersDialog reports whether an input of a daemon would answer a dialog that is a person's to answer.
func (a *agent) answersDialog(in tmuxtest.Input) bool {
	d := a.dialog
	if d == nil || d.exit {
		return false
	}
	return in.Text != "" || in.Key == tmux.Enter && !(d.limit && d.Selected == stopTrying) && !chosenAtASeat(a, d)
}

// keyboard handles typed inputs until the agent ends.
func (a *agent) keyboard() {
	a.do("opens its keyboard", 0, time.Millisecond)
	for {
		if len(a.inputs) == 0 {
			select {
			case <-a.keys:
			case <-a.ended:
				return
			}
		}
		a.do("reads its keyboard", 0, a.mood.hands)
		a.press()
	}
}

// press handles all typed inputs.
func (a *agent) press() {
	for len(a.inputs) > 0 {
		in := a.inputs[0]
		a.inputs = a.inputs[1:]
		a.key(in)
	}
	a.draw()
}

func (a *agent) key(in tmuxtest.Input) {
	switch {
	case a.dialog != nil:
		keyInDialog(a, in.Key)
	case in.Text != "" && a.cli.rt.Can.LosesPastes && a.odd("paste lost", a.mood.swallow/2):
	case in.Text != "" && a.cli.plain:
		a.composer.Text, a.composer.Pasted = a.composer.Text+in.Text, true
	case in.Text != "":
		a.composer.Paste(in.Text)
	case in.Key == tmux.CtrlS:
		a.composer.PutAway()
	case in.Key == tmux.CtrlU:
		a.composer.KillLine()
	case in.Key == tmux.Escape && a.stop != nil:
		a.stop(errInterrupted)
	case in.Key == tmux.Enter && a.cli.rt.Can.EnterAfter > 0 && a.hooking > 0 && a.odd("Enter dropped", 0.5):
	case in.Key == tmux.Enter && a.composer.Pasted && a.odd("Enter swallowed", a.mood.swallow):
		a.composer.Pasted = false
	case in.Key == tmux.Enter && strings.TrimSpace(a.composer.Text) != "":
		a.submit(a.composer.Take())
	}
}

var errInterrupted = errors.New("interrupted by Esc")

// submit submits a text, as Enter does.
func (a *agent) submit(prompt string) {
	text := strings.TrimSpace(prompt)
	a.given = append(a.given, prompt)
	switch {
	case text == a.cli.rt.Can.ExitText && a.cli.quick && a.busy():
		a.given = a.given[:len(a.given)-1]
		a.composer.Text = prompt
	case text == a.cli.rt.Can.ExitText:
		beforeExit(a.w, a)
		go a.exit()
	case a.cli != claudeCLI:
		a.given = a.given[:len(a.given)-1]
		if a.cli == opencodeCLI && stored(a) == nil {
			return // it begins a session of its own, which nobody follows
		}
		a.accept(text) // its hook comes with its turn
	case a.busy():
		a.pending = append(a.pending, prompt)
		a.frame.Print(actor.BlockNote, "Queued: "+actor.Quote(prompt, 60))
		a.recordQueue("enqueue", prompt)
		j := job{prompt, queued, make(chan struct{})}
		a.enqueue(j)
		go func() { // the agent sends its hook at once, with the prompt id of the running turn
			a.do("queues a prompt", 0, 5*time.Millisecond)
			a.hook(hooks.UserPromptSubmit, a.hooks().UserPromptSubmit(prompt))
			close(j.hooked)
		}()
	default:
		a.pending = append(a.pending, prompt)
		a.enqueue(job{prompt: prompt})
	}
}

// accept takes a text that was submitted, and works on it when its turn comes.
func (a *agent) accept(prompt string) {
	a.given = append(a.given, prompt)
	a.pending = append(a.pending, prompt)
	if a.cli.submitted != nil {
		a.cli.submitted(a, prompt)
	}
	a.enqueue(job{prompt: prompt})
}

func (a *agent) busy() bool { return a.ready && (a.stop != nil || len(a.jobs) > 0) }

// exit carries out /exit. If something runs in the background, it asks first.
func (a *agent) exit() {
	a.do("exits", 0, a.mood.exit)
	if a.leaving || a.mood.deaf || a.odd("exit ignored", b2f(a.mood.ignoreExit)) {
		return
	}
	for a.dialog != nil && !a.leaving {
		a.do("waits for the dialog of another", time.Second, time.Second)
	}
	if a.tasks > 0 {
		choice := ask(a, "exit", "waiting", dialog{exit: true, Dialog: actor.Dialog{
			Title: "Background work is running", Question: "Exit anyway?", Choices: []string{"Exit and stop tasks", "Stay"}}})
		if choice != 0 || a.leaving {
			return
		}
	}
	a.leaving = true
	a.leave("prompt_input_exit", 0)
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// turn runs the turn of one prompt: UserPromptSubmit, the model, Stop. As long as the daemon blocks the Stop, the model
// goes on with the daemon's answer.
func (a *agent) turn(j job) {
	if j.hooked != nil {
		select {
		case <-j.hooked:
		case <-a.ended:
			runtime.Goexit()
		}
		a.do("takes a prompt off its queue", 0, 5*time.Millisecond)
		a.recordQueue("dequeue", "")
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	a.stop = stop
	defer func() { a.stop = nil }()
	a.promptID = uuid(a.rng)
	if j.from != notification {
		a.givenIn = a.promptID
	}
	refused := refusesPrompt(a, j)
	if !refused {
		tries(a)
	}
	a.register("busy")
	a.frame.Working = "Thinking"
	a.frame.Print(actor.BlockUser, j.prompt)
	a.draw()
	if !a.introduced {
		a.introduce()
	}
	if j.from != queued {
		if answer := a.hook(hooks.UserPromptSubmit, a.hooks().UserPromptSubmit(j.prompt)); answer.block {
			return
		}
	}
	if refused {
		dropPrompt(a, j.prompt)
		return
	}
	prompt, active := j.prompt, false
	a.take(prompt, j.from)
	a.moves()
	for blocks := 0; blocks < 9; blocks++ {
		answer, done := a.act(ctx, prompt)
		if !done {
			a.w.trace.note(a.owner.name, "turn ends: %v", context.Cause(ctx))
			a.over(turnInterrupted, "")
			a.hook(hooks.Interrupt, nil)
			return
		}
		if refuses(a, ctx) {
			a.w.trace.note(a.owner.name, "turn ends, which the API has refused: %v", context.Cause(ctx))
			a.over(turnInterrupted, "")
			a.hook(hooks.Interrupt, nil)
			return
		}
		if l := limit(a); l != nil && a.cli.box && keepTrying(a, l) {
			a.w.trace.note(a.owner.name, "its limit is over")
		} else if l != nil && a.cli.retry != nil {
			a.cli.retry(ctx, a, l)
			a.over(turnInterrupted, "")
			return
		} else if l != nil {
			a.fail(l.text)
			return
		}
		if a.failing || a.odd("API error", a.mood.fails) {
			a.fail("API Error: Request rejected (429)")
			return
		}
		answer = a.wayOn(answer)
		a.frame.Print(actor.BlockAnswer, answer)
		a.record("assistant", answer)
		a.answers = append(a.answers, answer)
		if a.mum {
			answer = ""
		}
		got := a.hook(hooks.Stop, a.hooks().Stop(active, answer, a.running()))
		if blocked := a.gate(); !got.block && !blocked {
			a.over(turnDone, "")
			return
		}
		prompt, active = a.cli.feedback(got.reason), true
		a.given = append(a.given, prompt)
		a.take(prompt, notification)
	}
}

// fail ends the turn with an error of the API.
func (a *agent) fail(text string) {
	a.over(turnFailed, text)
	a.hook(hooks.StopFailure, a.hooks().StopFailure("rate_limit", text))
}

// take gives a prompt to the model.
func (a *agent) take(prompt string, from origin) {
	if i := slices.Index(a.pending, prompt); i >= 0 {
		a.pending = slices.Delete(a.pending, i, i+1)
	}
	a.record("user", prompt)
	afterTake(a.w, a, prompt, from)
}

// act is the model's part of a turn. done is false if the turn was interrupted.
func (a *agent) act(ctx context.Context, prompt string) (answer string, done bool) {
	if task := actor.Understand(prompt); task.Kind == actor.WriteHandoff {
		a.writes = task.Document
		defer func() { a.writes = "" }()
	}
	if a.doIn(ctx, "thinks", 20*time.Millisecond, a.mood.think) {
		return "", false
	}
	if a.odd("agent hangs", a.mood.hangs) && a.doIn(ctx, "hangs", time.Minute, 10*time.Minute) {
		return "", false
	}
	often := 1.0
	if a.cli.rt.Can.HoldsPermission {
		often = 4 // both sides can answer
	}
	if a.odd("permission dialog", often*a.mood.asks) && !a.permission(ctx) {
		return "", false
	}
	if a.odd("compaction", a.mood.compacts) {
		a.compact()
	}
	if a.odd("background task", a.mood.background) {
		a.background()
	}
	if a.mood.delegates > 0 && a.odd("sub-agent", a.mood.delegates) {
		a.delegate()
	}
	if extra := a.extra; extra != nil {
		if a.extra = nil; !extra(ctx) {
			return "", false
		}
	}
	task := actor.Understand(prompt)
	switch task.Kind {
	case actor.WriteHandoff:
		return a.handOver(ctx, task)
	case actor.TakeOver:
		a.memory.Predecessor = task.Document
		if !a.readBriefing(ctx, task.Reads) {
			return "", false
		}
		return "I have taken over.", true
	}
	a.memory.Prompts = append(a.memory.Prompts, prompt)
	if a.says != nil {
		return a.says(), true
	}
	return "Noted: " + actor.Quote(prompt, 60), true
}

// handOver writes the handoff document.
func (a *agent) handOver(ctx context.Context, task actor.Assignment) (string, bool) {
	if a.odd("crash while the document is written", a.mood.crashes) {
		a.die("crashed", 1)
	}
	text := actor.Session{Name: a.name, ID: a.session, Cwd: a.dir, Memory: a.memory}.Document(task.Headings)
	write := func() {
		_ = os.MkdirAll(filepath.Dir(task.Document), 0o700) // if it fails, writing the file fails too
		if err := os.WriteFile(task.Document, []byte(text), 0o600); err != nil {
			a.w.fail("document: %v", err)
		}
		now := a.h.now()
		_ = os.Chtimes(task.Document, now, now)
		a.documentAt, a.unmentioned = now, nil
		a.w.trace.note(a.owner.name, "writes %s", filepath.Base(task.Document))
	}
	if a.odd("no document", a.mood.noDocument) {
		text = [...]string{"", " \n\n", "x"}[a.rng.IntN(3)]
		if text == "" {
			return "I have stopped working.", true
		}
	}
	if a.odd("late document", a.mood.late) {
		go func() {
			a.do("writes late", 100*time.Millisecond, 5*time.Second)
			write()
		}()
		return "I have stopped working.", true
	}
	if a.doIn(ctx, "writes the document", 10*time.Millisecond, a.mood.think) {
		return "", false
	}
	write()
	return "The handoff document is written.", true
}

// permission asks for permission to run a command. It returns false if the turn ended, by Escape or by a No.
func (a *agent) permission(ctx context.Context) bool {
	const command = "rm -r build"
	if a.cli.rt.Can.HoldsPermission {
		choice := a.askHeld(fmt.Sprint(command, "/", a.dialogs), false)
		a.hook(hooks.DialogClosed, nil)
		return choice != 1 && choice >= 0 && ctx.Err() == nil
	}
	for a.dialog != nil {
		a.do("waits for the dialog of another", time.Second, time.Second)
	}
	if ctx.Err() != nil {
		return false
	}
	a.hook(hooks.PermissionRequest, a.hooks().PermissionRequest("Bash", actor.Fields{"command": command, "description": "clean"}, false))
	if ctx.Err() != nil {
		return false
	}
	d := allowsBash(command, false)
	go a.remind(d)
	choice := askIn(a, "permission", "waiting", d)
	a.denied = choice != 0
	a.hook(hooks.DialogClosed, nil)
	return choice == 0 && ctx.Err() == nil
}

// remind reminds people of a dialog that stays open.
func (a *agent) remind(d *dialog) {
	a.do("reminds of its dialog", 6*time.Second, 6*time.Second)
	if a.dialog == d {
		a.hook(hooks.Notification, a.hooks().PermissionPrompt())
	}
}

// running returns the tasks in the background, as the payload of Stop lists them.
func (a *agent) running() (tasks []actor.Task) {
	for n := range a.subs {
		tasks = append(tasks, actor.Task{ID: fmt.Sprintf("a%08d", n), Type: "subagent", Status: "running", Description: "test"})
	}
	for n := range a.tasks - a.subs {
		tasks = append(tasks, actor.Task{ID: fmt.Sprintf("b%08d", n), Type: "shell", Status: "running", Description: "test", Command: "make test"})
	}
	return tasks
}

// background starts a task that goes on after the turn.
func (a *agent) background() {
	a.tasks++
	if a.odd("server in the background", 0.3) {
		return // it never ends
	}
	go func() {
		a.do("background task ends", time.Second, 30*time.Second)
		a.tasks--
		a.enqueue(job{prompt: "<task-notification>done</task-notification>", from: notification})
	}()
}

func (a *agent) transcript() string { return a.cli.transcript(a) }

// stampLayout is the layout of the times in a transcript.
const stampLayout = "2006-01-02T15:04:05.000Z"

// record appends a message to the transcript.
func (a *agent) record(role, text string) {
	for _, line := range a.cli.message(a, role, text) {
		a.append(line)
	}
}

// over appends what the transcript shows of a turn's end.
func (a *agent) over(how turnEnd, failure string) {
	a.cut, a.gated = how == turnInterrupted, false // it may be interrupted as it goes on behind a Stop that was blocked
	for _, line := range a.cli.end(a, how, failure) {
		a.append(line)
	}
}

// recordQueue appends an operation on the queue of prompts to the transcript.
func (a *agent) recordQueue(operation, prompt string) {
	entry := map[string]any{"type": "queue-operation", "operation": operation, "timestamp": a.stamp(), "sessionId": a.session}
	if prompt != "" {
		entry["content"] = prompt
	}
	a.append(entry)
}

// append adds a line to the transcript.
func (a *agent) append(entry map[string]any) {
	b := mustJSON(entry)
	path := a.transcript()
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		a.w.fail("transcript: %v", err)
		return
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		a.w.fail("transcript: %v", err)
	}
	now := a.h.now()
	_ = os.Chtimes(path, now, now)
}

// uuid draws a random id.
func uuid(rng *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rng.Uint32(), rng.IntN(1<<16), rng.IntN(1<<12), rng.IntN(1<<12), rng.Int64N(1<<48))
}

// person types a text and then keys into the agent's pane, as a person does.
func (a *agent) person(text string, keys ...tmux.Key) {
	if a.dead {
		return
	}
	if text != "" {
		a.inputs = append(a.inputs, tmuxtest.Input{Text: text})
	}
	for _, k := range keys {
		a.inputs = append(a.inputs, tmuxtest.Input{Key: k})
	}
	nudge(a.keys)
}
