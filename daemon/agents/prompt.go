package agents

import (
	"bytes"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Prompts are the templates of all that is typed to agents, and of the files that it points to.
var Prompts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").ParseFS(promptFiles, "prompts/*.md"))
})

// Instruction holds the values of the prompt that asks the outgoing agent for its document.
type Instruction struct {
	Ref        string
	Path       string // path of the document to write
	Experience string
	Focus      string   // what the document should focus on; "": everything
	Headings   []string // the headings that the successor's role requires beside the four standard ones
	Request    string   // path of the file with the parts that do not fit into one typed line
}

// Text returns the line to type, and the content of the file Request, which must be written before; nil: no file is
// needed. A file is needed only if there is a focus or the paths are long. The path, the topics and the four standard
// headings are in the line in any case.
func (in Instruction) Text() (line string, request []byte, err error) {
	if in.Focus == "" {
		if line, err = render("instruction", in); err == nil {
			return line, nil, nil
		}
	}
	if line, err = render("pointer", in); err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := Prompts().ExecuteTemplate(&b, "request.md", in); err != nil {
		return "", nil, fmt.Errorf("prompt request: %w", err)
	}
	return line, b.Bytes(), nil
}

// Injection holds the values of the prompt that a successor gets.
type Injection struct {
	Ref        string
	AgentID    int64
	Name       string
	Persona    string
	Generation int
	Path       string
	Context    string
}

// Text returns the line to type. It cuts a long name, because the line must fit.
func (in Injection) Text() (string, error) {
	in.Name = words.Clip(in.Name, 41)
	return render("injection", in)
}

// skillPrompt holds the values of the prompt about the persona, for an agent that a person started.
type skillPrompt struct {
	Ref, Persona, Skill, Experience string
	Last                            []string // paths of documents, the newest first
}

// text returns the line to type. It names as many of the documents as fit.
func (in skillPrompt) text() (line string, err error) {
	for {
		line, err = render("skill", in)
		if err == nil || len(in.Last) == 0 {
			return line, err
		}
		in.Last = in.Last[:len(in.Last)-1]
	}
}

// render fills the template of a prompt. It refuses a text that is so long that the runtime would take it for pasted.
func render(name string, v any) (string, error) {
	var b strings.Builder
	if err := Prompts().ExecuteTemplate(&b, name+".md", v); err != nil {
		return "", fmt.Errorf("prompt %s: %w", name, err)
	}
	text := strings.TrimSpace(b.String())
	if !runtimes.FitsTyped(text) {
		return "", daemon.Errorf(daemon.KindUnprocessable, daemon.CodePromptTooLong,
			"The %s prompt is too long to be typed: use a data directory with a shorter path", name)
	}
	return text, nil
}

// RequestPath returns the path of the file Request of an instruction. It is beside the document.
func RequestPath(document string) string {
	return strings.TrimSuffix(document, ".md") + ".request.md"
}

// NewRef makes the Ref of a handoff: a unique text, which is also the nonce in the texts that are typed for the handoff.
// It cuts and cleans the names, so that no name can change what a prompt says or how long it is.
func NewRef(random io.Reader, source, target string, at time.Time) string {
	return fmt.Sprintf("handoff_%s_%s_%d_%s", PlainName(source, 24), PlainName(target, 24), at.UnixMilli(), randomHex(random, 4))
}

// randomHex returns 2n hexadecimal digits that nobody can guess.
func randomHex(random io.Reader, n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		panic(fmt.Sprintf("random numbers: %v", err)) // crypto/rand never fails; never return a secret of zeros
	}
	return hex.EncodeToString(b)
}

// ExperiencePath returns the path of the file to which a persona's agents add what they learn.
func ExperiencePath(d data.Dir, slug string) string {
	return filepath.Join(d.Persona(slug), "experience.md")
}
