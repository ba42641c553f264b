package runtimes

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// AccountVar is a variable by which a CLI knows its account, its API or its own folder: what a successor of a session that a
// person started needs, so that it works where and as whom that session did. A variable that is on no list is never carried.
type AccountVar struct {
	Name string
	Kind AccountKind
}

// AccountKind says how the value of an [AccountVar] is carried.
type AccountKind int

// The kinds of variables.
const (
	AccountPlain  AccountKind = iota // the value is stored in the agent's row
	AccountSecret                    // the value is only in files of a launch, and the row has the name
	AccountPath                      // a path; it is stored absolute
	AccountOwn                       // the launch gives the CLI a value of its own, so that the person's does not hold
)

// Account is the account of a session that a person started, as its process was given it. It has no secrets.
type Account struct {
	Variables map[string]string `json:"variables"` // by their names
	Secrets   []string          `json:"secrets"`   // the names of those whose values only files of a launch hold
	Left      []string          `json:"left"`      // the names of those that are not carried, because their values are not clean
	Lost      []string          `json:"lost"`      // the names of the secrets that the agent was launched without: nobody had them any more
}

// maxAccountValue is the longest value that is carried, in bytes.
const maxAccountValue = 16 << 10

// ReadAccount takes the account out of the environment of a session's process. dir is the directory in which the process was
// started. The secrets are returned apart, as NAME=value.
func ReadAccount(environ []string, dir string) (a Account, secrets []string) {
	a = Account{Variables: map[string]string{}, Secrets: []string{}, Left: []string{}, Lost: []string{}}
	listed := accountVars()
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		kind, ok := listed[name]
		_, again := a.Variables[name]
		switch {
		case !ok || value == "" || again || slices.Contains(a.Secrets, name) || slices.Contains(a.Left, name):
		case kind == AccountOwn || !cleanAccount(value):
			a.Left = append(a.Left, name)
		case kind == AccountSecret || hasCredentials(value):
			a.Secrets, secrets = append(a.Secrets, name), append(secrets, kv)
		case strings.Contains(value, "\n"):
			a.Left = append(a.Left, name)
		case kind == AccountPath && !filepath.IsAbs(value):
			a.Variables[name] = filepath.Join(dir, value)
		default:
			a.Variables[name] = value
		}
	}
	slices.Sort(a.Secrets)
	slices.Sort(secrets)
	slices.Sort(a.Left)
	return a, secrets
}

// cleanAccount refuses a value that no account has: too long, or with characters that no terminal or file should get. A list of
// headers has line breaks.
func cleanAccount(value string) bool {
	return len(value) <= maxAccountValue && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' })
}

// hasCredentials reports whether a value is an address with a password or a token in it.
func hasCredentials(value string) bool {
	if !strings.Contains(value, "://") {
		return false
	}
	u, err := url.Parse(value)
	return err != nil || u.User != nil || u.RawQuery != ""
}

// AccountEnviron returns the environment for an agent of the runtime: base, with the account in place of what base says of one.
// A nil account leaves base as it is. secrets are those that [ReadAccount] returned; lost are the names of those that are missing.
func (rt *Runtime) AccountEnviron(base []string, a *Account, secrets []string) (environ, lost []string) {
	if a == nil {
		return slices.Clone(base), nil
	}
	kinds := rt.accountKinds()
	environ = slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, listed := kinds[name]
		return listed
	})
	for _, name := range slices.Sorted(maps.Keys(a.Variables)) {
		if _, listed := kinds[name]; listed {
			environ = append(environ, name+"="+a.Variables[name])
		}
	}
	for _, name := range rt.AccountSecrets(a) {
		i := slices.IndexFunc(secrets, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if i < 0 {
			lost = append(lost, name)
			continue
		}
		environ = append(environ, secrets[i])
	}
	return environ, lost
}

// AccountSecrets returns the names of the account's secrets that the runtime reads.
func (rt *Runtime) AccountSecrets(a *Account) []string { return rt.reads(a.Secrets) }

// AccountLeft returns the names of the account's variables that the runtime reads, and that an agent of it is launched without.
func (rt *Runtime) AccountLeft(a *Account) []string {
	left := rt.reads(a.Left)
	slices.Sort(left)
	return left
}

// AccountNames returns the names of all the account's variables that the runtime reads.
func (rt *Runtime) AccountNames(a *Account) []string {
	names := rt.reads(slices.Concat(slices.Collect(maps.Keys(a.Variables)), a.Secrets, a.Left))
	slices.Sort(names)
	return names
}

func (rt *Runtime) reads(names []string) (read []string) {
	kinds := rt.accountKinds()
	for _, name := range names {
		if _, listed := kinds[name]; listed {
			read = append(read, name)
		}
	}
	return read
}

func (rt *Runtime) accountKinds() map[string]AccountKind {
	kinds := make(map[string]AccountKind, len(rt.Account))
	for _, v := range rt.Account {
		kinds[v.Name] = v.Kind
	}
	return kinds
}

// accountVars are the variables of all runtimes: a person's shell may configure several CLIs, and the successor may be another one
// than the session.
var accountVars = sync.OnceValue(func() map[string]AccountKind {
	kinds := map[string]AccountKind{}
	for _, rt := range all {
		maps.Copy(kinds, rt.accountKinds())
	}
	return kinds
})

func vars(kind AccountKind, names ...string) (list []AccountVar) {
	for _, name := range names {
		list = append(list, AccountVar{name, kind})
	}
	return list
}

// The lists of the runtimes. None of them may have a variable that names what is run: PATH, LD_…, NODE_OPTIONS, a shell. The
// table in docs/runtimes.md has the same names; a test compares them.
var (
	awsVars = slices.Concat(
		vars(AccountPlain, "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"),
		vars(AccountPath, "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
		vars(AccountSecret, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"),
	)
	googleVars = slices.Concat(
		vars(AccountPlain, "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
		vars(AccountPath, "GOOGLE_APPLICATION_CREDENTIALS"),
	)
	claudeAccount = slices.Concat(
		vars(AccountPath, "CLAUDE_CONFIG_DIR"),
		vars(AccountSecret, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_FOUNDRY_API_KEY"),
		vars(AccountPlain, "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION",
			"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
			"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "ANTHROPIC_BEDROCK_BASE_URL",
			"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION",
			"CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE"),
		awsVars, googleVars,
	)
	codexAccount = slices.Concat(
		vars(AccountPath, "CODEX_HOME", "CODEX_SQLITE_HOME"),
		vars(AccountSecret, "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY"),
		vars(AccountPlain, "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"),
	)
	// providerVars are read by the CLIs that speak to many APIs.
	providerVars = slices.Concat(
		vars(AccountSecret, "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY",
			"GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "ZAI_API_KEY", "ZHIPU_API_KEY", "MOONSHOT_API_KEY", "CEREBRAS_API_KEY",
			"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
		vars(AccountPlain, "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "AZURE_RESOURCE_NAME"),
		awsVars, googleVars,
	)
	opencodeAccount = slices.Concat(
		vars(AccountPath, "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
		vars(AccountOwn, "OPENCODE_CONFIG_CONTENT"),
		vars(AccountSecret, "OPENCODE_API_KEY"),
		providerVars,
	)
	ompAccount    = slices.Concat(vars(AccountPath, "PI_CODING_AGENT_DIR"), providerVars)
	geminiAccount = slices.Concat(
		vars(AccountPath, "GEMINI_CLI_HOME"),
		vars(AccountSecret, "GEMINI_API_KEY", "GOOGLE_API_KEY"),
		vars(AccountPlain, "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT_ID", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
			"GEMINI_MODEL"),
		googleVars,
	)
)
