package claude

import (
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

var args = &runtimes.OwnArgs{
	Refused: runtimes.Because(map[string][]string{
		runtimes.WhySession:  {"--session-id", "--resume", "--continue", "--fork-session", "--from-pr", "--teleport", "--name"},
		runtimes.WhyModel:    {"--model"},
		runtimes.WhyMode:     {"--permission-mode", "--dangerously-skip-permissions"},
		runtimes.WhyCwd:      {"--worktree", "--tmux"},
		runtimes.WhySkill:    {"--system-prompt", "--system-prompt-file", "--append-system-prompt", "--append-system-prompt-file", "--system-prompt-snapshot"},
		runtimes.WhyHeadless: {"--print", "--background", "--bg", "--cloud", "--environment", "--remote-control", "--remote-control-session-name-prefix", "--input-format", "--output-format", "--json-schema", "--max-budget-usd", "--permission-prompts"},
		runtimes.WhyHooks:    {"--settings", "--bare", "--safe-mode", "--ax-screen-reader", "--disable-slash-commands"},
		runtimes.WhyAsk:      {"--help", "--version"},
	}),
	Takes: kept, Long: true,
}

var account = slices.Concat(
	runtimes.Vars(runtimes.AccountPath, "CLAUDE_CONFIG_DIR"),
	runtimes.Vars(runtimes.AccountSecret, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_FOUNDRY_API_KEY"),
	runtimes.Vars(runtimes.AccountPlain, "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION",
		"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "ANTHROPIC_BEDROCK_BASE_URL",
		"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION",
		"CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE"),
	runtimes.AWSVars, runtimes.GoogleVars,
)

// places: the folder of its settings and transcripts, and the file beside it in which it keeps what it was asked at a start.
func places(getenv func(string) string) (changes, fixed []string) {
	dir := runtimes.ConfigDir(getenv)
	if changes = runtimes.Below(dir, "/"); getenv("CLAUDE_CONFIG_DIR") == "" {
		changes = append(changes, runtimes.Below(getenv("HOME"), ".claude.json")...)
	}
	return changes, runtimes.Below(dir, "settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "hooks", "keybindings.json", "output-styles", "plugins", "rules", "skills")
}
