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
