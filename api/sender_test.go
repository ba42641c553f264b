package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// session is a process whose children send hooks, like a session that a person started.
type session struct {
	h     *fixture
	cmd   *exec.Cmd
	stdin io.Writer
	lines *bufio.Reader
}

// session starts a session. contain, if it is not nil, may put its process into a container. It returns nil if this system
// cannot start such a process.
func (h *fixture) session(contain func(*exec.Cmd)) *session {
	h.t.Helper()
	s := &session{h: h, cmd: exec.Command("sh", "-c", `while read -r line; do eval "$line"; echo done; done`)}
	if contain != nil {
		contain(s.cmd)
	}
	s.cmd.Env = append(os.Environ(), "API_TEST_HOOK=1", "CLAUDE_PID=", "TMUX=", "UNDERSTUDY_LAUNCH=", "UNDERSTUDY_SOCKET=",
		"GORACE=atexit_sleep_ms=0") // otherwise each hook of a -race build takes a second to end
	stdin := value(s.cmd.StdinPipe())(h.t)
	s.stdin, s.lines = stdin, bufio.NewReader(value(s.cmd.StdoutPipe())(h.t))
	if err := s.cmd.Start(); err != nil {
		h.t.Logf("no such process can be started here: %v", err)
		return nil
	}
	h.t.Cleanup(func() { _ = stdin.Close(); _ = s.cmd.Wait() }) // its exit status is that of the last hook and does not matter
	return s
}

// says makes a child of the session send a hook that names the process pid.
func (s *session) says(event, id string, pid int) {
	s.h.t.Helper()
	body := fmt.Sprintf(`{"hook_event_name":"%s","session_id":"%s","cwd":"/","source":"startup","prompt":"x","transcript_path":"/t.jsonl"}`, event, id)
	value(fmt.Fprintf(s.stdin, "echo '%s' | CLAUDE_PID=%d '%s' --socket '%s' %s\n", body, pid, value(os.Executable())(s.h.t), s.h.hook, event))(s.h.t)
	for {
		line := value(s.lines.ReadString('\n'))(s.h.t)
		if line == "done\n" {
			return
		}
		s.h.t.Errorf("hook says %q", line)
	}
}

func (s *session) pid() int { return s.cmd.Process.Pid }

// sessions returns the session ids of the agents, the newest first.
func (h *fixture) sessions() string {
	h.t.Helper()
	var ids []string
	for _, a := range value(h.client.Agents(h.t.Context(), ListOptions{}))(h.t) {
		ids = append(ids, *a.SessionID)
	}
	return strings.Join(ids, " ")
}

// TestSenderIsRegistered: the daemon registers a session only as the process whose children send its hooks. It reports once
// that it does not believe a hook.
func TestSenderIsRegistered(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	mine, other := h.session(nil), h.session(nil)
	for what, pid := range map[string]int{
		"init": 1, "the daemon": os.Getpid(), "what the daemon runs in": os.Getppid(), "another session": other.pid(), "nobody": 1 << 30,
	} {
		mine.says("SessionStart", "forged", pid)
		mine.says("UserPromptSubmit", "forged", pid)
		if got := h.sessions(); got != "" {
			t.Fatalf("%s (%d) was registered: %s", what, pid, got)
		}
	}
	mine.says("SessionStart", "mine", mine.pid())
	other.says("SessionStart", "other", other.pid())
	equal(t, "registered", h.sessions(), "other mine")
	told := 0
	for _, e := range value(h.client.Audit(t.Context(), daemon.AuditFilter{}))(t) {
		if e.Type == "hook_disbelieved" {
			told++
		}
	}
	equal(t, "told", told, 2)
}

// TestSenderSpeaksForItself: the daemon believes a hook of an agent that a person started only if a child of that agent
// sends it.
func TestSenderSpeaksForItself(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	mine, other := h.session(nil), h.session(nil)
	mine.says("SessionStart", "mine", mine.pid())
	state := func() daemon.AgentState {
		return value(h.client.Agents(t.Context(), ListOptions{}))(t)[0].State
	}
	other.says("UserPromptSubmit", "mine", mine.pid())
	equal(t, "a stranger's hook made it", state(), daemon.Idle)
	mine.says("UserPromptSubmit", "mine", mine.pid())
	equal(t, "its own hook left it", state(), daemon.Working)
}

// TestSenderIsTheProcessOfTheLaunch: a hook counts for a launched agent only with the secret of its launch, and only if the launch's own process
// sends it: what the agent starts has the secret, too. So it is with what an agent asks for itself.
func TestSenderIsTheProcessOfTheLaunch(t *testing.T) {
	t.Parallel()
	h, own := build(t, nil), value(tmux.FindProcess(os.Getpid()))(t)
	a := h.launched("secret", "s-1", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart, a.State = "here", own.PID, own.Start, daemon.Idle })
	send := func(event, launch string, pid int) daemon.AgentState {
		body := fmt.Sprintf(`{"hook_event_name":"%s","session_id":"s-1","cwd":"/","source":"startup","reason":"logout","prompt":"x","transcript_path":"/t.jsonl"}`, event)
		_, _ = hooks.Send(t.Context(), h.hook, hooks.Envelope{ // the row tells what came of it
			Key: hooks.NewKey(time.Now()), Event: event, At: time.Now(), Launch: launch, AgentPID: pid, Body: json.RawMessage(body)})
		return value(h.client.Agent(t.Context(), a.ID))(t).State
	}
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "StopFailure", "SessionEnd"} {
		for what, got := range map[string]daemon.AgentState{
			"another launch": send(event, "foreign", own.PID), "another process": send(event, "secret", os.Getppid()), "no process": send(event, "secret", 0),
		} {
			equal(t, event+" of "+what+" made it", got, daemon.Idle)
		}
	}
	equal(t, "its own hook left it", send("UserPromptSubmit", "secret", own.PID), daemon.Working)

	door := h.hookDoor().with(launchHeader, "secret")
	door.ok("GET", at("agents", a.ID, "/messages"), "")
	elsewhere := value(tmux.FindProcess(h.session(nil).pid()))(t)
	other := h.launched("stolen", "s-2", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart = "here", elsewhere.PID, elsewhere.Start })
	h.hookDoor().with(launchHeader, "stolen").do("POST", at("agents", other.ID, "/handoff"), "").wants(t, "another launch's secret", 403, "not_your_agent")
}

// TestSenderInAContainer: a process in another PID namespace sends pids that mean other processes here.
func TestSenderInAContainer(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	if s := h.session(tmuxtest.Contain); s != nil {
		s.says("SessionStart", "contained", s.pid()) // its pid outside of the container
		s.says("SessionStart", "contained", 1)       // its pid inside
	}
	equal(t, "registered", h.sessions(), "")
}

// TestTCPRegistersNobody: over TCP the daemon cannot know which process sends a hook, so it registers none.
func TestTCPRegistersNobody(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	s := h.session(nil)
	door := h.tcpDoor().with(agentPIDHeader, fmt.Sprint(s.pid())).with(hookKeyHeader, hooks.NewKey(time.Now()))
	door.ok("POST", "/hooks/SessionStart", `{"session_id": "tcp", "cwd": "/"}`)
	equal(t, "registered", h.sessions(), "")
}

// TestReplayedSessionStart: a hook from the spool registers the process that sent it, and not another process that has got
// the same pid since.
func TestReplayedSessionStart(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	s := h.session(nil)
	proc := value(tmux.FindProcess(s.pid()))(t)
	spool := hooks.OpenSpool(filepath.Join(filepath.Dir(filepath.Dir(h.hook)), "spool"))
	replay := func(id string, pid int, start uint64, boot string) {
		now := time.Now()
		must(t, spool.Put(hooks.Envelope{
			Key: hooks.NewKey(now), Event: "SessionStart", At: now, AgentPID: pid, AgentStart: start, Boot: boot,
			Body: json.RawMessage(`{"session_id": "` + id + `", "cwd": "/"}`),
		}))
		live := h.hookDoor().with(hookKeyHeader, hooks.NewKey(now)).with(agentPIDHeader, fmt.Sprint(pid))
		live.do("POST", "/hooks/Notification", `{}`) // applied after the spooled hook of the same process
	}
	replay("older", proc.PID, proc.Start-1, tmux.BootID())
	replay("before-the-boot", proc.PID, proc.Start, "another-boot")
	replay("untold", proc.PID, 0, "")
	init := value(tmux.FindProcess(1))(t)
	replay("init", init.PID, init.Start, tmux.BootID())
	if os.Geteuid() == 0 {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		theirs := value(tmux.FindProcess(cmd.Process.Pid))(t)
		replay("another-users", theirs.PID, theirs.Start, tmux.BootID())
	}
	equal(t, "registered", h.sessions(), "")
	replay("itself", proc.PID, proc.Start, tmux.BootID())
	equal(t, "registered", h.sessions(), "itself")
}
