//go:build e2e

package stories

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// shortAck is how long a text may take to be confirmed until the permissions are told. On a busy machine the CLI, just started, has shown a
// text 3 s after it was pasted.
const shortAck = 8 * time.Second

// TestClaude is what understudy needs of Claude Code beyond TestRuntime. One line of agents tells most of it, because each start
// of the CLI takes seconds. The person has never started the CLI, has a subscription, and works in a repository.
func TestClaude(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	r.cfg.Environ = append(r.cfg.Environ, "CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000")
	r.cfg.Settings.Handoff.AckTimeout = shortAck
	r.cfg.Settings.Permissions.Hold = 50 * time.Minute
	r.cfg.Settings.Limits.OnLimit = daemon.LimitWait
	enableAuto(r.rig)
	r.makeRepository()
	r.home.Forget(t)
	r.addMCP()
	writeTemplate(r.rig, "one", "developer")
	r.start()
	r.database() // its connections must outlive the first story
	if !t.Run("pipeline", func(t *testing.T) { r.as(t, r.startsInAPipeline) }) {
		t.Fatal("the CLI was not led through its questions, and would ask again")
	}
	r.personSets(nil)
	r.relay(t, leg{"attach", isSeenAndAsks}, leg{"tree", handsOverFromATree}, leg{"permissions", answersPermissions}, leg{"fork after cd", cancelsForkAfterCd}, leg{"fork and Esc", cancelsByEsc},
		leg{"fork of the model", asksByItself}, leg{"fork of a person", handsOverByCommand},
		leg{"limit", waitsForItsLimit}, leg{"compaction", isForkedInPlaceOfACompaction})
	for _, path := range []string{"commands", "skills"} { // the agents know /handoff all the same
		wantNoFile(t, filepath.Join(r.home.ConfigDir, path))
	}
}

// addMCP adds our MCP server to the person's own settings, as the manual says, and allows its tools.
func (r *claudeRig) addMCP() {
	r.t.Helper()
	add := exec.Command(r.cli, "mcp", "add", "--scope", "user", "understudy", "--", cmdtest.MainProgram(r.t), "mcp")
	add.Env, add.Dir = r.home.Environ, r.home.Workdir
	if out, err := add.CombinedOutput(); err != nil {
		r.t.Fatalf("mcp add: %v\n%s", err, out)
	}
	r.cfg.Settings.Runtimes["claude"] = serve.RuntimeSettings{Command: append([]string{r.cli, "--allowedTools", "mcp__understudy"}, manual...)}
}

// personSets writes the person's own settings. The CLI has a subscription, may not go on by itself after a limit, and does not begin a
// session while a file stands in the way.
func (r *claudeRig) personSets(statusLine map[string]any) {
	r.t.Helper()
	environ := map[string]string{}
	for _, e := range claudetest.Subscription() {
		name, value, _ := strings.Cut(e, "=")
		environ[name] = value
	}
	settings := map[string]any{"env": environ, "autoContinueAtUsageLimit": false}
	if statusLine != nil {
		settings["statusLine"] = statusLine
	}
	b := value(json.Marshal(settings))(r.t)
	path := filepath.Join(r.home.ConfigDir, "settings.json")
	writeFile(r.rig, path, string(b))
	writeSettings(r.t, path, hooks.SessionStart, "while test -e '"+r.obstacle()+"'; do sleep 0.3; done")
}

func (r *claudeRig) obstacle() string { return filepath.Join(r.home.Dir, "slow") }
