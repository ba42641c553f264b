//go:build e2e

package stories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/hooks"
)

// TestSandbox: an agent in a sandbox reaches its work tree and what it needs to be handed over, and nothing else: no secrets, no processes, no
// other agent's files, also by what it says in its hooks. What it says while no daemon runs is not lost. Its successor is in a sandbox as well.
func TestSandbox(t *testing.T) {
	t.Parallel()
	r := withShells(newRig(t))
	home := child.Getenv(r.cfg.Environ, "HOME")
	writeFile(r, filepath.Join(home, "secret"), "s3cret")
	must(t, os.MkdirAll(filepath.Join(home, ".claude"), 0o700))
	writeFile(r, filepath.Join(home, ".claude", "settings.json"), "{}")
	if out, err := exec.Command("git", "init", "-q", r.work).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	r.cfg.Environ = append(r.cfg.Environ, "DEPLOY_KEY=s3cret")
	r.cfg.Settings.Sandbox = sandbox.Settings{
		Env: []string{"SCRIPTED_AGENT_FILE"}, Read: []string{filepath.Dir(cmdtest.AgentProgram(t)), r.behave}, Write: []string{filepath.Dir(t.TempDir())},
	}
	r.start()
	other := r.startAgent("")
	in := agents.NewAgent{Persona: con, Cwd: home, Sandbox: true}
	if _, err := r.client.CreateAgent(t.Context(), in); err == nil || !strings.Contains(err.Error(), "give the agent a directory that holds nothing else") {
		t.Errorf("an agent that would have the whole home: %v", err)
	}
	in.Cwd = r.work
	a := r.createAgent(in)
	a = r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
	outside := func(name string) string { return filepath.Join(r.root, name) }
	for line, may := range map[string]bool{
		"touch done && git add done && ln -s '" + home + "' link":            true,
		"echo learned >>'" + outside("personas/"+con+"/experience.md") + "'": true,
		"touch '" + outside("personas/"+con+"/handoffs/x.md") + "'":          true,
		"test -S \"$UNDERSTUDY_SOCKET\" && test -w '" + home + "/.claude'":   true,
		"cat '" + home + "/secret'":                                          false,
		"test -n \"$DEPLOY_KEY\"":                                            false,
		"ls '" + outside("run/token") + "'":                                  false,
		"ls '" + r.dir.Socket() + "'":                                        false,
		"ls '" + r.dir.TmuxSocket() + "'":                                    false,
		"ls '" + r.dir.Launch(other.ID) + "'":                                false,
		"echo x >>'" + outside("personas/"+con+"/skill.md") + "'":            false,
		"echo x >>'" + r.dir.Launch(a.ID) + "/launch.json'":                  false,
		"echo x >>'" + home + "/.claude/settings.json'":                      false,
		"git config alias.x '!sh'":                                           false,
		fmt.Sprintf("kill -0 %d", os.Getpid()):                               false,
		fmt.Sprintf("ls /proc/%d/environ", os.Getpid()):                      false,
	} {
		if code, out, said := runInside(r, a.ID, "", line); (code == 0) != may {
			t.Errorf("%s: exit %d, %s%s; want success: %t", line, code, out, said, may)
		}
	}
	// A hook that names what the agent does not have: the daemon would read it, and the successor would have it. No daemon runs at the last one.
	tells := func(event string) {
		body := fmt.Sprintf(`{"session_id":"%[1]s","hook_event_name":"%[2]s","prompt":"x","last_assistant_message":"told to nobody","cwd":"%[3]s/link","transcript_path":"%[3]s/link/secret"}`, *a.SessionID, event, r.work)
		if code, _, said := runInside(r, a.ID, body, fmt.Sprintf("CLAUDE_PID=2 '%s' hook %s", r.dir.HookProgram(), event)); code != 0 || said != "" {
			t.Errorf("hook %s: exit %d, %s", event, code, said)
		}
	}
	tells("SessionStart")
	tells("UserPromptSubmit")
	r.awaitState(a.ID, daemon.Working)
	r.halt()
	tells("Stop")
	if n, err := hooks.OpenSpool(r.dir.Spool()).Len(); n != 1 || err != nil {
		t.Errorf("%d hooks wait in the spool (%v)", n, err)
	}
	must(t, hooks.OpenSpool(r.dir.AgentSpool(a.ID)).Put(hooks.Envelope{Key: hooks.NewKey(time.Now()), Event: hooks.Stop, AgentPID: os.Getpid()})) // for a person's agent
	r.start()
	if bad, err := os.ReadDir(outside("spool/bad")); len(bad) != 1 || err != nil {
		t.Errorf("%d hooks were set aside (%v)", len(bad), err)
	}
	now := r.awaitAgent(a.ID, "heard", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.LastMessage == "told to nobody" })
	if now.Cwd != a.Cwd || *now.TranscriptPath != *a.TranscriptPath {
		t.Errorf("the agent works in %s and has the transcript %s", now.Cwd, *now.TranscriptPath)
	}
	_, _, next := handOver(r, a.ID)
	h := r.awaitPhase(r.requestHandoffAs(next.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate}), daemon.Completed)
	if last := awaitTakeover(r, h); !next.Sandbox || !last.Sandbox {
		t.Error("a successor is in no sandbox")
	}
}
