// Package hookstest owns a recording of the hooks that the real Claude Code CLI runs, and compares
// the hooks of a stand-in for the CLI with it.
//
// The recording is a list of scenes. A scene is one thing that happens to a CLI. It has the hooks that
// the CLI runs, in their order, and each hook's payload: the names and types of all fields, and the
// values of those fields that say what has happened. The end-to-end tests of cmd/internal/claudetest
// play the scenes with the CLI and compare; with -update they write the recording. The tests of the
// scripted agent and of the simulation play the scenes with their own agents.
//
// Only one goroutine at a time may use a [Recorder] or a [Comparison].
package hookstest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// Path is the recording's path, from the root of the tree.
const Path = "hooks/hookstest/testdata/recording.json"

//go:embed testdata/recording.json
var recorded []byte

// Recording holds the scenes of one version of the CLI.
type Recording struct {
	Version string  `json:"version"`
	Scenes  []Scene `json:"scenes"`
}

// Scene holds the hooks of one thing that happens to a CLI, in their order.
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

// Text returns the text of the recording's file.
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

// Names returns the names of the scenes, in the order in which they are played.
func (r Recording) Names() (names []string) {
	for _, s := range r.Scenes {
		names = append(names, s.Name)
	}
	return names
}

// scene returns the scene with that name.
func (r Recording) scene(name string) (Scene, bool) {
	i := slices.IndexFunc(r.Scenes, func(s Scene) bool { return s.Name == name })
	if i < 0 {
		return Scene{}, false
	}
	return r.Scenes[i], true
}

// Events returns the hooks that are recorded: those that the daemon acts on, and those about turns,
// tools and compactions. The CLI sends the other hooks, such as MessageDisplay, as often as its screen
// needs, or not at all in these scenes.
func Events() []string {
	return []string{
		"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "Stop", "StopFailure", "Notification",
		"PermissionRequest", "PermissionDenied", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
		"PreCompact", "PostCompact", "SubagentStart", "SubagentStop",
	}
}
