package opencode

import (
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

var args = &runtimes.OwnArgs{
	Refused: runtimes.Because(map[string][]string{
		runtimes.WhySession: {"-s", "--session", "-c", "--continue", "--fork"},
		runtimes.WhyModel:   {"-m", "--model"},
		runtimes.WhyMode:    {"--agent", "--auto"},
		runtimes.WhyPrompt:  {"--prompt"},
		runtimes.WhyServer:  {"--port", "--hostname", "--mdns", "--mdns-domain", "--cors"},
		runtimes.WhyAsk:     {"-h", "--help", "-v", "--version"},
	}),
	Takes: map[string]runtimes.Arity{"--pure": runtimes.TakesNone, "--print-logs": runtimes.TakesNone, "--log-level": runtimes.TakesOne}, Long: true,
}

var account = slices.Concat(
	runtimes.Vars(runtimes.AccountPath, "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
	runtimes.Vars(runtimes.AccountOwn, "OPENCODE_CONFIG_CONTENT"),
	runtimes.Vars(runtimes.AccountSecret, "OPENCODE_API_KEY"),
	runtimes.ProviderVars,
)

func places(getenv func(string) string) (changes, fixed []string) {
	for variable, usual := range map[string]string{"XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config"} {
		dir := runtimes.FolderOf(getenv, variable, usual)
		changes = append(changes, runtimes.Below(dir, "opencode/")...)
		for _, name := range []string{
			"AGENTS.md", "agent", "agents", "bin", "command", "commands", "mode", "modes", "node_modules", "opencode.json", "opencode.jsonc", "package.json", "plugin", "plugins", "skill", "skills",
			"tool", "tools",
		} {
			fixed = append(fixed, runtimes.Below(dir, "opencode/"+name)...)
		}
	}
	return changes, append(fixed, runtimes.Below(getenv("OPENCODE_CONFIG_DIR"), "/")...)
}
