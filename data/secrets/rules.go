package secrets

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// rule says how one kind of secret is found. Only where one of its words stands, its pattern is tried, from there on. So a text without the
// words costs no more than the search for them.
type rule struct {
	name    string
	words   []string
	pattern string // its first group is the secret; without a group, all of it is
	entropy float64
	anyCase bool                           // the words are in lower case and stand for any
	inside  bool                           // the words may stand inside of a longer word
	open    bool                           // what stands behind the secret does not matter
	check   func(whole, value string) bool // whether a match is a secret, after all else
	window  int                            // how far behind the beginning of its word a secret may end, which bounds what a word costs; 0: 1 KiB
	re      *regexp.Regexp
}

// Separators between the lines of a key, also where they are quoted or escaped.
const gap = `(?:[\s>|]|\\[nr])`

// The formats are those that the services have published. rules compiles them once, when the first text is looked at.
var rules = sync.OnceValue(func() []*rule {
	all := []*rule{
		{name: "private-key", window: 12 << 10, words: []string{"-----BEGIN "}, inside: true, open: true, pattern: `-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----` + gap + `{0,20}` +
			`(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n"]{0,120}` + gap + `{1,8}){0,4}[A-Za-z0-9+/=]{40,}(?:` + gap + `{1,12}[A-Za-z0-9+/=]{20,80})*` +
			`(?:` + gap + `{1,12}[A-Za-z0-9+/=]{1,80})?(?:` + gap + `{0,12}-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?`},
		{name: "aws-access-key", words: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, entropy: 3, pattern: `[A-Z0-9]{4}[A-Z2-7]{16}`},
		{name: "github-token", words: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, entropy: 3, pattern: `(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})`},
		{name: "gitlab-token", words: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"}, entropy: 3, pattern: `gl[a-z]+-[\w-]{20,}`},
		{name: "slack-token", words: []string{"xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxr-", "xoxs-", "xapp-"}, entropy: 3, pattern: `x[a-z]{3}-[A-Za-z0-9-]{20,}`},
		{name: "slack-webhook", words: []string{"hooks.slack.com/"}, entropy: 3, pattern: `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,120}`},
		{name: "stripe-key", words: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, entropy: 3, pattern: `(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{16,}`},
		{name: "anthropic-key", words: []string{"sk-ant-"}, entropy: 3.5, pattern: `sk-ant-[\w-]{24,}`, check: mixed},
		{name: "openai-key", words: []string{"sk-"}, entropy: 3.5, pattern: `sk-[\w-]{0,60}?[A-Za-z0-9]{20}[\w-]{0,200}`, check: mixed},
		{name: "google-key", words: []string{"AIza", "GOCSPX-"}, entropy: 3, pattern: `(?:AIza[\w-]{35}|GOCSPX-[\w-]{28})`},
		{name: "npm-token", words: []string{"npm_"}, entropy: 3, pattern: `npm_[A-Za-z0-9]{36}`},
		{name: "pypi-token", words: []string{"pypi-AgE"}, entropy: 3, pattern: `pypi-AgE[\w-]{50,}`},
		{name: "huggingface-token", words: []string{"hf_"}, entropy: 3.5, pattern: `hf_[A-Za-z0-9]{34,40}`},
		{name: "service-token", words: []string{"dop_v1_", "dckr_pat_", "glsa_", "shpat_", "lin_api_", "ntn_", "hvs.", "SG.", "AGE-SECRET-KEY-1"}, entropy: 3,
			pattern: `(?:dop_v1_[a-f0-9]{64}|dckr_pat_[\w-]{27}|glsa_\w{41}|shpat_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,60}|hvs\.[\w-]{90,}|SG\.[\w-]{22}\.[\w-]{43}|AGE-SECRET-KEY-1[A-Z0-9]{58})`},
		{name: "jwt", window: 8 << 10, words: []string{"eyJ"}, entropy: 3, pattern: `eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}`},
		{name: "url-password", words: []string{"://"}, inside: true, open: true, entropy: 1, pattern: "://[^\\s/:@\"'`<>\\\\(){}]{0,80}:((?:[^\\s/@\"'`<>\\\\(){}$*%]|%[0-9A-Fa-f]{2}){4,200})@[\\w.\\[-]", check: ownPassword},
		{name: "bearer-token", window: 8 << 10, words: []string{"bearer "}, anyCase: true, entropy: 3.5, pattern: `(?i:bearer) +([\w.+/=~-]{24,})`, check: mixed},
		{name: "password", window: 256, words: []string{"password", "passwd", "passphrase", "pwd"}, anyCase: true, inside: true, open: true, entropy: 2.75, pattern: assigned + `{8,})` + end, check: set},
		{name: "named-secret", window: 512, words: []string{"secret", "token", "api_key", "apikey", "api-key", "access_key", "accesskey", "secret_key", "private_key", "auth_key", "account_key"},
			anyCase: true, inside: true, open: true, entropy: 3.3, pattern: assigned + `{16,})` + end, check: set},
	}
	for _, r := range all {
		r.window = cmp.Or(r.window, 1<<10)
		r.re = regexp.MustCompile(`^` + r.pattern)
	}
	return all
})

// assigned is a name and the beginning of the value that it is set to. Behind the value comes end, and no bracket: that would be a call.
const (
	assigned = `\w{1,60}(?:-\w{1,60})?(?:\\?["'` + "`" + `])?\*{0,2}[ \t]{0,4}(?::=|=>|=|:)\*{0,2}[ \t]{0,4}(?:\\?["'` + "`" + `])?([\w+/=.~!@#%^&*?-]`
	end      = `(?:[\s"'` + "`" + `,;:)\]}>|\\]|$)`
)

// mixed reports whether a value has digits and letters: names that people choose mostly have no digits.
func mixed(_, value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r >= '0' && r <= '9' }) &&
		strings.ContainsFunc(value, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}

// ownPassword refuses the passwords of URLs that everybody has: the user's own name, a port, and a word that stands for a password.
func ownPassword(whole, value string) bool {
	user, _, _ := strings.Cut(strings.TrimPrefix(whole, "://"), ":")
	return user != value && !strings.Contains("password passwd secret postgres pass root admin user token", strings.ToLower(value))
}

// code is what stands behind a name in place of a secret: another name with dots, a path, a file, or a version.
var code = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Za-z_]\w*(?:[.:-]{1,2}[A-Za-z_]+\w{0,12})+|[./~].*|[\w.-]+/[\w./-]+\.\w{1,5}|[A-Za-z_]+[0-9]{0,2})[.,:;!?]*$`)
})

// set refuses what a name is set to that is no secret. The name is the last word before the sign, so a token_count has no secret.
func set(whole, value string) bool {
	name := whole[:strings.IndexAny(whole, ":=")]
	name = strings.ToLower(strings.Trim(name, " \t\"'`\\"))
	for _, other := range []string{"count", "file", "path", "name", "type", "hash", "sum", "url", "_id", "size", "limit", "field", "policy", "env"} {
		if strings.HasSuffix(name, other) {
			return false
		}
	}
	return mixed(whole, value) && !code().MatchString(value)
}

// isExample reports whether a secret says itself that it is none.
func isExample(value string) bool {
	if len(value) > 300 {
		return false
	}
	lower := strings.ToLower(value)
	for _, word := range []string{"example", "sample", "placeholder", "changeme", "change-me", "change_me", "your", "xxxx", "redacted", "dummy", "****", "....", "12345678", "abcdefgh"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}
