package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// person is a session that a person started: a process whose children send hooks.
type person struct {
	r     *rig
	pid   int
	pane  tmux.PaneInfo // zero: no pane
	dir   string
	hooks int
	end   func()
}

// startPerson starts a session in a pane of this server. If the server is nil, the session has no pane.
func startPerson(r *rig, server *tmux.Server) *person {
	r.t.Helper()
	p := &person{r: r, dir: r.t.TempDir()}
	fifo := filepath.Join(p.dir, "lines")
	must(r.t, syscall.Mkfifo(fifo, 0o600))
	argv := []string{"sh", "-c", `while :; do read -r line <"$1" && eval "$line"; done`, "sh", fifo}
	if server != nil {
		p.pane = value(server.Spawn(r.t.Context(), tmux.Spec{Session: "person", Dir: r.work, Argv: argv}))(r.t)
		p.pid = p.pane.PID
		return p
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	must(r.t, cmd.Start())
	p.pid = cmd.Process.Pid
	p.end = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() } // may have ended already
	r.t.Cleanup(p.end)
	return p
}

// registerBySpool makes a session in a pane register by a spooled hook, as if no daemon had run when it started.
func registerBySpool(r *rig, session string, pane tmux.PaneInfo) daemon.Agent {
	r.t.Helper()
	proc := value(tmux.FindProcess(pane.PID))(r.t)
	body := value(json.Marshal(map[string]string{"session_id": session, "cwd": r.work, "source": "startup", "transcript_path": "/t/" + session + ".jsonl"}))(r.t)
	now := time.Now()
	spoolHooks(r, hooks.Envelope{
		Key: hooks.NewKey(now), Event: "SessionStart", At: now, Body: body, Pane: pane.Pane, Tmux: fmt.Sprintf("%s,%d,0", pane.Socket, pane.ServerPID),
		AgentPID: proc.PID, AgentStart: proc.Start, Boot: tmux.BootID(),
	})
	r.await("the session "+session, func() (bool, string) {
		list, err := r.client.Agents(r.t.Context(), allRows)
		return err == nil && len(list) > 0 && *list[0].SessionID == session, ""
	})
	return newestAgent(r)
}

// sendHook has a child of the session send a hook that claims to come from this pane.
func (p *person) sendHook(event, session string, pane tmux.PaneInfo) {
	p.r.t.Helper()
	body, err := json.Marshal(map[string]string{
		"hook_event_name": event, "session_id": session, "cwd": p.r.work, "source": "startup", "prompt": "x", "transcript_path": "/t/" + session + ".jsonl",
	})
	if err != nil {
		p.r.t.Fatal(err)
	}
	p.hooks++
	done := filepath.Join(p.dir, strconv.Itoa(p.hooks))
	if err := data.WriteFile(filepath.Join(p.dir, "body"), body, 0o600); err != nil {
		p.r.t.Fatal(err)
	}
	line := fmt.Sprintf("CLAUDE_PID=%d TMUX='%s,%d,0' TMUX_PANE='%s' UNDERSTUDY_LAUNCH= '%s' hook --socket '%s' %s <'%s/body'; : >'%s'\n",
		p.pid, pane.Socket, pane.ServerPID, pane.Pane, p.r.cfg.Binary, p.r.dir.HookSocket(), event, p.dir, done)
	if err := os.WriteFile(filepath.Join(p.dir, "lines"), []byte(line), 0); err != nil {
		p.r.t.Fatal(err)
	}
	tmuxtest.Eventually(p.r.t, "the hook's end", func() bool {
		_, err := os.Stat(done)
		return err == nil
	})
}

// startForeignAgent has a person start an agent on a tmux server of their own, with our hooks installed.
func startForeignAgent(r *rig, server *tmux.Server, args string) (daemon.Agent, tmux.PaneInfo) {
	r.t.Helper()
	return startForeignAgentIn(r, server, filepath.Join(filepath.Dir(r.root), "home", ".claude"), "", args)
}

// startForeignAgentIn is startForeignAgent with the settings in a folder, and with the agent's command behind a prefix, such as
// variables.
func startForeignAgentIn(r *rig, server *tmux.Server, config, prefix, args string) (daemon.Agent, tmux.PaneInfo) {
	r.t.Helper()
	plan, err := hooks.PlanInstall(nil, hooks.InstallOptions{
		Bin: r.cfg.HookBinary, DataDir: r.root, Events: hooks.Events,
	})
	must(r.t, err)
	must(r.t, os.MkdirAll(config, 0o700))
	must(r.t, data.WriteFile(filepath.Join(config, "settings.json"), plan.After, 0o600))
	shell, err := server.Spawn(r.t.Context(), tmux.Spec{
		Session: "person", Dir: r.work, Argv: append(append([]string{"env"}, r.cfg.Environ...), "sh"),
	})
	must(r.t, err)
	line := strings.TrimSpace(prefix + " " + cmdtest.AgentProgram(r.t) + " " + args)
	must(r.t, server.Paste(r.t.Context(), shell.Ref, line, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}))
	r.await("agent that registers by itself", func() (bool, string) {
		list, err := r.client.Agents(context.Background(), allRows)
		return err == nil && len(list) > 0, ""
	})
	return newestAgent(r), shell
}
