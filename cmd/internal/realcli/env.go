package realcli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// Model is the model that the homes configure, in the CLI's own words. Its window has [Window] tokens; only Gemini does
// not let us choose it.
func (c CLI) Model() string {
	return map[CLI]string{Codex: "gpt-5.5", OpenCode: "fake/fake-1", Pi: "fake/fake-1", Gemini: "gemini-3.8-flash"}[c]
}

// Window is the size of the model's context window, in tokens.
const Window = 100_000

// Home is a private place for one or more sessions of one CLI.
type Home struct {
	Dir       string   // HOME
	ConfigDir string   // the CLI's own directory: CODEX_HOME, PI_CODING_AGENT_DIR, …
	Workdir   string   // a trusted working directory, without git
	TempDir   string   // TMPDIR
	SystemDir string   // a directory to which only this user can write, as Gemini demands of the one with system settings
	Environ   []string // the whole environment of the CLI, for exec
	// Args start the CLI without a dialog, and let its tools run without asking. They are for tests that start the CLI
	// themselves: the daemon has arguments of its own.
	Args []string
}

// Env makes a home in which the CLI starts without log-in, trust dialog and look for updates, and knows no server but
// api. The API's key and address are in the environment or in the user's own configuration, so that a launch may add
// configuration of its own. It removes everything when the test or its process ends.
func Env(t testing.TB, cli CLI, api *claudetest.FakeAPI) Home {
	t.Helper()
	root, err := os.MkdirTemp("", "us-rc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) }) // it may fail if a process that is just ending still writes; that does no harm
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	h := Home{Dir: filepath.Join(root, "home"), Workdir: filepath.Join(root, "work"), TempDir: filepath.Join(root, "tmp")}
	for _, dir := range []string{h.Dir, h.Workdir, h.TempDir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.Environ = []string{
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"TERM=tmux-256color",
		"SHELL=/bin/sh",
		"HOME=" + h.Dir,
		"TMPDIR=" + h.TempDir,
		// A CLI that looks for another server finds none: nothing listens there.
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
	}
	url := api.URL + "/" + string(cli)
	switch cli {
	case Codex:
		h.codex(t, url)
	case OpenCode:
		h.openCode(t, url)
	case Pi:
		h.pi(t, url)
	case Gemini:
		h.gemini(t, url)
	default:
		t.Fatalf("no CLI %q", cli)
	}
	return h
}

const nowhere = "http://127.0.0.1:9"

// Command returns the argv that starts the CLI in the home with further arguments.
func (h Home) Command(cli []string, args ...string) []string {
	argv := append([]string{"env", "-i"}, h.Environ...)
	argv = append(append(argv, cli...), h.Args...)
	return append(argv, args...)
}

func (h *Home) codex(t testing.TB, url string) {
	h.ConfigDir = filepath.Join(h.Dir, ".codex")
	// With the model that it knows, the CLI would propose a newer one; what is below is what it saves as our answer, and after its fourth start of announcing another one.
	write(t, filepath.Join(h.ConfigDir, "config.toml"), fmt.Sprintf(`model = %q
model_provider = "fake"
model_context_window = %d
check_for_update_on_startup = false
analytics.enabled = false

[model_providers.fake]
name = "fake"
base_url = %q
env_key = "REALCLI_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[projects.%q]
trust_level = "trusted"

[notice]
hide_rate_limit_model_nudge = true

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui]
screen_reader_detection_done = true

[tui.model_availability_nux]
"gpt-6.1-sol" = 4
`, Codex.Model(), Window, url+"/v1", h.Workdir))
	h.Environ = append(h.Environ, "CODEX_HOME="+h.ConfigDir, "REALCLI_KEY=dummy")
	h.Args = []string{"--no-daemon", "--dangerously-bypass-hook-trust", "-s", "danger-full-access", "-a", "never"}
}

func (h *Home) openCode(t testing.TB, url string) {
	h.ConfigDir = filepath.Join(h.Dir, ".config", "opencode")
	h.openCodeConfig(t, url, "allow")
	// At each start the CLI reads a list of all providers' models that stands in its program, and checks each: 8 of a start's 17 s of
	// CPU (1.18.33). With an empty list in its place it knows the model of its settings alone.
	models := filepath.Join(h.TempDir, "models.json")
	writeJSON(t, models, map[string]any{})
	h.Environ = append(h.Environ, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_MODELS_PATH="+models)
}

func (h *Home) openCodeConfig(t testing.TB, url, permission string) {
	t.Helper()
	writeJSON(t, filepath.Join(h.ConfigDir, "opencode.json"), map[string]any{
		"model": OpenCode.Model(), "small_model": OpenCode.Model(), "enabled_providers": []string{"fake"},
		"autoupdate": false, "share": "disabled",
		"permission": map[string]any{"bash": permission, "edit": permission},
		"provider": map[string]any{"fake": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Fake",
			"options": map[string]any{"baseURL": url + "/v1", "apiKey": "dummy"},
			"models": map[string]any{"fake-1": map[string]any{
				"name": "Fake One", "limit": map[string]any{"context": Window, "output": 8000}, "tool_call": true}},
		}},
	})
}

func (h *Home) pi(t testing.TB, url string) {
	h.ConfigDir = filepath.Join(h.Dir, ".omp", "agent")
	writeJSON(t, filepath.Join(h.ConfigDir, "models.yml"), map[string]any{"providers": map[string]any{"fake": map[string]any{
		"baseUrl": url + "/v1", "apiKey": "dummy", "api": "openai-completions",
		"models": []any{map[string]any{"id": "fake-1", "name": "Fake One", "reasoning": false, "input": []string{"text"},
			"contextWindow": Window, "maxTokens": 8000, "cost": map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}},
	}}})
	// The setup of a first start is done, and the CLI looks for no update. Without the moving picture that welcomes a person, and without
	// the optimising compiler (see claudetest.Env), a start takes 5.3 s of CPU instead of 8.3 (18.2.3).
	writeJSON(t, filepath.Join(h.ConfigDir, "config.yml"), map[string]any{"setupVersion": 2, "startup": map[string]any{"checkUpdate": false, "quiet": true}})
	h.Environ = append(h.Environ, "PI_CODING_AGENT_DIR="+h.ConfigDir, "PI_OFFLINE=1", "BUN_JSC_useDFGJIT=0")
	h.Args = []string{"--model", Pi.Model(), "--no-lsp", "--approval-mode", "yolo"}
}

func (h *Home) gemini(t testing.TB, url string) {
	h.ConfigDir = filepath.Join(h.Dir, ".gemini")
	writeJSON(t, filepath.Join(h.ConfigDir, "settings.json"), map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
		"ide":      map[string]any{"enabled": false},
		"model":    map[string]any{"name": Gemini.Model()}, // else another request asks which model is to answer
	})
	cache, err := npmtest.Cache()
	if err != nil {
		t.Fatal(err)
	}
	if h.SystemDir, err = wardentest.Folder(cache); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(h.SystemDir) })
	writeJSON(t, filepath.Join(h.ConfigDir, "trustedFolders.json"), map[string]any{h.Workdir: "TRUST_FOLDER", h.SystemDir: "TRUST_FOLDER"})
	h.Environ = append(h.Environ, "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_CLI_NO_RELAUNCH=true",
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH="+filepath.Join(h.SystemDir, "settings.json"))
	h.Args = []string{"--skip-trust", "--approval-mode", "yolo"}
}

// AskFirst makes the CLI ask before it runs a command or writes a file. It must be called before the CLI is started.
func (h *Home) AskFirst(t testing.TB, cli CLI, api *claudetest.FakeAPI) {
	t.Helper()
	last := len(h.Args) - 1
	switch cli {
	case Codex:
		h.Args = append(h.Args[:last-2], "read-only", "-a", "on-request")
	case OpenCode:
		h.openCodeConfig(t, api.URL+"/"+string(cli), "ask")
	case Pi:
		h.Args[last] = "always-ask"
	case Gemini:
		h.Args[last] = "default"
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeJSON writes a file in JSON, which is YAML as well.
func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b))
}
