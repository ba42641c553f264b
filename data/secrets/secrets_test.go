package secrets_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/understudyd/understudy/data/secrets"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// random draws n characters of an alphabet. The secrets of this file are put together when it runs, so that no scanner takes it for a leak.
func random(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
	word  = lower + upper + digit
)

// samples draws a text for each rule: what stands before the secret, the secret, and what stands behind it.
func samples(r *rand.Rand) map[string][][3]string {
	key := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + random(r, word, 64) + "\n" + random(r, word, 64) + "\n" + random(r, word, 22) + "==\n-----END RSA PRIVATE KEY-----"
	value := func(n int) string { return random(r, word, n-2) + "7a" }
	return map[string][][3]string{
		"private-key":       {{"", key, ""}, {"> ", strings.ReplaceAll(key, "\n", "\n> "), "\nThe end"}, {`{"key":"`, strings.ReplaceAll(key, "\n", `\n`), `"}`}},
		"aws-access-key":    {{"id ", "AKIA" + random(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16), "."}},
		"github-token":      {{"`", "ghp_" + random(r, word, 36), "`"}, {`a\n`, "gho_" + random(r, word, 36), `\n`}, {`\u003c`, "ghu_" + random(r, word, 36), `\u003e`}, {"", "github_pat_" + random(r, word, 22) + "_" + random(r, word, 59), ""}},
		"gitlab-token":      {{"(", "glpat-" + random(r, word, 20), ")"}},
		"slack-token":       {{"", "xoxb-" + random(r, digit, 12) + "-" + random(r, word, 24), ""}},
		"slack-webhook":     {{"https://", "hooks.slack.com/services/T" + random(r, upper, 9) + "/B" + random(r, upper, 9) + "/" + random(r, word, 24), ""}},
		"stripe-key":        {{"", "sk_live_" + random(r, word, 24), "\n"}},
		"anthropic-key":     {{"export ANTHROPIC=", "sk-ant-api03-" + value(90), "\n"}},
		"openai-key":        {{"", "sk-proj-" + value(60), ""}},
		"google-key":        {{"key=", "AIza" + random(r, word, 35), "&x"}},
		"npm-token":         {{"//registry.npmjs.org/:_auth ", "npm_" + random(r, word, 36), ""}},
		"pypi-token":        {{"", "pypi-AgEIcHlwaS5vcmc" + random(r, word, 90), ""}},
		"huggingface-token": {{"", "hf_" + random(r, word, 34), ""}},
		"service-token":     {{"", "glsa_" + random(r, word, 41), ""}, {"", "AGE-SECRET-KEY-1" + random(r, upper+digit, 58), ""}},
		"jwt":               {{"Cookie: ", "eyJ" + random(r, word, 20) + ".eyJ" + random(r, word, 40) + "." + random(r, word+"-_", 42) + "a", ";"}},
		"url-password":      {{"postgres://app:", value(12), "@db.internal/x"}, {"redis://:", value(20), "@cache:6379"}, {"mysql://app:", "aé%40" + value(6), "@db"}},
		"bearer-token":      {{"Authorization: Bearer ", value(40), "\n"}},
		"password":          {{`DB_PASSWORD="`, "k9!" + lower[:3] + "Z4x", `"`}, {"**Password:** ", value(14), "\n"}, {"DB_PWD=", value(12), ""}, {`{"password": "`, value(14), `"}`}, {`"{\"passwd\": \"`, value(14), `\"}"`}},
		"named-secret":      {{"client_secret: ", value(32), "\n"}, {"API_KEY=", value(32), ""}, {`"accessToken" => '`, value(40), "'"}},
	}
}

func TestSecretsAreFoundAndMasked(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		all := ""
		for rule, texts := range samples(r) {
			for _, s := range texts {
				text := "Ünd\n" + s[0] + s[1] + s[2]
				found := secrets.Find(text)
				if len(found) != 1 || found[0].Rule != rule || !strings.Contains(s[1], text[found[0].Start:found[0].End]) || found[0].End-found[0].Start < len(s[1])-2 {
					t.Fatalf("%s: found %v in %q", rule, found, text)
				}
				wardentest.Equal(t, fmt.Sprintf("%q", text), secrets.Words(text), rule+" in line 2")
				held(t, text, found)
				held(t, text+"\nor "+text[found[0].Start:found[0].End], found) // said again, without what gave it away
				all += text + "\n"
			}
		}
		held(t, all, secrets.Find(all))
		wardentest.Holds(t, "a rule with the longer word goes first", secrets.Mask(all), "[masked: anthropic-key]")
	}
}

// held fails if the mask of a text shows a secret, changes when it is masked again, or makes JSON something else.
func held(t *testing.T, text string, found []secrets.Finding) {
	t.Helper()
	masked := secrets.Mask(text)
	for _, f := range found {
		if f.End-f.Start >= 12 && strings.Contains(masked, text[f.Start:f.End]) {
			t.Errorf("%s is still in %q", f.Rule, masked)
		}
	}
	if utf8.ValidString(text) && !utf8.ValidString(masked) {
		t.Errorf("half a letter is left in %q", masked)
	}
	if again := secrets.Mask(masked); again != masked || len(secrets.Find(masked)) > 0 {
		t.Errorf("%q is masked again: %q", masked, again)
	}
}

// TestWorkDocumentsAreClean: what work documents are full of is no secret. The project's own documents are, too.
func TestWorkDocumentsAreClean(t *testing.T) {
	t.Parallel()
	clean := []string{
		"Commit 7c1be2a3f0d94c5b8e6a7d1f2b3c4d5e6f708192 fixes it; see session 550e8400-e29b-41d4-a716-446655440000.",
		"sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"golang.org/x/sys v0.49.0 h1:7Zq8kPGqBJ1mEbRbWbVCMVGQw3cWbk8gSdmEdZzzVvs=",
		`"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="`,
		"The token: a cancellation token that the caller holds. password = os.Getenv(\"DB_PASSWORD\")", "token := readTokenFrom2Sources(ctx)",
		"apiKey: process.env.STRIPE_API_KEY_2", "secret: ${{ secrets.DEPLOY_KEY_2024_PRODUCTION }}", "secretKeyRef: name: app2-database-credentials",
		"postgres://postgres:postgres@localhost:5432/app, https://user:password@example.com, http://127.0.0.1:7433/ui/handoffs@7",
		"AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "export API_KEY=your-api-key-goes-here-1", "PASSWORD=changeme123",
		"The file begins with `-----BEGIN PRIVATE KEY-----` and ends with `-----END PRIVATE KEY-----`.",
		"disk-usage-of-the-worktree-2026-and-more, sk-2024-a-very-long-name-of-a-branch-of-ours", "[hnd-7f3a9c2e developer-con-1 → reviewer-max-1] handoff 12",
		"token_checksum: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "secret_file: /run/secrets/db-password-2", "token_count: 1234567890123456789",
		"agents/20261128T164801-00000007.md has 3 tokens: input 1200, output 88", "ghp_Ab…[masked: github-token]",
	}
	for _, name := range []string{"architecture.md", "operating.md", "runtimes.md", "security.md", "pipelines.md", "mcp.md"} {
		b := wardentest.Value(os.ReadFile("../../docs/" + name))(t)
		clean = append(clean, string(b))
	}
	for _, text := range clean {
		for _, f := range secrets.Find(text) {
			t.Errorf("%s: %q", f.Rule, text[f.Start:f.End])
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("PASSWD=&0", "1789") // JSON has \u0026 for &
	for _, texts := range samples(rand.New(rand.NewPCG(3, 4))) {
		for _, s := range texts {
			f.Add(s[0]+s[1], s[2]+s[0])
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) { held(t, a+b, secrets.Find(a+b)) })
}

func BenchmarkFind(b *testing.B) {
	doc := wardentest.Value(os.ReadFile("../../docs/operating.md"))(b)
	for name, of := range map[string]string{ // and texts that have as many words to look at as possible
		"words": string(doc), "passwords": "password=", "tokens": "token", "urls": "://", "keys": "-----BEGIN PRIVATE KEY-----\n", "lines": "-----BEGIN PRIVATE KEY-----Version: ",
		"jwt": "eyJ-", "sk": "sk-",
	} {
		text := strings.Repeat(of, 1<<20/len(of)+1)[:1<<20]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secrets.Find(text)
			}
		})
	}
}
