package gemini

import (
	"path/filepath"
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

var args = &runtimes.OwnArgs{
	Refused: runtimes.Because(map[string][]string{
		runtimes.WhySession:  {"--session-id", "-r", "--resume", "--session-file", "--delete-session"},
		runtimes.WhyModel:    {"-m", "--model"},
		runtimes.WhyMode:     {"--approval-mode", "-y", "--yolo"},
		runtimes.WhyCwd:      {"-w", "--worktree"},
		runtimes.WhyPrompt:   {"-i", "--prompt-interactive"},
		runtimes.WhyHeadless: {"-p", "--prompt", "-o", "--output-format", "--acp", "--experimental-acp", "-s", "--sandbox"},
		runtimes.WhyHooks:    {"--screen-reader", "--admin-policy"},
		runtimes.WhyAsk:      {"-h", "--help", "-v", "--version", "--list-sessions", "-l", "--list-extensions"},
	}),
	Takes: map[string]runtimes.Arity{"--skip-trust": runtimes.TakesNone, "--debug": runtimes.TakesNone}, Long: true,
}

var account = slices.Concat(
	runtimes.Vars(runtimes.AccountPath, "GEMINI_CLI_HOME"),
	runtimes.Vars(runtimes.AccountSecret, "GEMINI_API_KEY", "GOOGLE_API_KEY"),
	runtimes.Vars(runtimes.AccountPlain, "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT_ID", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
		"GEMINI_MODEL"),
	runtimes.GoogleVars,
)

// places: the user's own folder, to which that of the launch has links.
func places(getenv func(string) string) (changes, fixed []string) {
	home := getenv("GEMINI_CLI_HOME")
	if home == "" {
		home = getenv("HOME")
	}
	fixed = runtimes.Below(filepath.Join(home, ".gemini"), ".env", "GEMINI.md", "commands", "extensions", "policies", "settings.json", "skills", "trustedFolders.json")
	return runtimes.Below(home, ".gemini/"), append(fixed, runtimes.Below(home, ".agents", ".env")...)
}
