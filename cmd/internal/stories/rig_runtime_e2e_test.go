//go:build e2e

package stories

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/realcli"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// runtimeCase is what the stories about all runtimes must know of one.
type runtimeCase struct {
	name string // of the runtime
	// place makes a home for the CLI and a fake model.
	place func(t testing.TB, script claudetest.Script) runtimePlace
	// mode is one in which the CLI asks a person before it runs a command; "": its own mode is.
	mode string
	// asked is what the screen shows while the CLI asks whether it may run a command; no answers it with no.
	asked string
	no    tmux.Key
	quit  string // what ends the CLI in its composer, if the daemon does not type it
	// errors are codes of trouble, by the status with which the API answers.
	errors map[int]string
	limit  string // the code of trouble of a usage limit
	// untimed says that the runtime does not tell when a usage limit ends.
	untimed bool
	// retries is a status of the API after which the CLI tries again without end, and says so; 0: no such status is known.
	retries int
	// bare says that a one-shot offers its model no tools.
	bare bool
	// noted are the model and the mode that the transcript shows, as a launch takes them; none: they are not compared.
	noted [2]string
	plan  claudetest.Reply // a call of the CLI's own tool for todos; none: its transcript shows none, or it has the tool with older models only
	own   []runtimeStory   // what is peculiar to the runtime, in its own mode
	// cannot has the stories, by name, that the runtime cannot tell. The reason is a sentence of the runtime's Can.Cannot.
	cannot map[string]string
}

// runtimePlace is where the CLI of a story lives.
type runtimePlace struct {
	api       *claudetest.FakeAPI
	environ   []string
	work      string
	command   []string // as configured
	untouched []string // files of the person's that must stay as they are
	data      string   // a folder for the daemon's data; "": the system's temporary folder
	gate      string   // while this file exists, the hook of guard refuses each prompt, with what the file says
	guard     func()   // adds that hook to the person's own settings; nil: no hook of this runtime can refuse
}

// runtimeCases are the runtimes that the stories of runtime_e2e_test.go are about.
var runtimeCases = []runtimeCase{
	{
		name: "claude",
		place: func(t testing.TB, script claudetest.Script) runtimePlace {
			api := claudetest.NewFakeAPI(t, script)
			home := claudetest.Env(t, api)
			p := runtimePlace{api: api, environ: home.Environ, work: home.Workdir, command: append([]string{claudetest.Install(t)}, manual...)}
			p.gate = filepath.Join(home.Dir, "gate")
			p.guard = func() {
				writeSettings(t, filepath.Join(home.ConfigDir, "settings.json"), "UserPromptSubmit", gateHook(p.gate))
			}
			return p
		},
		asked: "Do you want to proceed?", no: tmux.Escape,
		errors: map[int]string{400: runtimes.OtherTrouble, 401: runtimes.Unauthenticated, 429: runtimes.RateLimit},
		limit:  runtimes.UsageLimit, untimed: true, // the home has a key: only a subscription is told the time
	},
	{
		name: "codex",
		place: func(t testing.TB, script claudetest.Script) runtimePlace {
			p, home := realPlace(t, realcli.Codex, script)
			p.command = append(p.command, "-c", "tools.update_plan.enabled=true")
			p.untouched = []string{filepath.Join(home.ConfigDir, "config.toml")}
			p.gate = filepath.Join(home.Dir, "gate")
			p.guard = func() {
				appendTo(t, p.untouched[0], fmt.Sprintf("\n[[hooks.UserPromptSubmit]]\nhooks = [{type = \"command\", command = %q, timeout = 20}]\n", gateHook(p.gate)))
			}
			return p
		},
		asked: "Would you like to run the following command?", no: tmux.Escape,
		errors: map[int]string{400: runtimes.OtherTrouble, 401: runtimes.Unauthenticated, 429: runtimes.RateLimit, 500: "server_error"},
		limit:  runtimes.UsageLimit,
		noted:  [2]string{"gpt-5.5", "workspace-write"},
		plan: claudetest.Reply{Tool: "update_plan", Input: map[string]any{"plan": []map[string]any{
			{"step": "Count them", "status": "completed"}, {"step": "Lay them", "status": "in_progress"}, {"step": "Sweep", "status": "pending"}}}},
	}, {
		name: "opencode",
		place: func(t testing.TB, script claudetest.Script) runtimePlace {
			p, home := realPlace(t, realcli.OpenCode, script)
			p.untouched = []string{filepath.Join(home.ConfigDir, "opencode.json")}
			return p
		},
		asked: "Permission required", no: tmux.Escape, quit: "/exit",
		mode:   "ask",
		errors: map[int]string{400: runtimes.InvalidRequest, 401: runtimes.Unauthenticated},
		limit:  runtimes.UsageLimit, retries: http.StatusServiceUnavailable, bare: true,
	},
	{
		name: "omp",
		place: func(t testing.TB, script claudetest.Script) runtimePlace {
			p, home := realPlace(t, realcli.Pi, script)
			p.command = append(p.command, "--model", realcli.Pi.Model(), "--no-lsp")
			p.untouched = []string{filepath.Join(home.ConfigDir, "config.yml"), filepath.Join(home.ConfigDir, "models.yml")}
			return p
		},
		asked: "Allow tool: bash", no: tmux.Escape, quit: "/quit",
		mode:    "always-ask",
		errors:  map[int]string{400: runtimes.InvalidRequest, 401: runtimes.Unauthenticated},
		limit:   runtimes.UsageLimit,
		retries: http.StatusConflict, // after a 5xx it tries for half a minute before it says so; it knows this one by the text
		noted:   [2]string{"fake/fake-1", ""},
		plan:    claudetest.Reply{Tool: "todo", Input: map[string]any{"op": "init", "list": []map[string]any{{"phase": "One", "items": []string{"Lay them", "Sweep"}}}}},
		own:     ompStories,
	},
	{
		name: "gemini",
		place: func(t testing.TB, script claudetest.Script) runtimePlace {
			p, home := realPlace(t, realcli.Gemini, script)
			p.data = home.SystemDir // whose folders the person has trusted
			p.untouched = []string{filepath.Join(home.ConfigDir, "settings.json")}
			p.gate = filepath.Join(home.Dir, "gate")
			p.guard = func() { writeSettings(t, p.untouched[0], "BeforeAgent", gateHook(p.gate)) }
			return p
		},
		asked: "Allow execution of", no: tmux.Escape,
		errors: map[int]string{400: runtimes.InvalidRequest, 401: runtimes.Unauthenticated},
		limit:  runtimes.UsageLimit, untimed: true, bare: true,
		cannot: map[string]string{
			"draft": "A draft of a person cannot be put aside: a text waits until the person has submitted or deleted it.",
			"fork":  "Its session cannot be copied: the agent itself writes its handoff document.",
		},
	},
}

// realPlace makes a place for one of the CLIs of package realcli.
func realPlace(t testing.TB, cli realcli.CLI, script claudetest.Script) (runtimePlace, realcli.Home) {
	t.Helper()
	api := realcli.NewFakeAPI(t, script)
	home := realcli.Env(t, cli, api)
	return runtimePlace{api: api, environ: home.Environ, work: home.Workdir, command: realcli.Install(t, cli)}, home
}

// runtimeRig is a rig whose agents are a real CLI. The test's script plays the model.
type runtimeRig struct {
	*rig
	runtimeCase
	runtimePlace
	rt  *runtimes.Runtime
	tap *hookTap

	losePasteOf atomic.Int64 // the agent whose next paste is lost; 0: none
}

// newRuntimeRig makes a rig and starts its daemon. The experience file of the persona con holds one line.
func newRuntimeRig(t testing.TB, c runtimeCase) *runtimeRig {
	t.Helper()
	claudeSlots <- struct{}{}
	t.Cleanup(func() { <-claudeSlots })
	rt := value(catalog.For(c.name))(t)
	r := &runtimeRig{runtimeCase: c, runtimePlace: c.place(t, complies), rt: rt, tap: &hookTap{}}
	r.rig = newRigIn(t, r.data)
	r.rig.work = r.runtimePlace.work
	r.cfg.Environ = append(slices.Clone(r.environ), "GORACE=atexit_sleep_ms=0")
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{c.name: {Command: r.command}, r.secondAccount(): {Command: r.command}, toy: toySettings(t)}
	r.cfg.Settings.Limits.OnLimit = daemon.LimitWait
	if c.retries != 0 {
		r.cfg.Settings.Limits.APITimeout = 4 * time.Second
	}
	r.around(func(c *engine.Config) { c.Store = tappedStore{c.Store, r.tap} })
	r.bendWith(&bend{
		paste: func(_ context.Context, _ string, do func() error) error {
			err := do()
			if id := r.losePasteOf.Swap(0); id != 0 && err == nil {
				r.personPresses(id, tmux.CtrlU)
			}
			return err
		},
	})
	value(r.dir.Seed())(t)
	must(t, data.WriteFile(r.experience(), []byte(known+"\n"), 0o600))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hooks:\n%s", r.tap)
			for _, req := range r.api.Requests() {
				t.Logf("request %q aside %q: %.300q", req.SessionID, req.Aside, req.NewTexts())
			}
		}
	})
	r.start()
	r.database() // its connections must outlive the first story
	return r
}

// secondAccount is a runtime that runs the same CLI.
func (r *runtimeRig) secondAccount() string { return r.name + "-work" }

func (r *runtimeRig) experience() string { return filepath.Join(r.dir.Persona(con), "experience.md") }

// runtimeStory is one story about each runtime. It begins with an idle agent of the persona con.
type runtimeStory struct {
	name string
	// tell returns the agent that the next story begins with; 0: a new one.
	tell func(r *runtimeRig, a daemon.Agent) (next int64)
	// refused is told instead of a runtime that cannot do it. nil: that the runtime's table says so is all.
	refused func(r *runtimeRig, a daemon.Agent) (next int64)
}

// tell tells stories one after the other. The first one, and the next one after a failure and where a story leaves no agent, get a new agent,
// which is started in the rig's mode.
func (r *runtimeRig) tell(t *testing.T, stories []runtimeStory) {
	var left int64
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			whole := r.t
			r.t = t
			defer func() { r.t = whole }()
			r.api.SetScript(complies)
			reason, cannot := r.cannot[s.name]
			tell := s.tell
			if cannot {
				if tell = s.refused; !slices.Contains(r.rt.Can.Cannot, reason) {
					t.Errorf("the table of runtimes does not say %q", reason)
				}
			}
			if tell == nil {
				return
			}
			var a daemon.Agent
			if left == 0 {
				r.endAll()
				a = r.newAgent(r.mode)
			} else {
				a = r.awaitState(left, daemon.Idle)
			}
			left = 0 // unless the story ends well
			if next := tell(r, a); !t.Failed() {
				left = next
			}
		})
	}
}

// newAgent starts an agent of the persona con in a mode and waits until it is idle.
func (r *runtimeRig) newAgent(mode string) daemon.Agent {
	r.t.Helper()
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.rig.work, Runtime: r.name, PermissionMode: mode})
	return r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
}

// endAll ends all agents by force.
func (r *runtimeRig) endAll() {
	r.t.Helper()
	list := value(r.client.Agents(r.t.Context(), allRows))(r.t)
	r.api.Release()
	for _, a := range list {
		if a.State != daemon.Ended {
			r.stopAgent(a.ID, true)
			r.awaitState(a.ID, daemon.Ended)
		}
	}
}

// talk has the agent take a prompt and finish its turn.
func (r *runtimeRig) talk(agentID int64, text string) {
	r.t.Helper()
	stops := len(r.tap.of(agentID, hooks.Stop))
	r.awaitVerdict(agentID, r.sendMessage(agentID, text).ID, daemon.Submitted)
	r.awaitHooks(agentID, hooks.Stop, stops+1)
	r.awaitState(agentID, daemon.Idle)
}

// awaitHooks waits until an agent has reported an event at least n times.
func (r *runtimeRig) awaitHooks(agentID int64, event string, n int) {
	r.t.Helper()
	r.await(fmt.Sprintf("agent %d: %d reports of %s", agentID, n, event), func() (bool, string) {
		return len(r.tap.of(agentID, event)) >= n, r.tap.String()
	})
}

// hold begins a turn whose answer waits for the next release of the fake.
func (r *runtimeRig) hold(agentID int64, prompt, answer string) {
	r.t.Helper()
	r.api.SetScript(claudetest.Ask(prompt, claudetest.Reply{Text: answer, Hold: true}, complies))
	r.awaitVerdict(agentID, r.sendMessage(agentID, prompt).ID, daemon.Submitted)
	r.awaitAsked(prompt)
	r.awaitState(agentID, daemon.Working)
}

// awaitAsked waits until the model was asked something that contains the part.
func (r *runtimeRig) awaitAsked(part string) {
	r.t.Helper()
	r.api.Await(r.t, part, func(req claudetest.Request) bool {
		return req.Aside == "" && strings.Contains(strings.Join(req.UserTexts(), "\n"), part)
	})
}

// inConversation lists the user's texts that contain the part in the newest conversation that has one.
func (r *runtimeRig) inConversation(part string) (texts []string) {
	requests := r.api.Requests()
	for i := len(requests) - 1; i >= 0 && len(texts) == 0; i-- {
		if requests[i].Aside != "" {
			continue
		}
		for _, text := range requests[i].UserTexts() {
			if strings.Contains(text, part) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// wantOnce fails unless the newest conversation that has the part has it in one text, and returns that text.
func (r *runtimeRig) wantOnce(part string) string {
	r.t.Helper()
	texts := r.inConversation(part)
	if len(texts) != 1 {
		r.t.Errorf("the model was told %q %d times, want once: %q", part, len(texts), texts)
		return ""
	}
	return texts[0]
}

// complies is a model that does what understudy tells it, with calls that every CLI has a tool for: it writes the document
// and adds to the persona's experience, or reads the files that a prompt names. As a copy of a session it answers with the
// document.
func complies(r claudetest.Request) claudetest.Reply {
	for _, text := range r.UserTexts() {
		if isFork(text) {
			return claudetest.Reply{Text: document(text)}
		}
		if !strings.Contains(text, "] understudy: ") {
			continue
		}
		for _, step := range stepsOf(text) {
			if !called(r, step) {
				return step
			}
		}
	}
	return claudetest.Reply{Text: "OK"}
}

// stepsOf are the calls by which a model does what a text of understudy's tells it.
func stepsOf(text string) (steps []claudetest.Reply) {
	if o, ok := orderOf(text); ok {
		return append(o.first, claudetest.Write(o.document, document(o.text)), read(o.experience), claudetest.Write(o.experience, known+"\n"+learned+"\n"))
	}
	for _, path := range markdown.FindAllString(text, -1) {
		steps = append(steps, read(path))
	}
	return steps
}

// called reports whether the conversation has a call. Codex reads a file by a command.
func called(r claudetest.Request, call claudetest.Reply) bool {
	path, _ := call.Input["file_path"].(string)
	if call.Tool == "Write" {
		return r.Wrote(path)
	}
	return answeredCall(r, call) || slices.ContainsFunc(r.Messages, func(m claudetest.Message) bool {
		return slices.ContainsFunc(m.Content, func(b claudetest.Block) bool {
			return b.Type == "tool_use" && b.Name == "Bash" && strings.Contains(string(b.Input), "cat -- '"+path+"'")
		})
	})
}

// wantUntouched fails unless the person's own files are as they were.
func (r *runtimeRig) wantUntouched(before map[string]string) {
	r.t.Helper()
	for path, was := range before {
		equal(r.t, path, fileText(path), was)
	}
}

func (r *runtimeRig) ownFiles() map[string]string {
	files := map[string]string{}
	for _, path := range r.untouched {
		files[path] = fileText(path)
	}
	return files
}

// fileText returns what a file holds, or why it cannot be read.
func fileText(path string) string {
	b, err := os.ReadFile(path)
	return string(b) + errorText(err)
}
