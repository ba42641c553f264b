package scripted

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// memory is what the brain knows of its session.
type memory struct {
	prompts     []string // oldest first, without instructions to hand over
	predecessor string   // the document that it took over from
	inherited   []string // the next steps that it found there
	decisions   []string // that prompts told it
	edited      []string // files that it changed, as prompts named them
	late        func() error
}

// titles are the prompts, each as one short line.
func (m memory) titles() []string {
	var out []string
	for _, prompt := range m.prompts {
		out = append(out, quote(prompt, 100))
	}
	return out
}

// taskMark begins the prompt that tells of a finished task.
const taskMark = "<task-notification>"

// act is the model's part of a turn: it thinks, does what the prompt asks for and returns the answer.
func (a *agent) act(ctx context.Context, b behaviours, prompt string) (string, error) {
	d := a.opt.directives(prompt)
	if b.has("child-hooks") {
		a.childHooks(ctx)
	}
	if d.tokens > 0 {
		a.transcript.fix(d.tokens)
	}
	if d.compact {
		a.autoCompact(ctx)
	}
	if err := sleep(ctx, b.duration("think", thinkTime)+d.busy); err != nil {
		return "", err
	}
	if d.background {
		a.background(a.life, d.hold)
	} else if d.hold != "" {
		if err := waitForFile(ctx, d.hold); err != nil {
			return "", err
		}
	}
	if d.ask {
		if err := a.use(ctx, askTool()); err != nil {
			return "I was not allowed to do that.", nil
		}
	}
	if err := a.edit(ctx, d.edits); ctx.Err() != nil {
		return "", err
	}
	a.memory.decisions = append(a.memory.decisions, d.decisions...)
	if text, ok := a.dictated(d, prompt); ok {
		a.memory.prompts = append(a.memory.prompts, prompt)
		return text, nil
	}
	task := understand(prompt)
	switch task.kind {
	case writeHandoff:
		return a.handOver(ctx, b, task)
	case takeOver:
		return a.takeOver(ctx, task)
	}
	if strings.HasPrefix(prompt, taskMark) {
		return "The background task has finished.", nil
	}
	a.memory.prompts = append(a.memory.prompts, prompt)
	if len(d.edits) > 0 {
		return "Edited " + strings.Join(d.edits, ", ") + ".", nil
	}
	if b.has("report") && placeOfStep().MatchString(a.opt.systemPrompt) {
		return a.report(prompt), nil
	}
	return a.answer(prompt), nil
}

// dictated is the answer that directives put into the agent's mouth; false: none does.
func (a *agent) dictated(d directives, prompt string) (string, bool) {
	switch {
	case d.say != "":
		return d.say, true
	case d.raw != "":
		text, err := os.ReadFile(a.path(d.raw))
		if err != nil {
			return "I cannot read what to answer: " + err.Error(), true
		}
		return string(text), true
	case d.report:
		return a.report(prompt), true
	}
	return "", false
}

// path is a file that a prompt names, taken from the working directory.
func (a *agent) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.cwd, name)
}

// edit changes files, one call of a tool each. A call that fails is told in the transcript alone.
func (a *agent) edit(ctx context.Context, files []string) error {
	for _, file := range files {
		if err := a.use(ctx, editTool(a.path(file))); err == nil {
			a.memory.edited = append(a.memory.edited, file)
		}
	}
	return ctx.Err()
}

// answer is what the brain says to a prompt that is no handoff.
func (a *agent) answer(prompt string) string {
	files := listFiles(a.cwd)
	looked := "There are no files here yet."
	if len(files) > 0 {
		looked = fmt.Sprintf("I looked at %s.", strings.Join(files, ", "))
	}
	return fmt.Sprintf("Noted: “%s”. %s\nNothing was changed; I keep this for whoever takes over.", quote(prompt, 120), looked)
}

// taskKind says what a prompt asks for.
type taskKind int

const (
	somethingElse taskKind = iota
	writeHandoff
	takeOver
)

// assignment is a prompt, understood.
type assignment struct {
	kind     taskKind
	document string   // to write
	reads    []string // to read first
	headings []string // beside the four, of the document
}

var (
	markdownEnd  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[^\\s\"'`<>()]\\.md\\b") })
	contractName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/handoffs/\d{8}T\d{6}-\d+\.md$`) })
	handoffWord  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bhand-?(off|over)\b`) })
	writeWord    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(write|save|create|record|put)\b`) })
	handedOver   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bsession is being handed over\b`) })
	successor    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(predecessor|previous agent|previous session|take over|taking over)\b`)
	})
)

// understand reads a prompt. To write a handoff takes the word, a verb and a path below /handoffs/; a
// prompt that names files which exist, among them a document or a context file, is one to take over.
func understand(prompt string) assignment {
	var task assignment
	hasContext := false
	for _, path := range findPaths(prompt) {
		isHandoff := strings.Contains(path, "/handoffs/")
		switch {
		case strings.HasSuffix(path, ".context.md"):
			hasContext = true
			task.reads = append(task.reads, path)
		case strings.HasSuffix(path, ".request.md"):
			if isFile(path) {
				task.reads = append(task.reads, path)
			}
		case isHandoff && (task.document == "" || contractName().MatchString(path) && !contractName().MatchString(task.document)):
			task.document = path
		case filepath.Base(path) != "experience.md" && isFile(path):
			task.reads = append(task.reads, path)
		}
	}
	instructed := task.document != "" && writeWord().MatchString(prompt) && handoffWord().MatchString(prompt)
	follows := hasContext || successor().MatchString(prompt) && isFile(task.document)
	switch {
	case instructed && !follows:
		task.kind = writeHandoff
		task.headings = furtherHeadings(prompt)
	case task.document != "" || hasContext:
		task.kind = takeOver
		if task.document != "" {
			task.reads = append([]string{task.document}, task.reads...)
		}
	}
	return task
}

// findPaths finds the absolute paths of Markdown files in a text. A path may have blanks in it: of the
// slashes that could begin it, the nearest one that leads to an existing place wins.
func findPaths(text string) []string {
	var out []string
	seen := map[string]bool{}
	from := 0
	for _, match := range markdownEnd().FindAllStringIndex(text, -1) {
		end, best := match[1], ""
		for start := end - 1; start >= from && text[start] != '\n'; start-- {
			if text[start] != '/' || start > 0 && !strings.ContainsRune(" \t\n\"'`(<:=", rune(text[start-1])) {
				continue
			}
			path := text[start:end]
			if best == "" {
				best = path
			}
			if info, err := os.Stat(filepath.Dir(filepath.Dir(path))); isFile(path) || err == nil && info.IsDir() {
				best = path
				break
			}
		}
		if best != "" && !seen[best] {
			seen[best] = true
			out = append(out, filepath.Clean(best))
		}
		from = end
	}
	return out
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// listFiles names some files of a directory, without the hidden ones.
func listFiles(dir string) []string {
	const most = 8
	entries, _ := os.ReadDir(dir) // a directory that cannot be read looks empty
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && len(names) < most {
			if entry.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
	}
	return names
}

// waitForFile returns when path exists; without a path, when ctx ends.
func waitForFile(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); path != "" && err == nil {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
