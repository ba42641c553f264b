package daemon

import (
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

//go:embed prompts/*.md
var promptFiles embed.FS

var prompts = template.Must(template.New("").ParseFS(promptFiles, "prompts/*.md"))

// instruction is what the outgoing agent is asked.
type instruction struct {
	Ref        string
	Path       string // of the document to write
	Request    string // a file with what did not fit; empty: there is none
	Experience string
}

// injection is what the successor is told.
type injection struct {
	Ref        string
	AgentID    int64
	Name       string
	Persona    string
	Generation int
	Path       string
	Context    string
}

// skillPrompt is what an agent that a person started is told about its persona.
type skillPrompt struct{ Ref, Persona, Skill, Experience string }

// render fills a prompt and holds it to what the runtime takes for typed.
func render(name string, v any) (string, error) {
	var b strings.Builder
	if err := prompts.ExecuteTemplate(&b, name+".md", v); err != nil {
		return "", fmt.Errorf("prompt %s: %w", name, err)
	}
	text := strings.TrimSpace(b.String())
	if !runtimes.FitsTyped(text) {
		return "", Errorf(KindUnprocessable, "prompt_too_long",
			"The %s prompt is too long to be typed: use a data directory with a shorter path", name)
	}
	return text, nil
}

// requestPath is where what does not fit into an instruction is written, beside the document.
func requestPath(document string) string {
	return strings.TrimSuffix(document, ".md") + ".request.md"
}

// requestText is the file at requestPath.
func requestText(focus string) []byte {
	return []byte("# What the handoff should focus on\n\n" + strings.TrimSpace(focus) + "\n")
}

// newRef makes the unique text of a handoff; it is also the nonce in what is typed for it.
func newRef(source, target string, at time.Time) string {
	return fmt.Sprintf("handoff_%s_%s_%d_%s", source, target, at.UnixMilli(), randomHex(4))
}

// randomHex returns 2n hexadecimal digits from the system's source of randomness.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// experiencePath is the persona's growing file.
func experiencePath(d data.Dir, slug string) string {
	return filepath.Join(d.Persona(slug), "experience.md")
}
