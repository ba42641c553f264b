package runtimes

import (
	"maps"
	"slices"
	"strings"
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

// AccountEnviron returns the environment for an agent of the runtime: base, with the account in place of what base says of one.
// A nil account leaves base as it is. secrets are those that catalog.ReadAccount returned; lost are the names of those that are missing.
func (rt *Runtime) AccountEnviron(base []string, a *Account, secrets []string) (environ, lost []string) {
	if a == nil {
		return slices.Clone(base), nil
	}
	kinds := rt.AccountKinds()
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
	kinds := rt.AccountKinds()
	for _, name := range names {
		if _, listed := kinds[name]; listed {
			read = append(read, name)
		}
	}
	return read
}

func (rt *Runtime) AccountKinds() map[string]AccountKind {
	kinds := make(map[string]AccountKind, len(rt.Account))
	for _, v := range rt.Account {
		kinds[v.Name] = v.Kind
	}
	return kinds
}

func Vars(kind AccountKind, names ...string) (list []AccountVar) {
	for _, name := range names {
		list = append(list, AccountVar{name, kind})
	}
	return list
}

// The lists of the runtimes. None of them may have a variable that names what is run: PATH, LD_…, NODE_OPTIONS, a shell. The
// table in docs/runtimes.md has the same names; a test compares them.
var (
	AWSVars = slices.Concat(
		Vars(AccountPlain, "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"),
		Vars(AccountPath, "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
		Vars(AccountSecret, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"),
	)
	GoogleVars = slices.Concat(
		Vars(AccountPlain, "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
		Vars(AccountPath, "GOOGLE_APPLICATION_CREDENTIALS"),
	)
	// ProviderVars are read by the CLIs that speak to many APIs.
	ProviderVars = slices.Concat(
		Vars(AccountSecret, "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY",
			"GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "ZAI_API_KEY", "ZHIPU_API_KEY", "MOONSHOT_API_KEY", "CEREBRAS_API_KEY",
			"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
		Vars(AccountPlain, "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "AZURE_RESOURCE_NAME"),
		AWSVars, GoogleVars,
	)
)
