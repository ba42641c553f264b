package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// agent is an agent in memory: the mind of the scripted agent without its process. It has a random generator of its
// own, so that its acts depend on which agent it is, and not on how it was scheduled. Only the goroutine that the
// schedule has let go touches its fields.
type agent struct {
	owner
	w      *world
	h      *host
	rng    *rand.Rand
	mood   mood
	cli    *cli
	proc   tmux.Process
	ref    tmux.Ref
	file   string // its launch file
	dir    string // where its session works; it was launched in begun
	begun  string
	worked string // where it works, or has worked before its end

	id         int64 // id of its row; 0 until it is known
	env        map[string]string
	session    string
	name       string
	model      string
	mode       string // permission mode, as hooks name it
	resumed    bool
	own        bool          // a person started it
	skilled    bool          // its launch had a skill
	skill      string        // what Claude Code was told by its launch beside the prompt
	ready      bool          // the daemon has answered its SessionStart, or the CLI tells of its session later
	introduced bool          // its SessionStart was sent
	held       bool          // other hooks of its SessionStart run, and hold what is typed
	mute       bool          // its screen does not show that they hold a prompt
	inbox      string        // folder of texts for it; "": it has none
	told       int           // how many events it has told
	source     string        // how its session began
	changed    chan struct{} // closed when something changes that its server tells
	refused    bool          // the API refuses its requests, and it sends them again
	retries    *limitHit     // its server waits with the turn until that is over
	status     string        // its status in the registry
	frame      actor.Frame
	composer   actor.Composer
	memory     actor.Memory

	keys     chan struct{} // signals that something was typed
	inputs   []tmuxtest.Input
	work     chan struct{} // signals that there is another job
	jobs     []job
	stop     context.CancelCauseFunc // interrupts the running turn; nil if none runs
	promptID string
	givenIn  string // the id of the last turn that did not begin by itself
	dialog   *dialog
	behind   []*dialog                                // the dialogs that wait behind it
	stood    []span                                   // when dialogs stood in the pane, up to the newest end of one
	asked    map[string]*dialog                       // the dialogs about permissions, by what they ask
	denied   bool                                     // a person has denied what its last dialog asked
	hooking  int                                      // how many of its hooks run
	pastedAt time.Time                                // when a daemon pasted a text
	queuedAs map[int64]string                         // what stood in the way when a delivery was queued
	cut      bool                                     // its last turn was interrupted
	ticks    int                                      // of what shows that it works
	printed  []string                                 // what it has printed
	tasks    int                                      // in the background
	subs     int                                      // of them, sub-agents
	gated    bool                                     // a hook that is not ours has blocked its Stop, and it goes on
	gating   time.Duration                            // how long a hook that is not ours runs before it blocks each Stop; 0: by chance
	dialogs  int                                      // how many dialogs it has opened
	shown    map[string]string                        // the texts of its dialogs that operators were shown elsewhere, by id
	seats    map[int]bool                             // the answers from elsewhere, by number, for which a daemon has pressed Enter
	extra    func(ctx context.Context) bool           // an extra act of its next turn; false if that was interrupted
	sent     [][]byte                                 // the payloads of its hooks
	copied   func(text string) (said, failure string) // if set, what a copy of its session answers in place of its document
	says     func() string                            // if set, what it says at the end of a turn that nobody told it how to end
	mum      bool                                     // the hooks of the ends of its turns have no message
	failing  bool                                     // each turn ends with an error of the API
	refusing bool                                     // another hook refuses each prompt
	heldFor  time.Duration                            // how long other hooks hold its start; 0: by chance
	limits   []*limitHit                              // the usage limits that it has hit
	undead   bool                                     // no signal ends it
	given    []string                                 // the texts that were submitted to it or given in answer to a Stop
	answers  []string                                 // its messages at the end of turns
	hasRead  []string                                 // the files of a handoff that it has read
	leaving  bool                                     // it is exiting, because of /exit or a signal
	closing  bool                                     // it sends its SessionEnd, and no other hook any more
	ended    chan struct{}

	documentAt  time.Time // when it wrote its newest handoff document
	unmentioned []string  // prompts of people that it took after that document
	writes      string    // the handoff document that its turn is to write
	working     string    // the prompt of its turn; "" if the daemon or the agent itself wrote that prompt
	pending     []string  // prompts that were submitted, but have not reached its model yet
}

type job struct {
	prompt string
	from   origin
	hooked chan struct{} // for a queued prompt: closed when the daemon has answered its hook
}

// origin is how a prompt came to the agent.
type origin int

const (
	typed        origin = iota // typed while no turn ran
	queued                     // typed while a turn ran; its hook was sent then
	notification               // made by the agent itself
)

// newAgent starts an agent's process in a pane.
func newAgent(h *host, ref tmux.Ref, server int, launch, dir string) (a *agent) {
	p := h.table.Start(server, func(sig syscall.Signal) { a.signal(sig) })
	a = &agent{
		owner: owner{name: fmt.Sprintf("%s agent-%d", h.name, p.PID-tmuxtest.AbovePID), host: h}, w: h.w, h: h, proc: p, ref: ref, file: launch, dir: dir, begun: dir, worked: dir,
		rng:   generator(h.w.seed, fmt.Sprint(h.name, " agent ", p.PID)),
		model: "claude-opus-5-5", mode: "default", cli: claudeCLI,
		keys: make(chan struct{}, 1), work: make(chan struct{}, 1), ended: make(chan struct{}), env: map[string]string{}, asked: map[string]*dialog{}, shown: map[string]string{}, seats: map[int]bool{}, queuedAs: map[int64]string{},
	}
	a.mood = newMood(a.rng, h.w.plan)
	a.frame = actor.Frame{Width: 200, Height: 50, Header: []string{"✻ Simulated agent"}, Footer: "auto"}
	h.w.agents = append(h.w.agents, a)
	if h.w.born != nil {
		h.w.born(a)
	}
	go a.run(launch)
	return a
}

// do takes the time that an act of the agent takes. Others may act meanwhile.
func (a *agent) do(what string, lo, hi time.Duration) { a.doIn(ctx(), what, lo, hi) }

// doIn is do for an act that ends early with ctx. It reports whether that happened.
func (a *agent) doIn(ctx context.Context, what string, lo, hi time.Duration) (cut bool) {
	o := a.w.park(&call{own: &a.owner, what: what, ctx: ctx, slow: func() time.Duration { return between(a.rng, lo, hi) }})
	return o.cut != nil
}

// run runs the process from its start to its end.
func (a *agent) run(launch string) {
	a.do("starts", 10*time.Millisecond, a.mood.start)
	if err := a.read(launch); err != nil {
		a.frame.Print(actor.BlockError, "error: "+err.Error())
		a.draw()
		a.die("it could not read its launch file: "+err.Error(), 1)
	}
	go a.keyboard()
	if a.mood.trust {
		ask(a, "trust", "startup", dialog{Dialog: actor.Dialog{Title: "Accessing workspace:", Question: "Is this a project you trust? trust this folder",
			Choices: []string{"Yes, I trust this folder", "No, exit"}}})
	}
	a.frame.Visible = true
	a.draw()
	source := "startup"
	if a.resumed {
		source = "resume"
	}
	a.source = source
	if !a.cli.late {
		a.introduce()
	}
	holdStart(a)
	a.ready = true
	if a.cli.live != nil {
		a.cli.live(a)
	}
	a.settle()
	a.worker()
}

// read reads the launch file, and takes over its environment and arguments.
func (a *agent) read(path string) error {
	if a.own {
		a.readOwn()
		return nil
	}
	file, err := launchFile(path)
	if err != nil {
		return err
	}
	for _, v := range file.Env {
		name, value, _ := strings.Cut(v, "=")
		a.env[name] = value
	}
	a.id, _ = strconv.ParseInt(a.env["UNDERSTUDY_AGENT_ID"], 10, 64)
	if a.cli = clis[file.Argv[0]]; a.cli == nil {
		return fmt.Errorf("no program %q", file.Argv[0])
	}
	a.cli.arguments(a, file.Argv)
	if a.cli != claudeCLI {
		a.mood.background = 0 // nothing runs there after a turn
	}
	if a.session == "" {
		return errors.New("no session")
	}
	afterLaunch(a.w, a)
	return nil
}

// launchFile reads a launch file.
func launchFile(path string) (file hooks.LaunchFile, err error) {
	err = json.Unmarshal([]byte(mustRead(path)), &file)
	return file, err
}

func mustRead(path string) string {
	b, _ := os.ReadFile(path) // a file that cannot be read counts as empty
	return string(b)
}

// introduce tells of the session.
func (a *agent) introduce() {
	a.introduced = true
	a.hook(hooks.SessionStart, a.hooks().SessionStart(a.source, contextTokens))
}

// worker runs one job after the other.
func (a *agent) worker() {
	for {
		if len(a.jobs) == 0 {
			select {
			case <-a.work:
			case <-a.ended:
				return
			}
			a.do("wakes", 0, 2*time.Millisecond)
			continue
		}
		next := a.jobs[0]
		a.jobs = a.jobs[1:]
		a.turn(next)
		a.settle()
	}
}

// enqueue adds a job.
func (a *agent) enqueue(j job) {
	a.jobs = append(a.jobs, j)
	nudge(a.work)
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// settle registers the agent as idle, unless more jobs wait or tasks run in the background.
func (a *agent) settle() {
	a.frame.Working = ""
	switch {
	case len(a.jobs) > 0, a.subs > 0:
		a.register("busy")
	case a.tasks > 0:
		a.register("shell")
	default:
		a.register("idle")
	}
	a.draw()
}

// register writes the session's entry in the registry of its runtime. Neither writing nor reading an entry is a call of
// the schedule, because the daemon reads entries more often than anything else.
func (a *agent) register(status string) {
	if d := a.dialog; d != nil && status != "waiting" { // a turn that begins below a dialog leaves the entry as it is
		d.before = status
		return
	}
	a.status = status
	if a.cli.rt.Registry == nil {
		return
	}
	b := must(json.Marshal(map[string]any{"pid": a.proc.PID, "sessionId": a.session, "cwd": a.dir, "status": status, "name": a.name}))
	a.h.registry.Store(runtimes.RegistryPath(a.h.config, a.proc.PID), b)
}

// draw shows the frame in the pane.
func (a *agent) draw() {
	screen, title := a.cli.show(a)
	rows := strings.Split(screen, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ") // as tmux captures them
	}
	a.h.term.Update(a.ref, func(info *tmux.PaneInfo) { info.Title = title })
	a.h.term.SetScreen(a.ref, strings.Join(rows, "\n"))
}

// hook runs a hook and waits for its answer. event and more are those of Claude Code. If the CLI calls no hook, there is
// no answer.
func (a *agent) hook(event string, more actor.Fields) hookAnswer {
	name, payload := a.cli.hook(a, event, more)
	if name == "" {
		return hookAnswer{}
	}
	if a.closing && event != hooks.SessionEnd { // Claude Code tells nothing of the turn that its exit cuts off (measured with 2.1.330)
		<-a.ended
		runtime.Goexit()
	}
	a.hooking++
	if a.cli.rt.Can.EnterAfter > 0 {
		a.draw() // it shows that a hook runs
	}
	answer := a.h.hook(a, name, payload)
	a.hooking--
	a.do(event+" answered", 0, time.Millisecond)
	return answer
}

// hooks returns the maker of the agent's payloads.
func (a *agent) hooks() actor.Hooks { return actor.Hooks{Name: a.name, Model: a.model, Mode: a.mode} }

// hookMode returns the name that hooks use for a permission mode.
func hookMode(mode string) string {
	if mode == "manual" {
		return "default"
	}
	return mode
}

// contextTokens is how full the context of a resumed session is.
const contextTokens = 14_000

// signal handles a signal to the process.
func (a *agent) signal(sig syscall.Signal) {
	switch {
	case a.dead, a.undead:
	case sig == syscall.SIGKILL:
		a.w.cover(a.cli.rt.Name, "kill")
		a.end("killed", 137)
	case a.id == 0: // its program has not begun yet, so it handles no signal
		a.end(sig.String(), 128+int(sig))
	case sig == syscall.SIGTERM && a.mood.ignoreTerm:
	case a.leaving && sig != syscall.SIGHUP:
	default:
		a.leaving = true
		go a.leave("other", 143)
	}
}

// leave ends the agent in order: it sends SessionEnd, then ends the process.
func (a *agent) leave(reason string, code int) {
	a.do("leaves: "+reason, 0, a.mood.exit)
	if a.ready {
		if reason == "prompt_input_exit" && a.stop == nil {
			a.promptID = uuid(a.rng) // Claude Code gives a command a prompt id of its own, unless a turn runs (measured with 2.1.330)
		}
		if reason == "prompt_input_exit" {
			a.moveTo(a.begun)
		}
		a.closing = a.cli == claudeCLI
		for range max(a.cli.ends, 1) {
			a.hook(hooks.SessionEnd, a.hooks().SessionEnd(reason))
		}
	}
	a.h.registry.Delete(runtimes.RegistryPath(a.h.config, a.proc.PID))
	if reason == "prompt_input_exit" {
		a.w.cover(a.cli.rt.Name, "exit")
	}
	a.die(reason, code)
}

// die ends the process and the calling goroutine, which must be one of the agent's own.
func (a *agent) die(why string, code int) {
	a.end(why, code)
	runtime.Goexit()
}

// end ends the process.
func (a *agent) end(why string, code int) {
	if a.dead {
		return
	}
	a.w.trace.note(a.owner.name, "process ends: %s", why)
	a.w.kill(&a.owner)
	close(a.ended)
	a.h.table.End(a.proc)
	if a.own {
		a.backToShell()
	} else {
		a.h.term.Exit(a.ref, code)
	}
}
