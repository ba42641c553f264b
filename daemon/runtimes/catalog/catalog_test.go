package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestFor(t *testing.T) {
	t.Parallel()
	equal(t, "claude", wardentest.Value(For("claude"))(t).Name, "claude")
	wardentest.Failed(For("nano"))(t, "nano", `"nano"`)
}

func TestStripEnv(t *testing.T) {
	t.Parallel()
	in := []string{"HOME=/root", "UNDERSTUDY_LAUNCH=s", "PGPASSWORD=x", "TMUX=/t,1,0", "TMUX_PANE=%1", "CLAUDECODE=1",
		"CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_PID=1", "CLAUDE_PROJECT_DIR=/x", "CLAUDE_ENV_FILE=f",
		"CLAUDE_EFFORT=medium", "CLAUDE_CODE_MESSAGING_TOKEN=t", "CLAUDE_CODE_CHILD_SESSION=1", "AI_AGENT=x",
		"CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_AUTH_TOKEN=t", "CLAUDE_CODE_MAX_RETRIES=1", "PATH=/bin", "ODD"}
	want := "HOME=/root CLAUDE_CONFIG_DIR=/c ANTHROPIC_AUTH_TOKEN=t CLAUDE_CODE_MAX_RETRIES=1 PATH=/bin ODD"
	before := slices.Clone(in)
	equal(t, `strings.Join(StripEnv(in), " ")`, strings.Join(StripEnv(in), " "), want)
	equal(t, "StripEnv changed its argument", in, before)
}
