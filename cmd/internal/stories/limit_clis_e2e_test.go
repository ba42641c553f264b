//go:build e2e

package stories

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
)

// newChildRig makes a rig for one runtime whose daemons are processes that can be killed.
func newChildRig(t *testing.T, runtime string, do daemon.LimitAction) *runtimeRig {
	t.Helper()
	i := slices.IndexFunc(runtimeCases, func(c runtimeCase) bool { return c.name == runtime })
	r := newRuntimeRig(t, runtimeCases[i], false)
	r.halt()
	r.cfg.Settings.Limits.OnLimit = string(do)
	return r
}

// soon is a usage limit in the words by which a provider tells a CLI that it ends soon.
func soon(runtime string, over time.Time) claudetest.Reply {
	seconds := max(1, int(time.Until(over).Seconds()))
	switch runtime {
	case "opencode": // it tells the time of a retry only if that is far away, and passes the text on
		return claudetest.Reply{Status: http.StatusTooManyRequests, Error: fmt.Sprintf("You have hit your usage limit. Try again in %d seconds.", seconds)}
	case "gemini": // a quota of 0 is one that its own retries do not wait for
		return claudetest.Reply{Status: http.StatusTooManyRequests, Error: fmt.Sprintf("You exceeded your current quota, limit: 0. Please retry in %ds.", seconds)}
	}
	// After a 429, oh-my-pi waits by itself for what ends within five minutes.
	return claudetest.Reply{Status: http.StatusForbidden, Error: fmt.Sprintf("You have hit your usage limit. Try again in %d seconds.", seconds)}
}

// TestOthersWaitForTheirLimit: the other runtimes do not go on by themselves either: each is prompted once after the reset. The
// daemon is killed before the reset, and again when the prompt is queued.
func TestOthersWaitForTheirLimit(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"omp", "opencode", "gemini"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			r := newChildRig(t, runtime, daemon.LimitWait)
			child := r.startDaemonChild()
			a := r.newAgent()
			over := sync.OnceValue(func() time.Time { return time.Now().Add(untilReset) }) // from the first request on
			r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
				if time.Now().Before(over()) {
					return soon(runtime, over())
				}
				return complies(req)
			})
			r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
			a = r.awaitDecided(a.ID)
			if l := a.Limit; l.Kind != daemon.LimitUsage || l.Do != daemon.LimitWait || l.Until == nil || l.Until.Sub(over()).Abs() > time.Minute {
				t.Fatalf("limit %+v, want one that ends at %s", l, over())
			}
			child.kill()
			child = r.startDaemonChild()
			r.await("a prompt after the reset", func() (bool, string) { return len(r.goesOn(a.ID)) > 0, "" })
			child.kill()
			r.startDaemonChild()
			a = r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Limit == nil })
			list := r.goesOn(a.ID)
			if len(list) != 1 || list[0].Verdict == nil || *list[0].Verdict != daemon.Submitted || a.Trouble != nil || a.LastMessage != "OK" {
				t.Errorf("prompts after the reset: %+v; agent %+v", list, a)
			}
			r.wantOnce("Your usage limit has ended.")
			r.wantOnce("Now mend the roof")
		})
	}
}

// TestRetriesOfACLIBecomeALimit: the API fails, and the CLI would try again without end. After api_timeout the daemon ends the
// turn, and the agent tries again, once, with a prompt. The daemon is killed when the retries have begun, and when the turn ends.
func TestRetriesOfACLIBecomeALimit(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"omp", "opencode"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			r := newChildRig(t, runtime, daemon.LimitWait)
			r.cfg.Settings.Limits.APITimeout = 4 * time.Second
			child := r.startDaemonChild()
			a := r.newAgent()
			status := http.StatusServiceUnavailable
			if runtime == "omp" { // after a 5xx it tries for half a minute before it says so; it knows this one by the text
				status = http.StatusConflict
			}
			const prompt = "Your last turn ended with an error of the API"
			r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
				if !strings.Contains(strings.Join(req.UserTexts(), "\n"), prompt) {
					return claudetest.Reply{Status: status, Error: "The server is overloaded"}
				}
				return complies(req)
			})
			r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
			a = r.awaitAgent(a.ID, "a request that is sent again", func(a daemon.Agent) bool { return a.Trouble != nil && a.Trouble.Retrying })
			if a.State != daemon.Working || a.Limit != nil || a.Trouble.Code != "overloaded" {
				t.Errorf("agent is %s with limit %+v and trouble %+v", a.State, a.Limit, a.Trouble)
			}
			child.kill()
			child = r.startDaemonChild()
			r.await("the decision to end the turn", func() (bool, string) { return r.getAgent(a.ID).Limit != nil, "" })
			child.kill()
			r.startDaemonChild()
			a = r.awaitAgent(a.ID, "a good turn", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Limit == nil })
			list := r.goesOn(a.ID)
			if len(list) != 1 || list[0].Verdict == nil || *list[0].Verdict != daemon.Submitted || a.Trouble != nil || a.LastMessage != "OK" {
				t.Errorf("prompts after the limit: %+v; agent %+v", list, a)
			}
			r.wantOnce(prompt)
			if n := len(r.agentEvents(a.ID, "agent_limited")); n != 1 {
				t.Errorf("it was limited %d times", n)
			}
		})
	}
}

// TestOneShotsOfTheOthers: a new session of OpenCode or Gemini CLI writes the document from the transcript of an agent with a
// limit. It offers its model no tools, and leaves the person's settings and list of sessions as they are.
func TestOneShotsOfTheOthers(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"opencode", "gemini"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			r := newChildRig(t, runtime, daemon.LimitHandOver)
			other := runtime + "-work" // a second account
			r.cfg.Settings.Limits.Fallback = []string{other}
			r.cfg.Settings.Runtimes[other] = serve.RuntimeSettings{Command: r.command}
			r.startDaemonChild()
			a := r.newAgent()
			files := r.ownFiles()
			over := time.Now().Add(time.Hour)
			r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
				texts := req.UserTexts()
				isTask := func(text string) bool { return strings.HasPrefix(text, "Now mend the roof") }
				if slices.ContainsFunc(texts, isTask) {
					return soon(runtime, over)
				}
				if !slices.ContainsFunc(texts, isFork) {
					return complies(req)
				}
				if len(req.Tools) != 0 {
					t.Errorf("the one-shot offers %d tools", len(req.Tools))
				}
				return claudetest.Reply{Text: document(texts[slices.IndexFunc(texts, isFork)])}
			})
			r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
			h := r.awaitLimitHandoff(a.ID)
			if h.WrittenBy != daemon.WrittenByFallback || h.Degraded || h.Structured == nil {
				t.Errorf("handoff %+v, want a document of the fallback", h)
			}
			if next := r.awaitTakeover(h); next.Runtime != other {
				t.Errorf("successor on %s", next.Runtime)
			}
			r.wantUntouched(files)
			for _, path := range r.sessions() {
				if strings.Contains(fileText(path), "Answer with the handoff document itself") {
					t.Errorf("the one-shot has left its session in %s of the person's", path)
				}
			}
		})
	}
}

// sessions lists the files with sessions in the home of the person.
func (r *runtimeRig) sessions() (paths []string) {
	home := ""
	for _, e := range r.environ {
		if dir, is := strings.CutPrefix(e, "HOME="); is {
			home = dir
		}
	}
	for _, pattern := range []string{".gemini/tmp/*/chats/*", ".local/share/opencode/opencode.db*"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are right
		paths = append(paths, found...)
	}
	return paths
}
