package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestReadReturnsChoices(t *testing.T) {
	t.Parallel()
	answer := func(model string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","model":%q,"content":[]}}`+"\n", model)
	}
	prompt := func(mode string) string {
		return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":"go on"},"permissionMode":%q}`+"\n", mode)
	}
	set := func(what string) string {
		return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":"<local-command-stdout>Set model to %s</local-command-stdout>"}}`+"\n", what)
	}
	turn := func(model, sandbox string) string {
		return fmt.Sprintf(`{"type":"turn_context","payload":{"approval_policy":"on-request","model":%q,"sandbox_policy":{"type":%q}}}`+"\n", model, sandbox)
	}
	for name, tt := range map[string]struct {
		rt   *runtimes.Runtime
		text string
		far  int64
		want Choices
	}{
		"nobody has changed it":  {rt: claude.Runtime, text: prompt("auto") + answer("a"), want: Choices{Mode: "auto", Began: "auto"}},
		"another model answered": {rt: claude.Runtime, text: prompt("auto") + answer("a") + answer("b"), want: Choices{Mode: "auto", Began: "auto"}},
		"changed":                {rt: claude.Runtime, text: prompt("auto") + answer("a") + set("B") + prompt("plan") + answer("b"), want: Choices{Model: "b", Mode: "plan", Began: "auto"}},
		"changed twice":          {rt: claude.Runtime, text: answer("a") + set("B (1M context)") + answer("b") + set("C") + answer("c"), want: Choices{Model: "c"}},
		"a large window":         {rt: claude.Runtime, text: set("B (1M context)") + answer("b"), want: Choices{Model: "b[1m]"}},
		"no answer since":        {rt: claude.Runtime, text: set("B") + answer("b") + set("C"), want: Choices{}},
		"codex":                  {rt: codex.Runtime, text: turn("a", "workspace-write") + turn("b", "read-only"), want: Choices{Model: "b", Mode: "read-only", Began: "workspace-write"}},
		"codex, back again":      {rt: codex.Runtime, text: turn("a", "workspace-write") + turn("b", "read-only") + turn("a", "read-only"), want: Choices{Mode: "read-only", Began: "workspace-write"}},
		"the beginning was not read": {rt: codex.Runtime, text: turn("a", "workspace-write") + strings.Repeat(turn("b", "read-only"), 3),
			far: int64(len(turn("b", "read-only")) * 2), want: Choices{}},
	} {
		wardentest.Equal(t, name, wardentest.Value(Read(t.Context(), tt.rt, transcripttest.File(t, tt.text), Want{Choices: true, Far: tt.far}))(t).Choices, tt.want)
	}
}
