// Package hookstest holds a recording of the hooks that the real Claude Code CLI runs, and compares
// the hooks of a stand-in with it.
//
// The recording is a list of scenes. A scene has the hooks of one thing that happens to a CLI, in
// their order, and of each hook its payload: the names and types of all fields, and the values of
// those that say what has happened. The end-to-end tests of cmd/internal/claudetest play the scenes
// with the CLI and compare; with -update they write the recording. The tests of the scripted agent
// and of the simulation play them with their agents.
//
// A [Recorder] and a [Comparison] are used by one goroutine at a time.
package hookstest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// Path is where the recording is, from the root of the tree.
const Path = "hooks/hookstest/testdata/recording.json"

//go:embed testdata/recording.json
var recorded []byte

// Recording is what a version of the CLI does.
type Recording struct {
	Version string  `json:"version"`
	Scenes  []Scene `json:"scenes"`
}

// Scene is the hooks of one thing that happens to a CLI, in their order.
type Scene struct {
	Name  string  `json:"name"`
	Hooks []Shape `json:"hooks"`
}

// Load returns the recording.
func Load() (Recording, error) {
	var r Recording
	if err := json.Unmarshal(recorded, &r); err != nil {
		return Recording{}, fmt.Errorf("recording %s: %w", Path, err)
	}
	return r, nil
}

// Text is the recording as its file has it.
func (r Recording) Text() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return b.Bytes(), nil
}

// Names are the names of the scenes, in the order in which they are played.
func (r Recording) Names() (names []string) {
	for _, s := range r.Scenes {
		names = append(names, s.Name)
	}
	return names
}

// scene returns the scene of that name.
func (r Recording) scene(name string) (Scene, bool) {
	i := slices.IndexFunc(r.Scenes, func(s Scene) bool { return s.Name == name })
	if i < 0 {
		return Scene{}, false
	}
	return r.Scenes[i], true
}

// Events are the hooks that are recorded: those that the daemon acts on, and those that tell of
// turns, tools and compactions. Of the others the CLI sends as many as its screen wants, such as
// MessageDisplay, or none in these scenes.
func Events() []string {
	return []string{
		"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "Stop", "StopFailure", "Notification",
		"PermissionRequest", "PermissionDenied", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
		"PreCompact", "PostCompact", "SubagentStart", "SubagentStop",
	}
}
