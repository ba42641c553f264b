package codex

import (
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
)

var args = &runtimes.OwnArgs{
	Refused: runtimes.Because(map[string][]string{
		runtimes.WhyModel:    {"-m", "--model"},
		runtimes.WhyMode:     {"-s", "--sandbox", "-a", "--ask-for-approval", "--approve-for-me", "--full-auto", "--yolo", "--dangerously-bypass-approvals-and-sandbox"},
		runtimes.WhyCwd:      {"-C", "--cd"},
		runtimes.WhyHeadless: {"--remote"},
		runtimes.WhyHooks:    {"--no-daemon", "--dangerously-bypass-hook-trust"},
		runtimes.WhyAsk:      {"-h", "--help", "-V", "--version"},
	}),
	Takes: map[string]runtimes.Arity{"--search": runtimes.TakesNone, "--no-alt-screen": runtimes.TakesNone, "--oss": runtimes.TakesNone, "-c": runtimes.TakesOne, "--config": runtimes.TakesOne, "--add-dir": runtimes.TakesOne, "--enable": runtimes.TakesOne, "--disable": runtimes.TakesOne, "-p": runtimes.TakesOne, "--profile": runtimes.TakesOne},
	Check: func(flag, value string) string {
		if flag != "-c" && flag != "--config" {
			return ""
		}
		key, _, _ := strings.Cut(value, "=")
		key = strings.TrimSpace(key)
		switch root, _, _ := strings.Cut(key, "."); root {
		case "hooks":
			return runtimes.WhyHooks
		case "developer_instructions":
			return runtimes.WhySkill
		case "model":
			return runtimes.WhyModel
		case "sandbox_mode", "approval_policy":
			return runtimes.WhyMode
		case "check_for_update_on_startup", "analytics", "notice":
			return "understudy sets it, so that no dialog waits for an answer that nobody gives"
		}
		return ""
	},
}

var account = slices.Concat(
	runtimes.Vars(runtimes.AccountPath, "CODEX_HOME", "CODEX_SQLITE_HOME"),
	runtimes.Vars(runtimes.AccountSecret, "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY"),
	runtimes.Vars(runtimes.AccountPlain, "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"),
)

func places(getenv func(string) string) (changes, fixed []string) {
	dir := runtimes.FolderOf(getenv, "CODEX_HOME", ".codex")
	fixed = runtimes.Below(dir, "config.toml", "hooks.json", "AGENTS.md", "AGENTS.override.md", "plugins", "prompts", "rules", "skills")
	return append(runtimes.Below(dir, "/"), runtimes.Below(getenv("CODEX_SQLITE_HOME"), "/")...), fixed
}
