package omp

import (
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

var args = &runtimes.OwnArgs{
	Refused: runtimes.Because(map[string][]string{
		runtimes.WhySession:  {"-r", "--resume", "-c", "--continue", "--session", "--session-dir", "--no-session", "--fork"},
		runtimes.WhyModel:    {"--model"},
		runtimes.WhyMode:     {"--approval-mode", "--auto-approve"},
		runtimes.WhySkill:    {"--system-prompt", "--append-system-prompt"},
		runtimes.WhyHeadless: {"-p", "--print", "--mode"},
		runtimes.WhyHooks:    {"--config", "--no-extensions"},
		runtimes.WhyAsk:      {"-h", "--help", "-v", "--version", "--list-models", "--export"},
	}),
	Takes: map[string]runtimes.Arity{"--no-title": runtimes.TakesNone, "--no-tools": runtimes.TakesNone}, Long: true,
}

var account = slices.Concat(runtimes.Vars(runtimes.AccountPath, "PI_CODING_AGENT_DIR"), runtimes.ProviderVars)

func places(getenv func(string) string) (changes, fixed []string) {
	dir := runtimes.FolderOf(getenv, "PI_CODING_AGENT_DIR", ".omp/agent")
	fixed = runtimes.Below(dir, "AGENTS.md", "SYSTEM.md", "agents", "commands", "config.yml", "extensions", "hooks", "models.yml", "plugins", "rules", "skills", "tools")
	return runtimes.Below(dir, "/"), append(fixed, runtimes.Below(getenv("HOME"), ".omp/plugins")...)
}
