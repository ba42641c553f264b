package scripted

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon/actor"
)

// recollection is the agent's knowledge from the transcript of an earlier session.
type recollection struct {
	memory actor.Memory
	model  string // the model of the newest answer
	name   string
}

// errNoPrompt means that a session has no prompt, so it cannot be resumed.
var errNoPrompt = errors.New("the session has no prompt")

// recallLine has the fields of a transcript's line that recall needs.
type recallLine struct {
	Type      string `json:"type"`
	IsMeta    bool   `json:"isMeta"`
	IsSummary bool   `json:"isCompactSummary"`
	Title     string `json:"customTitle"`
	Message   struct {
		Model   string `json:"model"`
		Content any    `json:"content"`
	} `json:"message"`
}

// recall reads the transcript of an earlier session.
func recall(a *Agent, path string) (recollection, error) {
	file, err := os.Open(path)
	if err != nil {
		return recollection{}, err
	}
	defer file.Close()
	var got recollection
	prompted := false
	lines := bufio.NewReader(file)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		var l recallLine
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		text, isPrompt := l.Message.Content.(string)
		switch {
		case l.Type == "user" && isPrompt && !l.IsMeta && !l.IsSummary:
			prompted = true
			if recall := a.script.Recall; recall == nil || !recall(&got.memory, text) {
				remember(&got.memory, text)
			}
		case l.Type == "assistant" && l.Message.Model != synthetic:
			got.model = l.Message.Model
		case l.Type == "custom-title":
			got.name = l.Title
		}
	}
	if !prompted {
		return recollection{}, errNoPrompt
	}
	return got, nil
}

// remember adds a prompt of an earlier session to the memory, as the brain did when it got the prompt.
func remember(m *actor.Memory, prompt string) {
	switch task := actor.Understand(prompt); task.Kind {
	case actor.WriteHandoff:
	case actor.TakeOver:
		m.Predecessor = task.Reads[0]
		for _, path := range task.Reads {
			text, _ := os.ReadFile(path) // a missing file has no steps
			if m.Inherited = actor.NextSteps(string(text)); len(m.Inherited) > 0 {
				return
			}
		}
	default:
		m.Note(prompt)
	}
}

// findTranscript returns the path of a session's transcript. session is the path itself, or an id. For an id it looks
// first in the folder of this working directory, then in the folders of all others.
func findTranscript(a *Agent, session string) string {
	if filepath.IsAbs(session) {
		return session
	}
	here := transcriptPath(a, session)
	if actor.IsFile(here) {
		return here
	}
	projects := filepath.Join(a.configDir, "projects")
	dirs, _ := os.ReadDir(projects) // if there are no folders, there is no transcript
	for _, dir := range dirs {
		if path := filepath.Join(projects, dir.Name(), session+".jsonl"); actor.IsFile(path) {
			return path
		}
	}
	return here
}
